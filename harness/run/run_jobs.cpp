// SPDX-License-Identifier: MIT
// Jobs on worker threads: cases in the order of the plan, and among them the failures that are to
// be made small.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include "harness/judge/code_coverage.h"
#include "harness/launch/interrupt.h"
#include "harness/run/counterexample.h"
#include "harness/run/run.h"
#include "harness/run/triage.h"
#include "oracles/exact/parallel.h"

namespace plumbline {
namespace {

// Cases above this many multiply-accumulates get all threads to themselves instead of sharing the
// machine.
constexpr double kLargeWork = 4e9;

class Jobs {
 public:
  Jobs(const std::vector<Job>& jobs, const RunOptions& options, Observer& observer, bool explains)
      : jobs_(jobs),
        options_(options),
        observer_(observer),
        explains_(explains),
        triage_(jobs),
        done_(jobs.size()) {}

  JobResults run() {
    std::vector<std::size_t> small, large;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      (needs_all_threads(jobs_[i]) ? large : small).push_back(i);
    on_threads(options_.jobs, [&] { work(small, /*threads=*/1); });
    next_ = 0;
    work(large, options_.jobs);
    // What Ctrl-C kept from ending hides no failure behind it.
    decide(triage_.close());
    work({}, options_.jobs);
    return results();
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  // A failure that is being made small.
  struct Explanation {
    std::size_t job;
    bool begun = false, told = false;
    std::optional<Explained> result = {};
  };

  // Another thread may go on while work() runs. A thread that waits for all work to end is notified
  // when work() returns or throws.
  template <typename Work>
  auto unlocked(Lock& lock, const Work& work) {
    struct Relock {
      Jobs& jobs;
      Lock& lock;

      Relock(Jobs& all, Lock& held) : jobs(all), lock(held) {
        ++jobs.at_work_;
        lock.unlock();
      }

      ~Relock() {
        lock.lock();
        --jobs.at_work_;
        jobs.changed_.notify_all();
      }
    } relock(*this, lock);

    return work();
  }

  // One worker: explanations first, then the next case of the queue, until nothing is left and no
  // worker is busy that could leave more.
  void work(const std::vector<std::size_t>& queue, int threads) {
    RunOptions alone = options_;
    alone.jobs = threads;
    alone.runner.coverage = nullptr;
    RunnerOptions runner_options = options_.runner;
    runner_options.threads = threads;
    runner_options.give_up = &stop_.raised();
    CaseRunner runner(runner_options);
    Lock lock(mutex_);
    for (;;) {
      const auto waiting = std::ranges::find(explanations_, false, &Explanation::begun);
      if (waiting != explanations_.end()) {
        Explanation& next = *waiting;
        next.begun = true;
        const Job& job = jobs_[next.job];
        if (options_.shrink_budget > 0) observer_.shrinking(job.test_case);
        next.result = unlocked(lock, [&] { return explain_small(job, *done_[next.job], alone); });
        tell_explained();
      } else if (next_ < queue.size() && !ends()) {
        const std::size_t i = queue[next_++];
        std::optional<CaseRecord> record =
            unlocked(lock, [&] { return runner.run(jobs_[i].test_case, jobs_[i].target); });
        if (!stopped_) end(i, std::move(record));
      } else if (at_work_ > 0) {
        changed_.wait(lock);
      } else {
        return;
      }
    }
  }

  bool ends() {
    ends_ = ends_ || interrupted() || stopped_ || (options_.enough && options_.enough());
    return ends_;
  }

  void end(std::size_t i, std::optional<CaseRecord> record) {
    if (record) {
      record->position = jobs_[i].position;
      if (options_.runner.coverage != nullptr)
        record->code_parts = options_.runner.coverage->growth(record->kernel, record->device);
      const bool failed = record->verdict == Verdict::fail;
      if (failed && explains_ && triage_.has_enough_of(*record)) keep_counts(*record);
      observer_.finished(*record, ++finished_, static_cast<std::int64_t>(jobs_.size()));
      failures_ += failed;
      done_[i] = std::move(record);
    }
    if (!explains_) return;
    decide(triage_.ended(i, done_[i] ? &*done_[i] : nullptr));
    if (options_.max_failures == 0 || failures_ < options_.max_failures) return;
    stopped_ = true;
    stop_.raise();
    decide(triage_.close());
  }

  void decide(const Triage::Decision& decision) {
    if (!explains_) return;
    for (const std::size_t i : decision.count) keep_counts(*done_[i]);
    for (const std::size_t i : decision.explain) explanations_.push_back({i});
    if (!decision.explain.empty()) changed_.notify_all();
  }

  // Those of a kernel are saved and told in the order of its cases: names of files depend on what
  // is there.
  void tell_explained() {
    std::set<const Manifest*> unfinished;
    for (Explanation& one : explanations_) {
      const Manifest* kernel = jobs_[one.job].test_case.kernel;
      if (!one.result) unfinished.insert(kernel);
      if (one.told || unfinished.contains(kernel)) continue;
      one.told = true;
      save_explained(*one.result, options_);
      observer_.explained(one.result->card);
    }
  }

  JobResults results() {
    JobResults results;
    for (std::optional<CaseRecord>& record : done_) {
      if (record) results.cases.push_back(*std::move(record));
    }
    std::ranges::sort(explanations_, {}, &Explanation::job);
    for (Explanation& one : explanations_)
      results.counterexamples.push_back(std::move(one.result->card));
    results.stopped = stopped_;
    return results;
  }

  const std::vector<Job>& jobs_;
  const RunOptions& options_;
  Observer& observer_;
  const bool explains_;
  StopFlag stop_;  // gives up the cases at work, not the explanations

  std::mutex mutex_;  // of all below, and of the observer
  std::condition_variable changed_;
  int at_work_ = 0;
  std::size_t next_ = 0;  // of the queue
  bool ends_ = false, stopped_ = false;
  std::int64_t finished_ = 0, failures_ = 0;
  Triage triage_;
  std::vector<std::optional<CaseRecord>> done_;
  std::deque<Explanation> explanations_;  // in the order of decisions
};

}  // namespace

bool needs_all_threads(const Job& job) {
  return job.test_case.kernel->operation->work(job.test_case.problem) > kLargeWork;
}

std::vector<CaseRecord> run_jobs(const std::vector<Job>& jobs, const RunOptions& options,
                                 Observer& observer) {
  return Jobs(jobs, options, observer, /*explains=*/false).run().cases;
}

JobResults run_and_explain(const std::vector<Job>& jobs, const RunOptions& options,
                           Observer& observer) {
  return Jobs(jobs, options, observer, /*explains=*/true).run();
}

}  // namespace plumbline
