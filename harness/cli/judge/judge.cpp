// SPDX-License-Identifier: MIT
// plumbline judge: an untrusted kernel, which another person or a program wrote for a task. It is
// compiled in one sandbox, and its PTX is verified in a second one, with inputs that it cannot
// know.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <utility>

#include "harness/cli/judge/sandbox.h"
#include "harness/cli/judge/task.h"
#include "harness/cli/judge/triton_submission.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/launch/interrupt.h"
#include "kernels/manifest/compiler_flags.h"
#include "oracles/base/file.h"
#include "oracles/base/text.h"
#include "reports/record/escape.h"
#include "reports/record/json.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestSubmission = 4 << 20;

// What is said of a submission.
struct Judgement {
  std::string verdict;  // "conforms", "broken", "mistrusted", "does not compile", ...
  std::string reason;   // one line
  ExitCode code = ExitCode::could_not_run;
  std::int64_t cases = 0, failed = 0, outputs = 0;
  std::vector<std::string> details;  // of the first counterexample
  std::string replay;                // its case
};

// Removed with what is in it.
class WorkFolder {
 public:
  static Result<WorkFolder> make() {
    std::error_code failure;
    const fs::path where = fs::absolute(fs::temp_directory_path(failure), failure);
    std::string name = (where / "plumbline-judge-XXXXXX").string();
    if (failure || special_to_shell(name) != 0 || ::mkdtemp(name.data()) == nullptr)
      return Error{ErrorKind::cannot_run, "cannot create a folder that a shell can name", name,
                   "set TMPDIR"};
    return WorkFolder(name);
  }

  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  WorkFolder& operator=(WorkFolder&&) = delete;

  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }

 private:
  explicit WorkFolder(fs::path path) : path_(std::move(path)) {}

  fs::path path_;
};

// The task's manifest for a submission of this name: `source` or `ptx` is the submission's.
Result<Task> read_task(const std::string& path, const std::string& submission) {
  // Its own mistakes, with their lines.
  const bool launches_itself = submission.ends_with(".py");
  const Result<Manifest> manifest =
      read_manifest(path, launches_itself ? ManifestPart::task : ManifestPart::whole);
  if (!manifest) return manifest.error();
  const Result<std::string> text = read_text_file(path, "");
  if (!text) return text.error();
  Task task{.name = "submission",  // the same for every file name
            .table = toml::parse(*text),
            .targets = manifest->targets};
  toml::table& table = task.table;
  table.erase("source");
  table.erase("ptx");
  table.insert(submission.ends_with(".ptx") ? "ptx" : "source", submission);
  task.text_name = table["computes"].value_or(std::string());
  if (task.text_name.ends_with(".op")) {
    if (task.text_name.find('/') != std::string::npos)
      return Error{ErrorKind::bad_input, "the text of a task lies beside its manifest", path,
                   "computes = \"name.op\", without a folder"};
    const Result<std::string> computes =
        read_text_file((fs::path(path).parent_path() / task.text_name).string(), "");
    if (!computes) return computes.error();
    task.text = *computes;
  } else {
    task.text_name.clear();
  }
  return task;
}

// A folder as a stage finds it: the text of the task, and `files`.
Status lay_out(const fs::path& folder, const Task& task, const std::vector<NamedText>& files) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    return Error{ErrorKind::cannot_run, "cannot create: " + failure.message(), folder.string(), ""};
  std::vector<NamedText> all = files;
  if (!task.text_name.empty()) all.emplace_back(task.text_name, task.text);
  for (const auto& [name, text] : all) {
    if (Status written = write_file(folder / name, text); !written) return written;
  }
  return {};
}

// Without the names of work folders: "submission.cu:10", wherever it was compiled.
std::string without_folder(std::string text, const fs::path& folder) {
  const std::string here = folder.string() + "/";
  for (std::size_t at; (at = text.find(here)) != std::string::npos;) text.erase(at, here.size());
  return text;
}

// The line that says what went wrong: the first that names an error, without the command that was
// run.
std::string trouble_in(const std::string& output) {
  std::string_view line = std::string_view(output).substr(0, output.find('\n'));
  for (const std::string_view one : split(output, '\n')) {
    if (one.find("error") == std::string_view::npos && !one.starts_with("plumbline: ")) continue;
    line = one;
    break;
  }
  line = line.substr(0, line.find(" (the command was "));
  // The task's manifest is here under another name, and its lines are others.
  for (const std::string_view own : {"plumbline: ", "submission.toml:"}) {
    if (line.starts_with(own)) line.remove_prefix(own.size());
  }
  line.remove_prefix(std::min(line.find_first_not_of("0123456789: "), line.size()));
  return readable(line);
}

