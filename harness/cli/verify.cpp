// SPDX-License-Identifier: MIT
// plumbline verify: the planned cases of each kernel, judged.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "fuzz/case_file/corpus.h"
#include "harness/cli/cases.h"
#include "harness/cli/changes.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/judge/case_runner.h"
#include "reports/record/json.h"

namespace plumbline {
namespace {

// The cases that failed in the last verify or fuzz of this output folder, from any profile and
// seed.
Result<std::vector<Case>> failed_last_time(const Arguments& arguments, const Registry& registry,
                                           Terminal& terminal) {
  const std::string path = fmt::format("{}/{}/record.json", arguments.out, kLatestOfCases);
  const Result<RunRecord> last = read_record(path);
  if (!last) return last.error();
  std::vector<Case> cases;
  std::set<std::string> texts;
  std::size_t lost = 0;
  for (const CaseRecord& c : last->cases) {
    if (c.verdict != Verdict::fail && c.verdict != Verdict::error) continue;
    if (!texts.insert(c.text).second) continue;  // of another device
    Result<Case> test_case = parse_case_line(c.text, registry, path);
    if (!test_case || !check_domain(*test_case)) {
      ++lost;
      continue;
    }
    test_case->shape_class = c.shape_class;
    test_case->layout_class = c.layout_class;
    test_case->origin = c.origin;
    cases.push_back(*std::move(test_case));
  }
  if (texts.empty()) terminal.note("nothing failed last time");
  if (lost > 0) {
    terminal.note(
        fmt::format("{} of {} cases that failed are of no kernel here; one outside the kernel "
                    "folder needs its --kernel FILE",
                    lost, texts.size()));
  }
  return cases;
}

// The rows of the kernels that run.
Baseline only_kernels(Baseline baseline, const std::vector<const Manifest*>& kernels) {
  std::erase_if(baseline.rows, [&](const BaselineRow& row) {
    return std::none_of(kernels.begin(), kernels.end(),
                        [&](const Manifest* kernel) { return kernel->name == row.kernel; });
  });
  return baseline;
}

// --list-cases: what would run.
ExitCode list_cases(const Registry& registry, const std::vector<const Manifest*>& kernels,
                    const RunOptions& options, const Arguments& arguments, Terminal& terminal) {
  const Result<std::optional<Target>> gpu = find_gpu(options.on);
  if (!gpu) return report_error(gpu.error());
  RunRecord planned;
  const Result<std::vector<Job>> jobs = plan_jobs(registry, kernels, *gpu, options, planned);
  if (!jobs) return report_error(jobs.error());
  print_plan(*jobs, planned, options.jobs, arguments, terminal);
  return jobs->empty() ? ExitCode::nothing_selected : ExitCode::held;
}

// For --resume: what this same run did before it was interrupted or killed; nullopt where there is
// no such run, or another build made it.
Result<std::optional<RunRecord>> earlier_part(const RunFolder& folder, Terminal& terminal) {
  if (!folder.has_record()) {
    terminal.note("no run of these kernels and options was interrupted here: it begins anew");
    return std::optional<RunRecord>();
  }
  Result<RunRecord> earlier = read_record(folder.path());
  if (!earlier) {
    Error error = earlier.error();
    error.hint = "leave out --resume: the run begins anew then";
    return error;
  }
  RunRecord now;
  describe_environment(now);
  if (earlier->plumbline_version != now.plumbline_version || earlier->git_hash != now.git_hash ||
      earlier->environment != now.environment) {
    terminal.note(
        "another build of plumbline, or another machine, made the earlier part of this "
        "run: it begins anew");
    return std::optional<RunRecord>();
  }
  return std::optional<RunRecord>(*std::move(earlier));
}

}  // namespace

ExitCode verify(const Arguments& arguments, Terminal& terminal) {
  const Result<Registry> registry = open_registry(arguments, terminal);
  if (!registry) return report_error(registry.error());
  const auto kernels = registry->match(arguments.names);
  if (!kernels) return report_error(kernels.error());
  Result<RunOptions> options = run_options(arguments, *kernels);
  if (!options) return report_error(options.error());
  options->seed = arguments.seed.value_or(1);
  if (arguments.failed) {
    Result<std::vector<Case>> cases = failed_last_time(arguments, *registry, terminal);
    if (!cases) return report_error(cases.error());
    std::erase_if(*cases, [&](const Case& c) {
      return std::find(kernels->begin(), kernels->end(), c.kernel) == kernels->end();
    });
    if (cases->empty()) return ExitCode::nothing_selected;
    options->only_cases = *std::move(cases);
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
  if (arguments.list_cases) return list_cases(*registry, *kernels, *options, arguments, terminal);
  std::vector<std::string> texts;
  for (const Case& one : options->only_cases) texts.push_back(one.text());
  const std::string id = run_id(arguments, *kernels, options->seed, texts);
  Result<RunFolder> folder = create_run_folder(arguments, id);
  if (!folder) return report_error(folder.error());
  std::optional<RunRecord> earlier;
  if (arguments.resume) {
    Result<std::optional<RunRecord>> part = earlier_part(*folder, terminal);
    if (!part) return report_error(part.error());
    earlier = *std::move(part);
    if (earlier) options->earlier = &*earlier;
  }

  const auto start = std::chrono::steady_clock::now();
  Console console(arguments, terminal, *folder, id);
  Result<RunRecord> record = run(*registry, *kernels, *options, console);
  if (!record) return report_error(record.error());
  label_record(*record, arguments, id);
  record->elapsed_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!record->cases.empty()) folder->link_as_latest_of_cases();
  const ExitCode code =
      end_run(*record, *folder, arguments, terminal, {baseline, arguments.strict_baseline});
  if (!baseline) return code;
  const ExitCode changed =
      show_changes(changes(*baseline, baseline_of(*record)), arguments, terminal);
  return code == ExitCode::held ? changed : code;
}

}  // namespace plumbline
