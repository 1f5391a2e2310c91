// SPDX-License-Identifier: MIT
// plumbline fuzz: random cases until the time is up. Seeds count up from --seed, so `--seed S`
// alone repeats the search.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/interrupt.h"

namespace plumbline {
namespace {

constexpr int kBatch = 16;  // cases between two looks at the clock

}  // namespace

ExitCode fuzz(const Arguments& arguments, Terminal& terminal) {
  const Result<Registry> registry = open_registry(arguments);
  if (!registry) return report_error(registry.error());
  const auto kernels = registry->match(arguments.names);
  if (!kernels) return report_error(kernels.error());
  Result<RunOptions> options = run_options(arguments, *kernels);
  if (!options) return report_error(options.error());
  const std::uint64_t first_seed = arguments.seed ? *arguments.seed : std::random_device{}();
  options->seed = first_seed;
  const std::string id = run_id(arguments, *kernels, first_seed);
  Result<RunFolder> folder = create_run_folder(arguments, id);
  if (!folder) return report_error(folder.error());

  RunRecord record;
  record.seed = first_seed;
  label_record(record, arguments, id);
  describe_environment(record);
  std::optional<Target> gpu;
  if (options->on != On::emulator) {
    const Result<Target> probed = probe_gpu();
    if (probed) gpu = *probed;
    if (!probed && options->on != On::automatic) return report_error(probed.error());
  }
  std::vector<std::pair<const Manifest*, std::vector<Target>>> subjects;
  for (const Manifest* kernel : *kernels) {
    std::string skipped;
    std::vector<Target> targets = kernel_targets(*kernel, options->on, options->sm, gpu, skipped);
    record.kernels.push_back(describe_kernel(*kernel, targets));
    if (targets.empty()) {
      record.kernels.back().reasons.push_back(skipped);
      continue;
    }
    for (const Target& target : targets) {
      if (std::find(record.devices.begin(), record.devices.end(), target.name()) ==
          record.devices.end()) {
        record.devices.push_back(target.name());
      }
    }
    subjects.emplace_back(kernel, std::move(targets));
  }
  if (subjects.empty()) {
    print_record(record, arguments, terminal);
    return ExitCode::nothing_selected;
  }
  if (arguments.format == OutputFormat::human) {
    terminal.print(fmt::format("fuzz: seed 0x{:x}, {:.0f} s", first_seed, arguments.seconds));
  }

  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  // Lines and record.jsonl as cases finish; the status line is ours.
  Arguments silent = arguments;
  Console console(silent, terminal, *folder, id);
  if (options->shard) record.shard = {options->shard->index, options->shard->count, 0};
  folder->begin(record);
  std::uint64_t seed = first_seed;
  std::map<std::string, int> failures;  // by kernel and claim
  while (elapsed() < arguments.seconds && !interrupted()) {
    std::vector<Job> jobs;
    for (int i = 0; i < kBatch; ++i, ++seed) {
      const auto& [kernel, targets] = subjects[seed % subjects.size()];
      Case random = random_case(*kernel, seed);
      if (options->shard && !options->shard->holds(random)) continue;
      if (options->filter && !options->filter->holds(random)) continue;
      jobs.push_back({std::move(random), targets[(seed / subjects.size()) % targets.size()],
                      static_cast<std::int64_t>(seed - first_seed)});
    }
    for (CaseRecord& result : run_jobs(jobs, *options, console)) {
      if (result.verdict == Verdict::fail) {
        const std::string kind = fmt::format("{}/{}", result.kernel, name(broken_claim(result)));
        if (++failures[kind] <= kExplainedPerKernel) {
          const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const Job& j) {
            return j.test_case.text() == result.text;
          });
          record.counterexamples.push_back(make_counterexample(*job, *options, console));
        }
      }
      record.cases.push_back(std::move(result));
    }
    double worst = 0;
    for (const CaseRecord& c : record.cases) {
      for (const OutputRecord& output : c.outputs)
        worst = std::max(worst, output.verdict.worst_share);
    }
    terminal.status(fmt::format(
        "  {:.0f} s   seed 0x{:x}   {} cases   worst {:.0f} % of bound   {} failed", elapsed(),
        seed, record.cases.size(), 100 * worst, record.counterexamples.size()));
  }
  record.planned = static_cast<std::int64_t>(record.cases.size());
  record.interrupted = interrupted();
  record.elapsed_ms = 1000 * elapsed();
  summarize(record);
  folder->link_as_latest();
  return end_run(record, *folder, arguments, terminal);
}

}  // namespace plumbline