// Whether a stage that compiles stopped for another reason than the compiler.
bool is_of_manifest(const std::string& output) {
  return output.starts_with("plumbline: submission.toml:") ||
         output.find("\nplumbline: submission.toml:") != std::string::npos;
}

class Judge {
 public:
  Judge(const Arguments& arguments, const fs::path& folder, Task task, std::uint64_t seed)
      : arguments_(arguments),
        folder_(folder),
        task_(std::move(task)),
        seed_(seed),
        end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>(arguments.seconds))) {}

  Result<Judgement> judge(const std::string& submission, const std::string& text) {
    std::vector<NamedText> files = {{submission, text}};
    if (submission.ends_with(".py")) {
      const Result<std::optional<Judgement>> stopped = compile_triton(files);
      if (!stopped) return stopped.error();
      if (*stopped) return **stopped;
      return verify(files);
    }
    files.emplace_back(task_.name + ".toml", text_of(task_.table));
    if (submission.ends_with(".cu")) {
      const Result<std::optional<Judgement>> stopped = compile(files);
      if (!stopped) return stopped.error();
      if (*stopped) return **stopped;
    }
    return verify(files);
  }

 private:
  SandboxLimits limits() const {
    SandboxLimits limits;
    limits.isolated = !arguments_.no_sandbox;
    limits.seconds = std::max(
        1.0, std::chrono::duration<double>(end_ - std::chrono::steady_clock::now()).count());
    return limits;
  }

  // Of this program, for the manifests among the files.
  SandboxCommand verification(const std::vector<NamedText>& files,
                              const std::vector<std::string>& more) const {
    std::vector<std::string> all = {own_program().string(), "verify"};
    for (const auto& [name, text] : files)
      if (name.ends_with(".toml")) all.insert(all.end(), {"--kernel", name});
    all.insert(all.end(), {"--profile", arguments_.profile_name});
    if (arguments_.sm) all.insert(all.end(), {"--sm", std::to_string(*arguments_.sm)});
    all.insert(all.end(), {"--on", "emulator", "--no-corpus", "--stateless"});
    all.insert(all.end(), more.begin(), more.end());
    return {.words = std::move(all)};
  }

  // What a compiler said. A judgement where it ends here.
  static std::optional<Judgement> stopped_by(const SandboxOutcome& ran) {
    if (ran.timed_out) return out_of_time("while it was compiled");
    if (ran.exit_code == 0) return std::nullopt;
    if (ran.killed) return out_of_memory("while it was compiled");
    return Judgement{.verdict = is_of_manifest(ran.output) ? "cannot be run" : "does not compile",
                     .reason = trouble_in(ran.output),
                     .details = {},
                     .replay = {}};
  }

  // From the source to its PTX: `files` are what the next stage needs then. A judgement where it
  // ends here.
  Result<std::optional<Judgement>> compile(std::vector<NamedText>& files) const {
    const fs::path folder = folder_ / "compile";
    if (Status laid = lay_out(folder, task_, files); !laid) return laid.error();
    const Result<SandboxOutcome> ran =
        run_in_sandbox(verification(files, {"--list-cases"}), folder, limits());
    if (!ran) return ran.error();
    if (std::optional<Judgement> stopped = stopped_by(*ran)) return stopped;
    for (const fs::directory_entry& one : fs::directory_iterator(folder)) {
      if (one.path().extension() != ".ptx" || !fs::is_regular_file(one.symlink_status())) continue;
      const Result<std::string> ptx = read_text_file(one.path().string(), "");
      if (!ptx) return ptx.error();
      files.emplace_back(one.path().filename().string(), *ptx);
    }
    return std::optional<Judgement>();
  }

  // The same of a Triton kernel: `files` become a manifest and PTX for every chip and
  // configuration.
  Result<std::optional<Judgement>> compile_triton(std::vector<NamedText>& files) const {
    const fs::path folder = folder_ / "compile";
    toml::table table = task_.table;
    std::vector<int> chips = task_.targets;
    if (arguments_.sm) {
      chips = {*arguments_.sm};
      table.insert_or_assign("targets", toml::array{*arguments_.sm});
    }
    const std::vector<toml::table> tasks = typed_tasks(table);
    files.emplace_back("tasks.json", json_of(tasks));
    if (Status laid = lay_out(folder, task_, files); !laid) return laid.error();
    const Result<SandboxCommand> python = triton_compiler(files.front().first, "tasks.json");
    if (!python) return python.error();
    const Result<SandboxOutcome> ran = run_in_sandbox(*python, folder, limits());
    if (!ran) return ran.error();
    if (std::optional<Judgement> stopped = stopped_by(*ran)) return stopped;
    files.clear();
    if (Status taken = take_launches(folder, tasks, chips, files); !taken) {
      return std::optional(Judgement{.verdict = "does not compile",
                                     .reason = taken.error().message,
                                     .details = {},
                                     .replay = {}});
    }
    return std::optional<Judgement>();
  }

  Result<Judgement> verify(const std::vector<NamedText>& files) const {
    const fs::path folder = folder_ / "verify";
    if (Status laid = lay_out(folder, task_, files); !laid) return laid.error();
    std::vector<std::string> more = {
        "--no-compile", "--max-fail", "1", "--out", "out", "--seed", fmt::format("{}", seed_)};
    if (arguments_.jobs > 0) more.insert(more.end(), {"-j", std::to_string(arguments_.jobs)});
    const Result<SandboxOutcome> ran = run_in_sandbox(verification(files, more), folder, limits());
    if (!ran) return ran.error();
    const Result<RunRecord> record =
        read_record((folder / "out" / "latest" / "record.json").string());
    if (!record) {
      if (ran->timed_out) return out_of_time("before its first case ended");
      if (ran->killed) return out_of_memory("while it ran");
      return Judgement{.verdict = "cannot be run",
                       .reason = trouble_in(ran->output),
                       .details = {},
                       .replay = {}};
    }
    return judgement_of(*record, ran->timed_out || record->interrupted);
  }

  static Judgement out_of_memory(std::string_view when) {
    return {
        .verdict = "cannot be run",
        .reason = fmt::format("the system killed it {}, as it does where memory is short", when),
        .details = {},
        .replay = {}};
  }

  static Judgement out_of_time(std::string_view when) {
    return {.verdict = "out of time",
            .reason = fmt::format("the time was over {}", when),
            .details = {},
            .replay = {}};
  }

  static Judgement judgement_of(const RunRecord& record, bool cut_short) {
    Judgement out;
    std::vector<std::string> reasons;
    for (const KernelRecord& kernel : record.kernels) {
      out.cases += kernel.cases;
      out.failed += kernel.failed;
      out.outputs += kernel.compared;
      for (const auto& list : {kernel.mistrusted_because, kernel.reasons})
        reasons.insert(reasons.end(), list.begin(), list.end());
    }
    if (!record.counterexamples.empty()) {
      const Counterexample& card = record.counterexamples.front();
      out.verdict = "broken";
      out.code = ExitCode::broken;
      out.reason = card.headline;
      out.replay = card.text;
      for (const FindingRecord& finding : card.findings) out.details.push_back(finding.text);
      out.details.insert(out.details.end(), card.elements.begin(), card.elements.end());
      out.details.insert(out.details.end(), card.faults.names.begin(), card.faults.names.end());
      return out;
    }
    if (out.failed > 0) {
      const auto failing = std::ranges::find(record.cases, Verdict::fail, &CaseRecord::verdict);
      out.verdict = "broken";
      out.code = ExitCode::broken;
      out.reason = failing == record.cases.end() ? "a case fails" : failing->reason;
      if (failing != record.cases.end()) out.replay = failing->text;
    } else if (cut_short) {
      Judgement late = out_of_time(fmt::format("after {} cases", out.cases));
      late.cases = out.cases;
      late.outputs = out.outputs;
      return late;
    } else {
      const ExitCode code = exit_code(record, Arguments());
      out.code = code;
      out.verdict = code == ExitCode::held         ? "conforms"
                    : code == ExitCode::mistrusted ? "mistrusted"
                                                   : "cannot be run";
      if (code != ExitCode::held && !reasons.empty()) out.reason = reasons.front();
      const auto error = std::ranges::find(record.cases, Verdict::error, &CaseRecord::verdict);
      if (out.reason.empty() && error != record.cases.end()) out.reason = error->reason;
    }
    return out;
  }

  const Arguments& arguments_;
  fs::path folder_;
  Task task_;
  std::uint64_t seed_;
  std::chrono::steady_clock::time_point end_;
};

