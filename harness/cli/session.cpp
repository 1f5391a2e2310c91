// SPDX-License-Identifier: MIT
#include "harness/cli/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include "harness/cli/text/console_text.h"
#include "harness/cli/text/kernel_line.h"
#include "harness/launch/interrupt.h"
#include "harness/launch/signature.h"
#include "harness/launch/unit_shapes.h"
#include "harness/run/estimate.h"
#include "harness/run/evidence.h"
#include "kernels/manifest/compile.h"
#include "kernels/ops/text_operation.h"
#include "oracles/base/file.h"
#include "oracles/base/hash.h"
#include "oracles/base/shell_word.h"
#include "oracles/base/text.h"
#include "reports/annotations.h"
#include "reports/card.h"
#include "reports/count_text.h"
#include "reports/record/json.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string painted(const Terminal& terminal, Verdict verdict, std::size_t width) {
  const std::string word = fmt::format("{:<{}}", status_word(verdict), width);
  if (verdict == Verdict::pass) return terminal.green(word);
  if (verdict == Verdict::fail || verdict == Verdict::error) return terminal.red(word);
  return terminal.yellow(word);
}

// One line; more where it has to answer for something, or all of it is asked for.
void print_kernel(const KernelRecord& k, const RunRecord& record, const KernelColumns& columns,
                  const Arguments& arguments, Terminal& terminal) {
  const std::string verdict = painted(terminal, k.verdict, columns.verdict);
  if (k.verdict == Verdict::skip) {
    terminal.print_wrapped(
        fmt::format("  {}  {}  {}", verdict, k.name,
                    k.reasons.empty() ? "no case was selected" : k.reasons.front()));
    return;
  }
  terminal.print(fmt::format("  {}  {}", verdict,
                             kernel_figures(k, representative_error(record, k), columns)));
  if (arguments.verbose) {
    for (const std::string& line : kernel_details(k))
      terminal.print_wrapped(terminal.dim("        " + line));
  } else if (arguments.verb == "check") {
    // How it adds is what a check of outputs finds out.
    for (const auto& [of, words] : k.arithmetic) {
      terminal.print_wrapped(
          fmt::format("        {}{}", k.arithmetic.size() > 1 ? of + ": " : "", words));
    }
  }
  const auto card = std::ranges::find(record.counterexamples, k.name, &Counterexample::kernel);
  if (card != record.counterexamples.end()) {
    if (const std::string cause = cause_line(*card); !cause.empty())
      terminal.print_wrapped("        " + cause);
  }
  for (const std::string& line : kernel_reasons(k)) terminal.print_wrapped("        " + line);
}

// Of a drafted manifest that its author has not looked at in full: which lines are left. Else
// empty.
std::string lines_to_do(const std::string& path) {
  const Result<std::string> text = read_text_file(path, "");
  if (!text) return "";
  constexpr std::size_t kMostNamed = 6;
  std::vector<std::string> numbers;
  std::size_t number = 0;
  for (const std::string_view line : split(*text, '\n')) {
    ++number;
    const std::size_t comment = line.find('#');
    if (comment != std::string_view::npos && line.find("TODO:", comment) != std::string_view::npos)
      numbers.push_back(fmt::format("{}", number));
  }
  if (numbers.empty()) return "";
  if (numbers.size() == 1) return fmt::format("line {} of {} still says TODO", numbers[0], path);
  const std::size_t count = numbers.size();
  if (count > kMostNamed) numbers.resize(kMostNamed);
  return fmt::format("{} lines of {} still say TODO ({}{})", count, path, fmt::join(numbers, ", "),
                     count > kMostNamed ? ", ..." : "");
}

bool launches_kernels(const Arguments& arguments) {
  return arguments.verb != "list" && arguments.verb != "check";
}

