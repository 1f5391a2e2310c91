// SPDX-License-Identifier: MIT
// plumbline replay: saved cases, exactly, on every target of their kernel. Its folder is not linked
// as `latest`: `verify --failed` still means the last verify or fuzz.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "harness/check/dump.h"
#include "harness/cli/cases.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/explain/explain.h"
#include "harness/launch/interrupt.h"
#include "harness/run/counterexample.h"
#include "oracles/base/hash.h"

namespace plumbline {
namespace {

// A file per case and target.
Status write_tensors(const std::vector<Job>& jobs, const std::string& folder, Terminal& terminal) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return Error{ErrorKind::bad_input, "cannot create: " + code.message(), folder, ""};
  CaseRunner runner({});
  for (const Job& job : jobs) {
    const Result<std::unique_ptr<Examined>> examined = runner.examine(job.test_case, job.target);
    if (!examined) continue;  // said already
    const std::string path =
        fmt::format("{}/{}_{}.sm_{}.safetensors", folder, job.test_case.kernel->name,
                    short_name(fingerprint(job.test_case.text())), job.target.sm);
    const Status written = write_dump(path, job.test_case, job.target, (*examined)->tensors);
    if (!written) return written;
    terminal.note("tensors: " + path);
  }
  return {};
}

}  // namespace

ExitCode replay(const Arguments& arguments, Terminal& terminal) {
  const Result<Registry> registry = open_registry(arguments, terminal);
  if (!registry) return report_error(registry.error());
  if (arguments.names.empty()) {
    return report_error({ErrorKind::bad_input, "replay needs a case", "",
                         "a .case file, a folder, or a case text in quotes"});
  }
  const Result<std::vector<CaseFile>> cases = named_cases(arguments.names, *registry);
  if (!cases) return report_error(cases.error());
  if (cases->empty()) {
    terminal.note(
        fmt::format("nothing selected: no .case file in {}", fmt::join(arguments.names, ", ")));
    return ExitCode::nothing_selected;
  }
  Result<RunOptions> options = run_options(arguments, {});
  if (!options) return report_error(options.error());
  options->corpus_folder.clear();  // a replay saves nothing
  options->runner.all_relations = true;

  std::vector<std::string> texts;
  for (const CaseFile& file : *cases) texts.push_back(file.test_case.text());
  const std::string id = short_name(fingerprint(fmt::format("{}", fmt::join(texts, "\n"))));
  Result<RunFolder> folder = create_run_folder(arguments, id);
  if (!folder) return report_error(folder.error());
  const auto start = std::chrono::steady_clock::now();
  RunRecord record;
  label_record(record, arguments, id);
  describe_environment(record);
  const Result<std::optional<Target>> gpu = find_gpu(options->on);
  if (!gpu) return report_error(gpu.error());
  std::vector<Job> jobs;
  for (const CaseFile& file : *cases) {
    const Manifest& kernel = *file.test_case.kernel;
    std::string skipped;
    const std::vector<Target> targets =
        kernel_targets(kernel, options->on, options->sm, *gpu, skipped);
    add_kernel(record, kernel, targets, skipped);
    for (const Target& target : targets)
      jobs.push_back({file.test_case, target_for(file.test_case, target),
                      static_cast<std::int64_t>(jobs.size())});
  }
  record.planned = static_cast<std::int64_t>(jobs.size());
  Console console(arguments, terminal, *folder, id);
  folder->begin(record);
  record.cases = run_jobs(jobs, *options, console);
  record.interrupted = interrupted();
  summarize(record);
  count_not_run(jobs, record);
  options->shrink_budget = 0;
  for (const Job& job : jobs) {
    const auto failed =
        std::find_if(record.cases.begin(), record.cases.end(), [&](const CaseRecord& c) {
          return c.verdict == Verdict::fail && c.text == job.test_case.text() &&
                 c.device == job.target.name();
        });
    if (failed == record.cases.end()) continue;
    record.counterexamples.push_back(make_counterexample(job, *failed, *options));
    console.explained(record.counterexamples.back());
  }
  record.elapsed_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const ExitCode code = end_run(record, *folder, arguments, terminal);
  if (arguments.tensors.empty()) return code;
  return unless_unwritten(write_tensors(jobs, arguments.tensors, terminal), code);
}

}  // namespace plumbline
