// SPDX-License-Identifier: MIT
#include "harness/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "fuzz/case_file/corpus.h"
#include "fuzz/plan/domain_fit.h"
#include "harness/explain/probe.h"
#include "harness/judge/case_runner.h"
#include "harness/judge/code_coverage.h"
#include "harness/judge/code_sizes.h"
#include "harness/judge/figures.h"
#include "harness/judge/order_of_additions.h"
#include "harness/judge/without_exceptions.h"
#include "harness/launch/interrupt.h"
#include "harness/run/describe.h"
#include "harness/run/evidence.h"
#include "harness/run/workers.h"
#include "oracles/base/hash.h"
#include "reports/count_text.h"
#include "reports/record/code_parts.h"

namespace plumbline {
namespace {

// Step 2 for one kernel: corpus first, then the plan; filtered.
Result<std::vector<Case>> select_cases(const Registry& registry, const Manifest& kernel,
                                       const RunOptions& options, KernelRecord& record) {
  std::vector<Case> cases;
  if (!options.only_cases.empty()) {
    for (const Case& one : options.only_cases)
      if (one.kernel == &kernel && (!options.filter || options.filter->holds(one)))
        cases.push_back(one);
    return cases;
  }
  if (!options.corpus_folder.empty() && options.replays_corpus) {
    Result<CorpusCases> corpus =
        read_corpus(options.corpus_folder, kernel, registry, options.corpus_is_committed);
    if (!corpus) return corpus.error();
    if (!options.corpus_is_committed) {
      std::erase_if(corpus->files, [&](const CaseFile& file) {
        const Status accepted = check_domain(file.test_case);
        if (!accepted) corpus->unfit.push_back(accepted.error());
        return !accepted;
      });
    }
    if (!corpus->unfit.empty())
      record.left_out = fmt::format(
          "{} in {}/{} {} this manifest no longer and did not run; the first: {}",
          counted(std::ssize(corpus->unfit), "saved case"), options.corpus_folder, kernel.name,
          corpus->unfit.size() == 1 ? "fits" : "fit", corpus->unfit.front().text());
    for (CaseFile& file : corpus->files) {
      file.test_case.origin = "corpus";
      cases.push_back(std::move(file.test_case));
    }
  }
  PlanOptions plan;
  plan.profile = options.profile;
  plan.seed = options.seed;
  plan.code_sizes = code_sizes(kernel, options.runner.image ? options.runner.image : read_image);
  for (Case& planned : plan_cases(kernel, plan)) cases.push_back(std::move(planned));
  std::erase_if(cases, [&](const Case& c) { return options.filter && !options.filter->holds(c); });
  return cases;
}

// The cases of these jobs that passed in an earlier part of the run. What a corpus has got since
// moves positions, so the texts decide.
std::vector<CaseRecord> passed_before(const std::vector<Job>& jobs, const RunRecord& earlier) {
  std::map<std::pair<std::string_view, std::string_view>, const CaseRecord*> passed;
  for (const CaseRecord& c : earlier.cases)
    if (c.verdict == Verdict::pass) passed[{c.text, c.device}] = &c;
  std::vector<CaseRecord> cases;
  for (const Job& job : jobs) {
    const std::string text = job.test_case.text(), device = job.target.name();
    const auto found = passed.find({text, device});
    if (found == passed.end()) continue;
    CaseRecord& c = cases.emplace_back(*found->second);
    c.position = job.position;
    c.origin = job.test_case.origin;
  }
  return cases;
}

// Steps 3 to 9 for the jobs that no earlier part of the run has done.
JobResults run_what_is_left(const std::vector<Job>& jobs, const RunOptions& options,
                            Observer& observer) {
  if (options.earlier == nullptr) return run_and_explain(jobs, options, observer);
  std::vector<CaseRecord> before = passed_before(jobs, *options.earlier);
  observer.taken_over(before);
  std::set<std::int64_t> done;
  for (const CaseRecord& c : before) done.insert(c.position);
  std::vector<Job> left;
  std::ranges::copy_if(jobs, std::back_inserter(left),
                       [&](const Job& job) { return !done.contains(job.position); });
  JobResults results = run_and_explain(left, options, observer);
  std::ranges::move(before, std::back_inserter(results.cases));
  std::ranges::stable_sort(results.cases, {}, &CaseRecord::position);
  return results;
}

// What an earlier part of the run reached of the kernels' code counts for this one.
void keep_reached_code(const RunRecord& earlier, RunRecord& record) {
  for (KernelRecord& kernel : record.kernels) {
    const auto before = std::ranges::find(earlier.kernels, kernel.name, &KernelRecord::name);
    if (before != earlier.kernels.end()) kernel.code_parts = before->code_parts;
  }
}

// Steps 3 to 9 for all jobs, and which code they reached. What a part of the plan leaves out says
// nothing about the kernel.
void run_cases(const std::vector<Job>& jobs, const RunOptions& options, Observer& observer,
               RunRecord& record) {
  CodeCoverage coverage;
  RunOptions with_coverage = options;
  const bool whole = !options.filter && options.only_cases.empty();
  if (whole) with_coverage.runner.coverage = &coverage;
  JobResults results = run_what_is_left(jobs, with_coverage, observer);
  record.cases = std::move(results.cases);
  record.counterexamples = std::move(results.counterexamples);
  record.interrupted = interrupted();
  if (results.stopped) record.stopped_after = options.max_failures;
  summarize(record);
  count_not_run(jobs, record);
  if (!whole) return;
  for (KernelRecord& kernel : record.kernels) {
    add_parts(coverage.of(kernel.name), kernel.code_parts);
    if (options.shard || kernel.not_run > 0) continue;
    for (const auto& [device, parts] : kernel.code_parts) kernel.code[device] = code_of(parts);
    // --resume takes over the parts, with the cases.
    if (!record.ended_early()) kernel.code_parts.clear();
  }
}

std::optional<ErrorMap> error_map_of(const Job& job, const RunOptions& options) {
  RunnerOptions runner_options = options.runner;
  runner_options.threads = options.jobs;
  runner_options.repeat = 1;
  runner_options.keep_writers = true;
  CaseRunner runner(runner_options);
  const Result<std::unique_ptr<Examined>> examined = runner.examine(job.test_case, job.target);
  if (!examined) return {};
  Result<std::optional<ErrorMap>> map = without_exceptions(
      job.test_case.text(), *options.runner.give_up, [&]() -> Result<std::optional<ErrorMap>> {
        return error_map_of_case(job.test_case, **examined, options.jobs);
      });
  return map ? *std::move(map) : std::nullopt;
}

// Where in its output a case errs: the failures that were explained, and of a run that came to its
// end the case closest to its bound.
void draw_error_maps(const std::vector<Job>& jobs, const RunOptions& options, RunRecord& record) {
  const auto job_of = [&](const CaseRecord& c) -> const Job& {
    return *std::find_if(jobs.begin(), jobs.end(),
                         [&](const Job& job) { return job.position == c.position; });
  };
  for (const CaseRecord* c : cases_with_error_maps(record)) {
    if (interrupted()) break;
    if (record.ended_early() && c->verdict != Verdict::fail) continue;
    if (auto error_map = error_map_of(job_of(*c), options)) record.error_maps.push_back(*error_map);
  }
}

void probe_kernel(const Manifest& kernel, const std::optional<Target>& gpu,
                  const RunOptions& options, CaseRunner& runner, KernelRecord& record) {
  std::string skipped;
  for (const Target& target : kernel_targets(kernel, options.on, options.sm, gpu, skipped)) {
    const Result<std::vector<ProbedArithmetic>> probed = probe_arithmetic(kernel, target, runner);
    if (!probed || probed->empty()) continue;  // what could not run shows in the cases
    record.arithmetic[target.name()] = words_of(*probed);
    if (!all_agree(*probed))
      record.reasons.push_back(
          fmt::format("probes on {} find {}", target.name(), words_of(*probed)));
  }
}

// Of a kernel whose contract leaves the order of additions open: how the largest of its cases with
// normal values was added up on each device. It needs no probes, and outputs may have any format.
void name_order(const Manifest& kernel, const std::vector<Job>& jobs, CaseRunner& runner,
                const RunRecord& run, KernelRecord& record) {
  constexpr double kMostWork = 1e8;
  std::map<std::string, std::pair<double, const Job*>> largest;
  for (const CaseRecord& c : run.cases) {
    if (c.kernel != kernel.name || c.verdict != Verdict::pass || c.value_class != "normal")
      continue;
    const auto job = std::ranges::find(jobs, c.position, &Job::position);
    if (job == jobs.end()) continue;
    const double work = kernel.operation->work(job->test_case.problem);
    auto& [most, best] = largest[c.device];
    if (work <= kMostWork && work > most) std::tie(most, best) = std::pair(work, &*job);
  }
  for (const auto& [device, choice] : largest) {
    if (choice.second == nullptr) continue;
    Result<std::unique_ptr<Examined>> examined =
        runner.examine(choice.second->test_case, choice.second->target);
    if (!examined) continue;
    const Result<std::string> words =
        without_exceptions(choice.second->test_case.text(), interrupt_flag(),
                           [&]() -> Result<std::string> { return name_orders(**examined, 1); });
    if (!words || words->empty()) continue;
    std::string& text = record.arithmetic[device];
    text += (text.empty() ? "" : "; ") + *words;
  }
}

bool has_open_order(const Manifest& kernel) {
  if (!kernel.operation->terms().empty()) return false;
  return kernel.promised.contract.order_is_open() ||
         std::ranges::any_of(kernel.promised_for, [](const auto& promised) {
           return promised.second.contract.order_is_open();
         });
}

// How a kernel adds that the device stopped in a case is left out: finding out may take until its
// loops are given up.
bool may_not_end(const KernelRecord& kernel, const RunRecord& record) {
  return kernel.failed > 0 && std::ranges::any_of(record.cases, [&](const CaseRecord& c) {
           return c.kernel == kernel.name && c.verdict == Verdict::fail && !c.findings.empty();
         });
}

// Step 10 begins: how the kernels really add, beside what their contracts say.
void probe_kernels(const std::vector<const Manifest*>& kernels, const std::vector<Job>& jobs,
                   const std::optional<Target>& gpu, const RunOptions& options, Observer& observer,
                   RunRecord& record, std::vector<char>& probed) {
  observer.probing();
  for_each_on_workers(kernels.size(), options.jobs, [&] {
    RunnerOptions runner_options = options.runner;
    runner_options.threads = 1;
    runner_options.repeat = 1;
    return [&, runner = CaseRunner(runner_options)](std::size_t i) mutable {
      if (may_not_end(record.kernels[i], record)) return;
      probe_kernel(*kernels[i], gpu, options, runner, record.kernels[i]);
      if (has_open_order(*kernels[i]))
        name_order(*kernels[i], jobs, runner, record, record.kernels[i]);
      if (!interrupted()) probed[i] = true;
    };
  });
  record.interrupted = interrupted();
}

// A kernel whose cases all ran has the verdict that they give, though the run ended before its
// probes did.
void note_left_out_probes(const std::vector<char>& probed, RunRecord& record) {
  for (std::size_t i = 0; i < record.kernels.size(); ++i) {
    KernelRecord& kernel = record.kernels[i];
    if (probed[i] || kernel.not_run > 0 || kernel.cases == kernel.skipped || kernel.failed > 0)
      continue;
    kernel.left_out +=
        fmt::format("{}all its cases ran, but the run ended before probes could show how it adds",
                    kernel.left_out.empty() ? "" : "; ");
  }
}

}  // namespace

Result<std::vector<Job>> plan_jobs(const Registry& registry,
                                   const std::vector<const Manifest*>& kernels,
                                   const std::optional<Target>& gpu, const RunOptions& options,
                                   RunRecord& record) {
  std::vector<Job> jobs;
  for (const Manifest* kernel : kernels) {
    std::string skipped;
    const std::vector<Target> targets =
        kernel_targets(*kernel, options.on, options.sm, gpu, skipped);
    add_kernel(record, *kernel, targets, skipped);
    if (targets.empty()) continue;
    const Result<std::vector<Case>> cases =
        select_cases(registry, *kernel, options, record.kernels.back());
    if (!cases) return cases.error();
    if (cases->empty() && !options.filter && options.only_cases.empty())
      record.kernels.back().reasons.push_back(domain_refusals(*kernel));
    for (const Case& test_case : *cases) {
      for (const Target& target : targets)
        jobs.push_back({test_case, target_for(test_case, target), 0});
    }
  }
  std::stable_partition(jobs.begin(), jobs.end(),
                        [](const Job& job) { return !needs_all_threads(job); });
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].position = static_cast<std::int64_t>(i);
  if (options.shard) {
    std::uint64_t plan_hash = 0;
    for (const Job& job : jobs) {
      plan_hash = fingerprint(
          fmt::format("{:x} {} {}", plan_hash, job.test_case.text(), job.target.name()));
    }
    record.shard = {options.shard->index, options.shard->count,
                    static_cast<std::int64_t>(jobs.size()), fmt::format("{:016x}", plan_hash)};
    std::erase_if(jobs, [&](const Job& job) { return !options.shard->holds(job.test_case); });
  }
  record.planned = static_cast<std::int64_t>(jobs.size());
  return jobs;
}

