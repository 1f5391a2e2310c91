// SPDX-License-Identifier: MIT
// The main path: from manifests to a record, in the ten steps of docs/architecture.md. verify calls
// run(); fuzz and replay use the same pieces.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/plan/plan.h"
#include "harness/judge/case_runner.h"
#include "harness/launch/target.h"
#include "harness/run/filter.h"
#include "harness/run/shard.h"
#include "kernels/registry.h"
#include "reports/record/record.h"

namespace plumbline {

// A case on a target: the unit of work.
struct Job {
  Case test_case;
  Target target;
  std::int64_t position = 0;  // in the whole plan, also where only a part of it runs
};

struct RunOptions {
  Profile profile = Profile::standard;
  std::uint64_t seed = 1;
  On on = On::automatic;
  std::optional<int> sm;  // only this chip on the emulator
  int jobs = 1;           // worker threads
  std::optional<Shard> shard;
  std::optional<Filter> filter;
  std::vector<Case> only_cases;  // in place of the plan and the corpus; for --failed
  RunnerOptions runner;
  std::string corpus_folder;   // replayed first, counterexamples saved here; empty for neither
  bool replays_corpus = true;  // else they are only saved there
  // Else it is what earlier runs left: what no longer fits a manifest is left out with a line.
  bool corpus_is_committed = true;
  // A part of the same run that ended early: its cases that passed are taken over.
  const RunRecord* earlier = nullptr;
  bool probe = true;        // find out the kernels' arithmetic and compare it with their contracts
  int shrink_budget = 600;  // tries per counterexample; 0 leaves failures as found
  // No try begins later than that, so that a failure of slow cases is reported soon as well. (One try
  // of a case of 65,573 rows takes half a second.)
  std::chrono::seconds shrink_time{15};
  std::int64_t max_failures = 0;  // the run ends with so many failing cases; 0: with its plan
  // Asked before every case, from any thread: none begins once it says yes (a time box). Empty: no.
  std::function<bool()> enough;
};

// What a run tells while it goes. Called from one thread at a time.
class Observer {
 public:
  virtual ~Observer() = default;

  // The record without cases: kernels, devices, how many cases are planned; and these.
  virtual void planned(const RunRecord& so_far, const std::vector<Job>& jobs) {
    (void)so_far, (void)jobs;
  }

  // Cases that passed in RunOptions::earlier, and so do not run: once, before any runs.
  virtual void taken_over(const std::vector<CaseRecord>& cases) { (void)cases; }

  virtual void finished(const CaseRecord& record, std::int64_t done, std::int64_t total) {
    (void)record, (void)done, (void)total;
  }

  virtual void shrinking(const Case& failing) { (void)failing; }

  // A failure was made small and explained, while the rest of the run goes on.
  virtual void explained(const Counterexample& card) { (void)card; }

  virtual void probing() {}
};

// Runs the kernels. The record is complete up to an interrupt or RunOptions::max_failures. Errors:
// a broken corpus file, a GPU asked for and not there.
Result<RunRecord> run(const Registry& registry, const std::vector<const Manifest*>& kernels,
                      const RunOptions& options, Observer& observer);

// Steps 1 and 2: every case of every kernel on each of its targets, or this shard's part of them;
// those that need the whole machine come last. The record learns of the kernels, the devices, and
// how many cases there are.
Result<std::vector<Job>> plan_jobs(const Registry& registry,
                                   const std::vector<const Manifest*>& kernels,
                                   const std::optional<Target>& gpu, const RunOptions& options,
                                   RunRecord& record);

// KernelRecord::not_run: the jobs of each kernel that have no case in the record.
void count_not_run(const std::vector<Job>& jobs, RunRecord& record);

// Whether a job runs alone, with all threads, when those that share the machine are done.
bool needs_all_threads(const Job& job);

// Steps 3 to 8 for a list of jobs on worker threads: records in job order, not in the order in
// which jobs finished. Stops early on Ctrl-C and at RunOptions::enough; jobs that did not run are
// missing.
std::vector<CaseRecord> run_jobs(const std::vector<Job>& jobs, const RunOptions& options,
                                 Observer& observer);

struct JobResults {
  std::vector<CaseRecord> cases;
  std::vector<Counterexample> counterexamples;
  bool stopped = false;  // by RunOptions::max_failures
};

// The same, and step 9 meanwhile: the first failure of each kernel and claim is made small,
// explained and told as soon as all cases of the kernel before it have ended. Stops early with
// RunOptions::max_failures too. What it gives is the same for any number of threads, unless it
// stops early.
JobResults run_and_explain(const std::vector<Job>& jobs, const RunOptions& options,
                           Observer& observer);

}  // namespace plumbline