// The first line of what could not run; the rest only with -v (they are in the record).
void print_errors(const RunRecord& record, const Arguments& arguments, Terminal& terminal) {
  std::set<std::string> told;
  for (const CaseRecord& c : record.cases) {
    if (c.verdict != Verdict::error || !told.insert(c.reason).second) continue;
    if (told.size() > 3 && !arguments.verbose) continue;
    terminal.print("");
    terminal.print_wrapped(fmt::format("{}  {}", terminal.red("error"), c.reason));
    terminal.print_wrapped(fmt::format("       in {}  on {}", c.text, c.device));
  }
}

}  // namespace

ExitCode report_error(const Error& error) {
  // fmt::print would throw where stderr is closed.
  std::fputs(fmt::format("plumbline: {}\n", console_line(error.text())).c_str(), stderr);
  if (interrupted()) return ExitCode::interrupted;
  return error.kind == ErrorKind::bad_input ? ExitCode::wrong_input : ExitCode::could_not_run;
}

Result<Registry> open_registry(const Arguments& arguments, Terminal& terminal) {
  Result<Registry> registry = Registry::open(default_kernel_folder());
  if (!registry) return registry;
  for (const std::string& path : arguments.manifests) {
    const bool judges_alone = arguments.verb == "check";
    const Status added =
        registry->add(path, judges_alone ? ManifestPart::contract : ManifestPart::whole);
    if (!added) return added.error();
    if (const std::string open = lines_to_do(path); !open.empty() && launches_kernels(arguments))
      terminal.note(open + "; the verdict is on the kernel as it is described there");
    const Manifest* kernel = registry->find(fs::path(path).stem().string());
    if (launches_kernels(arguments) && !arguments.no_compile) {
      // A chip that has no build of its own runs that of an older one, on a GPU.
      const std::optional<int> only =
          arguments.sm ? best_build(*kernel, *arguments.sm) : std::nullopt;
      for (const int target : kernel->targets) {
        if ((only && target != *only) || is_compiled(*kernel, target)) continue;
        terminal.status(fmt::format("  compiling {} for sm_{}", kernel->name, target));
        const Status compiled = compile_outdated(*kernel, target);
        if (!compiled) return compiled.error();
      }
      terminal.clear_status();
    }
    const Status same = check_signatures(*kernel);
    if (!same) return same.error();
    // The newest chips take more products into a node than short instructions bring.
    const Result<std::string> image =
        read_image(*kernel, *std::ranges::max_element(kernel->targets));
    const std::int64_t k = image ? short_instruction_k(*kernel, *image) : 0;
    if (k > 0) registry->note_instruction_k(kernel->name, k);
  }
  return registry;
}

