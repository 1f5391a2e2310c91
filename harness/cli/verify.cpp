// SPDX-License-Identifier: MIT
// plumbline verify: the planned cases of each kernel, judged.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

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
  return end_run(*record, *folder, arguments, terminal);
}

}  // namespace plumbline
