// SPDX-License-Identifier: MIT
#include "harness/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "fuzz/corpus.h"
#include "fuzz/shrink.h"
#include "harness/code_coverage.h"
#include "harness/evidence.h"
#include "harness/explain.h"
#include "harness/figures.h"
#include "harness/interrupt.h"
#include "harness/probe.h"
#include "harness/workers.h"
#include "oracles/base/hash.h"

namespace plumbline {
namespace {

// Cases above this many multiply-accumulates get all threads to themselves instead of sharing the
// machine.
constexpr double kLargeWork = 4e9;

// Step 2 for one kernel: corpus first, then the plan; filtered.
Result<std::vector<Case>> select_cases(const Registry& registry, const Manifest& kernel,
                                       const RunOptions& options) {
  std::vector<Case> cases;
  if (!options.corpus_folder.empty()) {
    Result<std::vector<CaseFile>> corpus = read_corpus(options.corpus_folder, kernel, registry);
    if (!corpus) return corpus.error();
    for (CaseFile& file : *corpus) {
      file.test_case.origin = "corpus";
      cases.push_back(std::move(file.test_case));
    }
  }
  PlanOptions plan;
  plan.profile = options.profile;
  plan.seed = options.seed;
  for (Case& planned : plan_cases(kernel, plan)) cases.push_back(std::move(planned));
  std::erase_if(cases, [&](const Case& c) {
    if (options.filter && !options.filter->holds(c)) return true;
    const std::vector<std::string>& only = options.only_cases;
    return !only.empty() && std::find(only.begin(), only.end(), c.text()) == only.end();
  });
  return cases;
}

// The one-line summary of a kernel's operand formats: "a bf16, b bf16, d {out}".
std::string formats_text(const Manifest& kernel) {
  std::string text;
  for (const auto& [tensor, format_name] : kernel.formats) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", tensor, format_name);
  }
  return text;
}

std::string hash_of_file(const std::string& path) {
  if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
    std::string text;
    char buffer[65536];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
      text.append(buffer, n);
    std::fclose(file);
    return fmt::format("{:016x}", fingerprint(text));
  }
  return "";
}

// A small case fits many simple faults; the larger one it came from tells them apart.
void narrow_down(Counterexample& card, const Job& failed, CaseRunner& runner) {
  if (card.faults.size() < 2) return;
  const Result<std::unique_ptr<Examined>> original =
      runner.examine(failed.test_case, failed.target);
  if (!original) return;
  const std::vector<std::string> possible = explain_failure(failed.test_case, **original).faults;
  std::vector<std::string> left;
  for (const std::string& fault : possible) {
    if (std::find(card.faults.begin(), card.faults.end(), fault) != card.faults.end())
      left.push_back(fault);
  }
  if (left.empty() || left.size() == card.faults.size()) return;
  card.faults = left;
  card.explanation.push_back(
      fmt::format("on the case as found, {} of these fits: {}",
                  left.size() == 1 ? "only one" : fmt::format("{}", left.size()), left.front()));
}

}  // namespace

KernelRecord describe_kernel(const Manifest& kernel, const std::vector<Target>& targets) {
  KernelRecord record;
  record.name = kernel.name;
  record.summary = kernel.summary;
  record.operation = kernel.operation->name();
  record.formats = formats_text(kernel);
  const std::string folder = kernel.path.substr(0, kernel.path.rfind('/') + 1);
  if (!kernel.source.empty()) record.source_hash = hash_of_file(folder + kernel.source);
  for (const KnownFinding& known : kernel.known)
    record.known.push_back({known.says, known.reason, 0});
  Problem any(kernel.schema());
  for (const Target& target : targets) {
    const std::string sm = fmt::format("sm_{}", target.sm);
    if (const auto build = best_build(kernel, target.sm))
      record.ptx_hashes[sm] = hash_of_file(kernel.ptx_path(*build));
    record.contracts[sm] = kernel.describe_contract(any, target.sm);
  }
  return record;
}