int worker_threads(const Arguments& arguments) {
  return arguments.jobs > 0 ? arguments.jobs
                            : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Result<RunOptions> run_options(const Arguments& arguments,
                               const std::vector<const Manifest*>& kernels) {
  RunOptions options;
  options.profile = arguments.profile;
  options.on = arguments.on;
  options.sm = arguments.sm;
  options.jobs = worker_threads(arguments);
  options.shard = arguments.shard;
  options.runner.repeat = arguments.repeat;
  options.runner.stateless = arguments.stateless;
  options.runner.judge.mpfr_bits = arguments.mpfr_bits;
  if (arguments.no_shrink) options.shrink_budget = 0;
  options.max_failures = arguments.max_failures;
  if (!arguments.only.empty()) {
    const Result<Filter> filter = Filter::parse(arguments.only, kernels);
    if (!filter) return filter.error();
    options.filter = *filter;
  }
  if (!arguments.no_corpus) {
    options.corpus_folder = !arguments.corpus.empty()         ? arguments.corpus
                            : fs::is_directory("fuzz/corpus") ? "fuzz/corpus"
                                                              : arguments.out + "/corpus";
    const bool saved_here = options.corpus_folder == arguments.out + "/corpus";
    options.corpus_is_committed = !saved_here || !arguments.corpus.empty();
    // What one shard saves there is no part of the plan of the others.
    options.replays_corpus = !options.shard || !saved_here;
  }
  return options;
}

void Console::planned(const RunRecord& so_far, const std::vector<Job>& jobs) {
  RunRecord labeled = so_far;
  label_record(labeled, arguments_, run_id_);
  folder_.begin(labeled);
  for (const Job& job : jobs) {
    const double seconds = estimated_seconds(job);
    estimated_[job.position] = seconds;
    all_estimated_ += seconds;
  }
  if (arguments_.format != OutputFormat::human || arguments_.quiet) return;
  terminal_.print_wrapped(
      fmt::format("{}   {}   {}", terminal_.bold("plumbline " PLUMBLINE_VERSION),
                  fmt::join(so_far.devices, " + "), counted(so_far.planned, "case")));
}

void Console::taken_over(const std::vector<CaseRecord>& cases) {
  for (const CaseRecord& c : cases) {
    folder_.append(c);
    if (const auto estimated = estimated_.find(c.position); estimated != estimated_.end())
      all_estimated_ -= estimated->second;
  }
  if (arguments_.format != OutputFormat::human || arguments_.quiet) return;
  terminal_.print_wrapped(fmt::format("{} passed before the run was interrupted, and {} taken over",
                                      counted(static_cast<std::int64_t>(cases.size()), "case"),
                                      cases.size() == 1 ? "is" : "are"));
}

void Console::finished(const CaseRecord& record, std::int64_t done, std::int64_t total) {
  folder_.append(record);
  progress_.kernel = record.kernel;
  progress_.done = done;
  progress_.total = total;
  progress_.failed += record.verdict == Verdict::fail || record.verdict == Verdict::error;
  const auto estimated = estimated_.find(record.position);
  if (estimated != estimated_.end()) done_estimated_ += estimated->second;
  switch (arguments_.format) {
    case OutputFormat::json:
      terminal_.print(case_json_line(record));
      return;
    case OutputFormat::line:
      if (record.verdict != Verdict::pass) {
        terminal_.print(fmt::format("{}: {} [{}]: {}", name(record.verdict), record.text,
                                    record.device, record.reason));
      }
      return;
    case OutputFormat::human:
      break;
  }
  if (arguments_.verbose) {
    double worst = 0;
    for (const OutputRecord& output : record.outputs)
      worst = std::max(worst, output.verdict.worst_ulp);
    const std::string kernel =
        record.kernel_ms > 0 ? fmt::format(", kernel {:.4f} ms", record.kernel_ms) : "";
    terminal_.print(fmt::format("  {} {}  [{}]  {}  {:.1f} ms{}",
                                painted(terminal_, record.verdict, 10), record.text, record.device,
                                record.reason.empty() ? ulp_text(worst) : record.reason,
                                record.elapsed_ms, kernel));
  }
  show_progress();
}

void Console::shrinking(const Case& failing) {
  ++progress_.shrinking;
  if (progress_.total == 0) progress_.kernel = failing.kernel->name;
  show_progress();
}

void Console::explained(const Counterexample& card) {
  progress_.shrinking = std::max(0, progress_.shrinking - 1);
  if (arguments_.format != OutputFormat::human) return;
  // Where many kernels fail, or one by one fault, the first card of a kernel says it.
  constexpr std::size_t kFewKernels = 3;
  const bool is_first = !told_.contains(card.kernel);
  std::set<std::string>& faults = told_[card.kernel];
  const bool is_new = card.faults.empty() || faults.insert(card.faults.names.front()).second;
  terminal_.print("");
  print_card(card, terminal_, !is_first && (!is_new || told_.size() > kFewKernels));
  terminal_.print("");
  show_progress();
}

void Console::probing() { terminal_.status("  probing how the kernels add"); }

void Console::show_progress() {
  progress_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  progress_.share = all_estimated_ > 0 ? done_estimated_ / all_estimated_
                    : progress_.total > 0
                        ? static_cast<double>(progress_.done) / static_cast<double>(progress_.total)
                        : 0;
  terminal_.status("  " + progress_text(progress_, terminal_.width() - 3));
}

std::string run_id(const Arguments& arguments, const std::vector<const Manifest*>& kernels,
                   std::uint64_t seed, const std::vector<std::string>& inputs) {
  std::string text =
      fmt::format("{} {} {} {} on={} sm={} repeat={} mpfr={}", arguments.verb,
                  arguments.profile_name, seed, arguments.only, static_cast<int>(arguments.on),
                  arguments.sm.value_or(0), arguments.repeat, arguments.mpfr_bits);
  for (const Manifest* kernel : kernels) {
    text += fmt::format(" {} {}", kernel->name, hash_of_file(kernel->path));
    if (const TextOperation* computes = as_text(*kernel->operation))
      text += " " + short_name(fingerprint(computes->text().source));
    const fs::path folder = fs::path(kernel->path).parent_path();
    if (!kernel->source.empty()) text += " " + hash_of_file(folder / kernel->source);
    for (const int sm : kernel->targets) text += " " + hash_of_file(kernel->ptx_path(sm));
  }
  for (const std::string& input : inputs) text += " " + input;
  if (!arguments.case_text.empty()) text += " case " + arguments.case_text;
  if (arguments.no_corpus) text += " no corpus";
  if (arguments.stateless) text += " stateless";
  if (arguments.no_shrink) text += " no shrinking";
  if (arguments.max_failures > 0) text += fmt::format(" stop {}", arguments.max_failures);
  for (const std::string& name : arguments.names) text += " " + name;
  if (arguments.auto_mutants > 0) text += fmt::format(" auto {}", arguments.auto_mutants);
  if (arguments.peers) text += " peers";
  if (arguments.failed) text += " failed";
  if (arguments.depth > 0) text += fmt::format(" depth {}", arguments.depth);
  if (!arguments.model.empty()) text += " model " + arguments.model;
  if (!arguments.sweep.empty()) text += " sweep " + arguments.sweep;
  if (arguments.draws > 0) text += fmt::format(" draws {}", arguments.draws);
  if (arguments.stochastic > 0) text += fmt::format(" stochastic {}", arguments.stochastic);
  if (arguments.decode > 0) text += fmt::format(" decode {}", arguments.decode);
  if (arguments.denoise > 0) text += fmt::format(" denoise {}", arguments.denoise);
  return short_name(fingerprint(text));
}

Result<RunFolder> create_run_folder(const Arguments& arguments, const std::string& run_id) {
  const std::optional<Shard>& shard = arguments.shard;
  return RunFolder::create(
      arguments.out, shard ? fmt::format("{}-{}of{}", run_id, shard->index, shard->count) : run_id);
}

void label_record(RunRecord& record, const Arguments& arguments, const std::string& run_id) {
  record.verb = arguments.verb;
  record.command = arguments.command;
  record.profile = arguments.verb == "verify" ? arguments.profile_name : arguments.verb;
  std::vector<std::string> left_out;
  if (arguments.sm) left_out.push_back(fmt::format("--sm {}", *arguments.sm));
  if (arguments.failed) left_out.emplace_back("--failed");
  if (!arguments.only.empty()) left_out.push_back("--only " + shell_word(arguments.only));
  record.filter = fmt::format("{}", fmt::join(left_out, " "));
  record.run_id = run_id;
}

void print_card(const Counterexample& card, Terminal& terminal, bool brief) {
  const std::vector<std::string> lines = brief ? brief_card_lines(card) : card_lines(card),
                                 commands = card_commands(card);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i + commands.size() < lines.size()) {
      terminal.print_wrapped(lines[i]);
    } else {
      terminal.print(lines[i]);
    }
  }
}

