// SPDX-License-Identifier: MIT
// plumbline verify: the planned cases of each kernel, judged.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "harness/cli/changes.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "reports/json.h"

namespace plumbline {
namespace {

// The texts of the cases that failed in the last run of this output folder.
Result<std::vector<std::string>> failed_last_time(const Arguments& arguments) {
  const Result<RunRecord> last = read_record(arguments.out + "/latest/record.json");
  if (!last) return last.error();
  std::vector<std::string> texts;
  for (const CaseRecord& c : last->cases) {
    if (c.verdict == Verdict::fail || c.verdict == Verdict::error) texts.push_back(c.text);
  }
  return texts;
}

// The rows of the kernels that run.
Baseline only_kernels(Baseline baseline, const std::vector<const Manifest*>& kernels) {
  std::erase_if(baseline.rows, [&](const BaselineRow& row) {
    return std::none_of(kernels.begin(), kernels.end(),
                        [&](const Manifest* kernel) { return kernel->name == row.kernel; });
  });
  return baseline;
}

}  // namespace

ExitCode verify(const Arguments& arguments, Terminal& terminal) {
  const Result<Registry> registry = open_registry(arguments);
  if (!registry) return report_error(registry.error());
  const auto kernels = registry->match(arguments.names);
  if (!kernels) return report_error(kernels.error());
  Result<RunOptions> options = run_options(arguments, *kernels);
  if (!options) return report_error(options.error());
  options->seed = arguments.seed.value_or(1);
  if (arguments.failed) {
    Result<std::vector<std::string>> texts = failed_last_time(arguments);
    if (!texts) return report_error(texts.error());
    if (texts->empty()) {
      terminal.print("nothing failed last time");
      return ExitCode::nothing_selected;
    }
    options->only_cases = *std::move(texts);
  }
  std::optional<Baseline> baseline;
  if (!arguments.baseline.empty()) {
    Result<Baseline> read = read_baseline(arguments.baseline);
    if (!read) return report_error(read.error());
    baseline = only_kernels(*std::move(read), *kernels);
  } else if (arguments.strict_baseline) {
    return report_error({ErrorKind::bad_input, "--strict-baseline needs a baseline", "",
                         "--baseline plumbline-baseline.json"});
  }
  const std::string id = run_id(arguments, *kernels, options->seed);
  Result<RunFolder> folder = create_run_folder(arguments, id);
  if (!folder) return report_error(folder.error());

  const auto start = std::chrono::steady_clock::now();
  Console console(arguments, terminal, *folder, id);
  Result<RunRecord> record = run(*registry, *kernels, *options, console);
  if (!record) return report_error(record.error());
  label_record(*record, arguments, id);
  record->elapsed_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  folder->link_as_latest();
  const ExitCode code = end_run(*record, *folder, arguments, terminal);
  if (!baseline) return code;
  const bool held = show_changes(changes(*baseline, baseline_of(*record)), arguments, terminal);
  return !held && code == ExitCode::held ? ExitCode::broken : code;
}

}  // namespace plumbline