void print(const Judgement& judged, const std::string& submission, const std::string& task,
           std::uint64_t seed, double seconds, const Arguments& arguments, Terminal& terminal) {
  if (arguments.format == OutputFormat::json) {
    nlohmann::ordered_json json = {{"verdict", judged.verdict},
                                   {"reason", judged.reason},
                                   {"submission", submission},
                                   {"task", task},
                                   {"profile", arguments.profile_name},
                                   {"seed", fmt::format("{:#x}", seed)},
                                   {"cases", judged.cases},
                                   {"failed", judged.failed},
                                   {"outputs", judged.outputs},
                                   {"case", judged.replay},
                                   {"details", judged.details},
                                   {"seconds", seconds}};
    terminal.print(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  if (arguments.format == OutputFormat::line || arguments.quiet) {
    if (judged.code != ExitCode::held)
      terminal.print(fmt::format("{}: {}: {}", judged.verdict, submission, judged.reason));
    return;
  }
  const std::string word = judged.code == ExitCode::held     ? terminal.green(judged.verdict)
                           : judged.code == ExitCode::broken ? terminal.red(judged.verdict)
                                                             : terminal.yellow(judged.verdict);
  terminal.print_wrapped(fmt::format("judge: {} {}{}", submission, word,
                                     judged.reason.empty() ? "" : ": " + judged.reason));
  for (const std::string& detail : judged.details) terminal.print_wrapped("  " + detail);
  if (!judged.replay.empty()) terminal.print_wrapped("  case     " + judged.replay);
  terminal.print(fmt::format("  {} of {} cases failed, {} outputs compared, seed {:#x}, {}",
                             judged.failed, judged.cases, judged.outputs, seed,
                             duration_text(seconds)));
}

}  // namespace

ExitCode judge(const Arguments& arguments, Terminal& terminal) {
  const auto start = std::chrono::steady_clock::now();
  if (arguments.names.size() != 1 || arguments.task.empty()) {
    return report_error({ErrorKind::bad_input, "one submission and its task are needed", "",
                         "plumbline judge submission.cu --task task.toml"});
  }
  const std::string& path = arguments.names.front();
  const std::string extension = fs::path(path).extension().string();
  if (extension != ".cu" && extension != ".ptx" && extension != ".py") {
    return report_error({ErrorKind::bad_input,
                         "a submission is a CUDA source, PTX, or a Triton kernel", path,
                         "name it .cu, .ptx or .py"});
  }
  // A link could lead to any file of the owner's, and a pipe has no end.
  std::error_code failure;
  const fs::file_status status = fs::symlink_status(path, failure);
  if (fs::exists(status) && !fs::is_regular_file(status))
    return report_error({ErrorKind::bad_input, "a submission is a regular file", path, ""});
  const auto size = fs::file_size(path, failure);
  if (!failure && size > kLargestSubmission)
    return report_error({ErrorKind::bad_input, "a submission has at most 4 MiB", path, ""});
  const Result<std::string> text = read_text_file(path, "");
  if (!text) return report_error(text.error());
  const std::string name = "submission" + extension;
  Result<Task> task = read_task(arguments.task, name);
  if (!task) return report_error(task.error());
  if (arguments.sm && std::ranges::count(task->targets, *arguments.sm) == 0) {
    return report_error(
        {ErrorKind::bad_input, fmt::format("the task has no sm_{}", *arguments.sm), arguments.task,
         fmt::format("--sm takes one of its targets: {}", fmt::join(task->targets, ", "))});
  }
  if (!arguments.no_sandbox) {
    if (const Status sandbox = check_sandbox(); !sandbox) return report_error(sandbox.error());
  }
  const Result<WorkFolder> folder = WorkFolder::make();
  if (!folder) return report_error(folder.error());
  // The submission cannot know it.
  const std::uint64_t seed = arguments.seed.value_or(std::random_device()());
  terminal.status(fmt::format("  judging {}", path));
  Judge judge(arguments, folder->path(), *std::move(task), seed);
  Result<Judgement> judged = judge.judge(name, *text);
  terminal.clear_status();
  if (interrupted()) return ExitCode::interrupted;
  if (!judged) return report_error(judged.error());
  for (const char* stage : {"compile", "verify"}) {
    const fs::path stage_folder = folder->path() / stage;
    judged->reason = readable(without_folder(judged->reason, stage_folder));
    for (std::string& detail : judged->details)
      detail = readable(without_folder(detail, stage_folder));
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  print(*judged, path, arguments.task, seed, seconds, arguments, terminal);
  return judged->code;
}

}  // namespace plumbline