std::vector<CaseRecord> run_jobs(const std::vector<Job>& jobs, const RunOptions& options,
                                 Observer& observer) {
  std::vector<std::optional<CaseRecord>> done(jobs.size());
  std::mutex report;
  std::int64_t finished = 0;
  const auto keep = [&](std::size_t i, CaseRecord record) {
    const std::lock_guard lock(report);
    record.position = jobs[i].position;
    observer.finished(record, ++finished, static_cast<std::int64_t>(jobs.size()));
    done[i] = std::move(record);
  };
  const auto is_large = [&](const Job& job) {
    return job.target.on_gpu ||
           job.test_case.kernel->operation->work(job.test_case.problem) > kLargeWork;
  };

  // Small cases: one per worker, one thread each.
  for_each_on_workers(jobs.size(), options.jobs, [&] {
    RunnerOptions runner_options = options.runner;
    runner_options.threads = 1;
    return [&, runner = CaseRunner(runner_options)](std::size_t i) mutable {
      if (!is_large(jobs[i])) keep(i, runner.run(jobs[i].test_case, jobs[i].target));
    };
  });

  // Large ones, and those that share the GPU: one after the other with all threads.
  RunnerOptions runner_options = options.runner;
  runner_options.threads = options.jobs;
  CaseRunner runner(runner_options);
  for (std::size_t i = 0; i < jobs.size() && !interrupted(); ++i) {
    if (is_large(jobs[i])) keep(i, runner.run(jobs[i].test_case, jobs[i].target));
  }

  std::vector<CaseRecord> records;
  for (std::optional<CaseRecord>& record : done) {
    if (record) records.push_back(*std::move(record));
  }
  return records;
}

Counterexample make_counterexample(const Job& failed, const RunOptions& options,
                                   Observer& observer) {
  RunnerOptions runner_options = options.runner;
  runner_options.threads = options.jobs;
  runner_options.all_relations = true;
  CaseRunner runner(runner_options);
  const Claim claim = broken_claim(runner.run(failed.test_case, failed.target));
  const auto fails = [&](const Case& candidate) {
    if (candidate.kernel->excluded(candidate.problem)) return false;
    const CaseRecord record = runner.run(candidate, failed.target);
    return record.verdict == Verdict::fail && broken_claim(record) == claim;
  };
  ShrinkResult small;
  small.smallest = failed.test_case;
  if (options.shrink_budget > 0) {
    observer.shrinking(failed.test_case);
    small = shrink(failed.test_case, fails, options.shrink_budget, interrupted);
  }
  const Result<std::unique_ptr<Examined>> examined = runner.examine(small.smallest, failed.target);
  Counterexample card;
  card.device = failed.target.name();
  if (examined) {
    card = explain_failure(small.smallest, **examined);
    narrow_down(card, failed, runner);
  } else {
    card.kernel = failed.test_case.kernel->name;
    card.headline = examined.error().text();
  }
  card.original = failed.test_case.text();
  card.text = small.smallest.text();
  card.steps = small.steps;
  card.tried = small.tried;
  card.value_class = failed.test_case.recipe.value_class;
  if (options.corpus_folder.empty()) return card;

  CaseFile file;
  file.test_case = small.smallest;
  file.comments.push_back(
      fmt::format("{}: {}", card.claim, examined ? (*examined)->record.reason : card.headline));
  if (card.steps > 0) file.comments.push_back(fmt::format("shrunk from {}", card.original));
  file.notes.emplace_back("note", "failed on " + failed.target.name());
  const Result<std::string> saved = save_case(options.corpus_folder, file);
  if (saved) {
    card.case_file = *saved;
  } else {
    card.explanation.push_back("The case could not be saved: " + saved.error().text());
  }
  return card;
}