void print_cards(const RunRecord& record, const Arguments& arguments, Terminal& terminal) {
  if (arguments.format != OutputFormat::human) return;
  for (const Counterexample& card : record.counterexamples) {
    print_card(card, terminal);
    terminal.print("");
  }
}

void print_record(const RunRecord& record, const Arguments& arguments, Terminal& terminal) {
  terminal.clear_status();
  std::int64_t passed = 0, failed = 0, errors = 0, skipped = 0, mistrusted = 0;
  for (const KernelRecord& k : record.kernels) {
    passed += k.verdict == Verdict::pass;
    failed += k.verdict == Verdict::fail;
    errors += k.verdict == Verdict::error;
    skipped += k.verdict == Verdict::skip;
    mistrusted += k.verdict == Verdict::mistrusted;
  }
  if (arguments.format == OutputFormat::json) return;
  if (arguments.format == OutputFormat::human) {
    std::vector<std::string> not_reached;
    const KernelColumns columns = kernel_columns(record.kernels, terminal.width());
    for (const KernelRecord& k : record.kernels) {
      if (record.ended_early() && k.cases == 0 && k.reasons.empty()) {
        not_reached.push_back(k.name);
      } else if (!arguments.quiet || k.verdict != Verdict::pass) {
        print_kernel(k, record, columns, arguments, terminal);
      }
    }
    print_errors(record, arguments, terminal);
    if (record.ended_early()) {
      terminal.print("");
      terminal.print_wrapped(fmt::format(
          "{} after {} of {} cases; they are in the record",
          record.interrupted ? "interrupted" : "the run " + stop_text(record.stopped_after) + ",",
          record.cases.size(), record.planned));
      if (record.interrupted && record.verb == "verify")
        terminal.print_wrapped("to go on: the same command with --resume");
      if (!not_reached.empty())
        terminal.print_wrapped(fmt::format("not reached: {}", fmt::join(not_reached, ", ")));
    }
    terminal.print("");
  }
  terminal.print(fmt::format(
      "{}: {} passed, {} failed, {} skipped{}{}{}", record.verb, passed, failed, skipped,
      mistrusted > 0 ? fmt::format(", {} mistrusted", mistrusted) : "",
      errors > 0 ? fmt::format(", {} could not run", errors) : "",
      record.elapsed_ms > 0 ? fmt::format(" in {}", duration_text(record.elapsed_ms / 1000)) : ""));
}