void count_not_run(const std::vector<Job>& jobs, RunRecord& record) {
  std::set<std::int64_t> ran;
  for (const CaseRecord& c : record.cases) ran.insert(c.position);
  for (const Job& job : jobs) {
    if (ran.contains(job.position)) continue;
    const std::string& kernel = job.test_case.kernel->name;
    ++std::ranges::find(record.kernels, kernel, &KernelRecord::name)->not_run;
  }
}

Result<RunRecord> run(const Registry& registry, const std::vector<const Manifest*>& kernels,
                      const RunOptions& options, Observer& observer) {
  RunRecord record;
  record.seed = options.seed;
  describe_environment(record);
  const Result<std::optional<Target>> gpu = find_gpu(options.on);
  if (!gpu) return gpu.error();
  const Result<std::vector<Job>> jobs = plan_jobs(registry, kernels, *gpu, options, record);
  if (!jobs) return jobs.error();
  if (options.earlier != nullptr) keep_reached_code(*options.earlier, record);
  observer.planned(record, *jobs);
  run_cases(*jobs, options, observer, record);
  draw_error_maps(*jobs, options, record);
  if (options.probe) {
    std::vector<char> probed(kernels.size(), 0);  // not bool: workers write side by side
    if (!record.ended_early())
      probe_kernels(kernels, *jobs, *gpu, options, observer, record, probed);
    if (record.ended_early()) note_left_out_probes(probed, record);
  }
  weigh_evidence(record);
  return record;  // writing it is reports/
}

}  // namespace plumbline