namespace {

std::optional<Portrait> portray(const Job& job, const RunOptions& options) {
  RunnerOptions runner_options = options.runner;
  runner_options.threads = options.jobs;
  runner_options.repeat = 1;
  CaseRunner runner(runner_options);
  const Result<std::unique_ptr<Examined>> examined = runner.examine(job.test_case, job.target);
  if (!examined) return {};
  return portrait_of(job.test_case, **examined, options.jobs);
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

}  // namespace

Result<RunRecord> run(const Registry& registry, const std::vector<const Manifest*>& kernels,
                      const RunOptions& options, Observer& observer) {
  RunRecord record;
  record.seed = options.seed;
  describe_environment(record);

  // Steps 1 and 2: which cases, on which targets.
  std::optional<Target> gpu;
  if (options.on != On::emulator) {
    Result<Target> probed = probe_gpu();
    if (probed) {
      gpu = *probed;
    } else if (options.on != On::automatic) {
      return probed.error();
    }
  }
  std::vector<Job> jobs;
  std::int64_t planned = 0;
  for (const Manifest* kernel : kernels) {
    std::string skipped;
    const std::vector<Target> targets =
        kernel_targets(*kernel, options.on, options.sm, gpu, skipped);
    record.kernels.push_back(describe_kernel(*kernel, targets));
    if (targets.empty()) {
      record.kernels.back().reasons.push_back(skipped);
      continue;
    }
    const Result<std::vector<Case>> cases = select_cases(registry, *kernel, options);
    if (!cases) return cases.error();
    for (const Case& test_case : *cases) {
      const bool mine = !options.shard || options.shard->holds(test_case);
      for (const Target& target : targets) {
        if (mine) jobs.push_back({test_case, target, planned});
        ++planned;
      }
    }
    for (const Target& target : targets) {
      if (std::find(record.devices.begin(), record.devices.end(), target.name()) ==
          record.devices.end()) {
        record.devices.push_back(target.name());
      }
    }
  }
  record.planned = static_cast<std::int64_t>(jobs.size());
  if (options.shard) record.shard = {options.shard->index, options.shard->count, planned};
  observer.planned(record);

  // Steps 3 to 8. What a part of the plan leaves out says nothing.
  CodeCoverage coverage;
  RunOptions listening = options;
  const bool whole = !options.shard && !options.filter && options.only_cases.empty();
  if (whole) listening.runner.coverage = &coverage;
  record.cases = run_jobs(jobs, listening, observer);
  record.interrupted = interrupted();
  summarize(record);
  if (whole && !record.interrupted) {
    for (KernelRecord& kernel : record.kernels) kernel.code = coverage.of(kernel.name);
  }

  // Step 9: the first failure of each kernel and claim, small and in words.
  const auto job_of = [&](const CaseRecord& c) -> const Job& {
    return *std::find_if(jobs.begin(), jobs.end(),
                         [&](const Job& job) { return job.position == c.position; });
  };
  for (const CaseRecord* failed : failures_to_explain(record)) {
    if (interrupted()) break;
    record.counterexamples.push_back(make_counterexample(job_of(*failed), options, observer));
  }
  for (const CaseRecord* c : cases_to_portray(record)) {
    if (interrupted()) break;
    if (auto portrait = portray(job_of(*c), options)) record.portraits.push_back(*portrait);
  }

  // Evidence: what passed must also have proved something, and be what its contract says.
  if (options.probe && !record.interrupted) {
    observer.probing();
    for_each_on_workers(kernels.size(), gpu ? 1 : options.jobs, [&] {
      RunnerOptions runner_options = options.runner;
      runner_options.threads = 1;
      runner_options.repeat = 1;
      return [&, runner = CaseRunner(runner_options)](std::size_t i) mutable {
        probe_kernel(*kernels[i], gpu, options, runner, record.kernels[i]);
      };
    });
    record.interrupted = interrupted();
  }
  if (!record.interrupted) weigh_evidence(record);
  for (const KernelRecord& kernel : record.kernels) {
    observer.kernel_done(kernel);
  }
  return record;  // step 10, writing, is reports/
}

}  // namespace plumbline