void print_report_path(const std::filesystem::path& folder, const Arguments& arguments,
                       Terminal& terminal) {
  if (arguments.format == OutputFormat::human && !arguments.quiet)
    terminal.print(terminal.dim(fmt::format("report: {}", (folder / "report.html").string())));
}

ExitCode end_run(RunRecord& record, RunFolder& folder, const Arguments& arguments,
                 Terminal& terminal, const PageOptions& page) {
  weigh_incomplete(record);
  const Status written = folder.finish(record, arguments.allow_mistrusted, page);
  print_record(record, arguments, terminal);
  if (written) {
    print_report_path(folder.path(), arguments, terminal);
    print_annotations(record, arguments, terminal);
  }
  return unless_unwritten(written, exit_code(record, arguments));
}

ExitCode unless_unwritten(const Status& written, ExitCode code) {
  if (written) return code;
  report_error(written.error());
  return code == ExitCode::held ? ExitCode::could_not_run : code;
}

void print_annotations(const RunRecord& record, const Arguments& arguments, Terminal& terminal) {
  if (arguments.format == OutputFormat::json) return;
  const char* actions = std::getenv("GITHUB_ACTIONS");
  if (!actions || std::string_view(actions) != "true") return;
  std::error_code code;
  const std::string root = fs::current_path(code).string();
  for (const std::string& line : github_annotations(record, root)) terminal.print_command(line);
}

ExitCode exit_code(const RunRecord& record, const Arguments& arguments) {
  if (record.interrupted) return ExitCode::interrupted;
  bool failed = false, error = false, mistrusted = false, skipped = false;
  for (const KernelRecord& k : record.kernels) {
    failed = failed || k.verdict == Verdict::fail;
    error = error || k.errors > 0;
    mistrusted = mistrusted || k.verdict == Verdict::mistrusted;
    // A filter may leave a kernel without cases, but not one that was asked for by its name.
    const bool named = std::ranges::count(arguments.names, k.name) > 0;
    skipped = skipped || (k.verdict == Verdict::skip && (named || !k.reasons.empty()));
  }
  if (failed) return ExitCode::broken;
  if (error) return ExitCode::could_not_run;
  if ((mistrusted && !arguments.allow_mistrusted) || (skipped && arguments.strict))
    return ExitCode::mistrusted;
  if (record.cases.empty() && record.depths.empty()) return ExitCode::nothing_selected;
  return ExitCode::held;
}

}  // namespace plumbline
