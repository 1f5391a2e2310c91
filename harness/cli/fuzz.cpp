// SPDX-License-Identifier: MIT
// plumbline fuzz: search for worse until the time is up. Seeds count up from --seed, so `--seed S`
// alone repeats a search that starts from nothing.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <random>

#include "fuzz/plan/domain_fit.h"
#include "fuzz/plan/plan.h"
#include "fuzz/plan/search.h"
#include "harness/cli/fuzz_memory.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/explain/explain.h"
#include "harness/launch/interrupt.h"
#include "harness/run/counterexample.h"

namespace plumbline {
namespace {

constexpr int kBatch = 16;            // cases drawn before anything is learned from them
constexpr double kMoreToShrink = 10;  // seconds, for a failure that is found when time is over

// One kernel under search.
struct Subject {
  const Manifest* kernel;
  std::vector<Target> targets;
  Search search;  // learns in the order of jobs, so that a seed repeats it
  Search shown;   // learns as cases finish: what is new to it goes into the memory at once
  FuzzMemory memory;
};

// Forwards each result to the console, and then to a callback.
class WhenFinished : public Observer {
 public:
  WhenFinished(Observer& console, std::function<void(const CaseRecord&)> tell)
      : console_(console), tell_(std::move(tell)) {}

  void finished(const CaseRecord& record, std::int64_t done, std::int64_t total) override {
    console_.finished(record, done, total);
    tell_(record);
  }

 private:
  Observer& console_;
  std::function<void(const CaseRecord&)> tell_;
};

double share_of(const CaseRecord& record) {
  double share = 0;
  for (const OutputRecord& output : record.outputs)
    share = std::max(share, output.verdict.worst_share);
  return share;
}

// Whether a search would find anything in the kernel's domain.
bool has_cases(const Manifest& kernel) {
  constexpr std::uint64_t kTries = 3;
  for (std::uint64_t seed = 0; seed < kTries; ++seed) {
    if (!kernel.excluded(random_case(kernel, seed).problem)) return true;
  }
  return false;
}

class Fuzzer {
 public:
  Fuzzer(const Arguments& arguments, const RunOptions& options, Terminal& terminal,
         RunFolder& folder, const std::string& id)
      : arguments_(arguments),
        options_(options),
        terminal_(terminal),
        console_(arguments, terminal, folder, id),
        folder_(folder) {
    options_.runner.keep_reached = true;
    record_.seed = options.seed;
    label_record(record_, arguments, id);
    describe_environment(record_);
    if (options.shard) record_.shard = {options.shard->index, options.shard->count, 0};
    if (options.shard) position_ = options.shard->index - 1;
  }

  // Each kernel with its targets and what earlier searches remember of it.
  Status prepare(const Registry& registry, const std::vector<const Manifest*>& kernels) {
    const Result<std::optional<Target>> gpu = find_gpu(options_.on);
    if (!gpu) return gpu.error();
    for (const Manifest* kernel : kernels) {
      std::string skipped;
      std::vector<Target> targets =
          kernel_targets(*kernel, options_.on, options_.sm, *gpu, skipped);
      add_kernel(record_, *kernel, targets, skipped);
      if (targets.empty()) continue;
      if (!has_cases(*kernel)) {
        record_.kernels.back().reasons.push_back(domain_refusals(*kernel));
        continue;
      }
      Result<FuzzMemory> memory = FuzzMemory::open(arguments_.out + "/search", *kernel, registry);
      if (!memory) return memory.error();
      subjects_.push_back(
          {kernel, std::move(targets), Search(*kernel), Search(*kernel), *std::move(memory)});
    }
    return {};
  }

  bool empty() const { return subjects_.empty(); }

  // The record of lines begins: a search that is killed can be reported.
  void begin() { folder_.begin(record_); }

  // Runs again what earlier searches remember: a search goes on from there.
  void recall() {
    std::vector<Job> jobs;
    for (const Subject& subject : subjects_) {
      for (const Remembered& one : subject.memory.cases()) {
        if (!holds(one.test_case)) continue;
        const Target* same = target_named(subject, one.device);
        jobs.push_back(job_of(one.test_case, same ? *same : target_of(subject, one.test_case)));
      }
    }
    run(jobs, /*remembered=*/true);
  }

  void search(std::uint64_t first_seed) {
    for (std::uint64_t seed = first_seed; elapsed() < arguments_.seconds && !interrupted();) {
      std::vector<Job> jobs;
      for (int i = 0; i < kBatch; ++i, ++seed) {
        const Subject& subject = subjects_[seed % subjects_.size()];
        Case next = subject.search.next(seed);
        const Target& target = target_of(subject, next);
        if (holds(next)) jobs.push_back(job_of(std::move(next), target));
      }
      run(jobs, /*remembered=*/false);
      terminal_.status(fmt::format("  {:.0f} s   seed 0x{:x}   {}", elapsed(), seed, statistics()));
    }
  }

  // Leaves in the files what is needed to show what all of it shows.
  Status minimize() {
    for (Subject& subject : subjects_) {
      std::vector<Job> jobs;
      std::vector<Remembered> left;
      for (const Remembered& one : subject.memory.cases()) {
        const Target* same = one.device.empty() ? &target_of(subject, one.test_case)
                                                : target_named(subject, one.device);
        if (same) {
          jobs.push_back(job_of(one.test_case, *same));
        } else {
          left.push_back(one);  // what another device showed this one cannot judge
        }
      }
      const std::vector<CaseRecord> records = run_jobs(jobs, options_, console_);
      if (interrupted()) return {};  // the files stay as they are
      const auto error = std::ranges::find(records, Verdict::error, &CaseRecord::verdict);
      if (error != records.end()) {
        return Error{ErrorKind::cannot_run,
                     fmt::format("a remembered case could not run, so nothing was left out: {}",
                                 error->reason),
                     subject.memory.path().string(), ""};
      }
      std::vector<Shown> shown;
      for (std::size_t i = 0; i < records.size(); ++i)
        shown.push_back({jobs[i].test_case, share_of(records[i]), records[i].reached});
      for (const Case& enough : minimized(std::move(shown))) {
        const auto job = std::ranges::find(jobs, enough.text(),
                                           [](const Job& one) { return one.test_case.text(); });
        left.push_back({enough, job->target.name()});
        jobs.erase(job);  // the next of this text is another device's
      }
      const std::size_t before = subject.memory.cases().size(), after = left.size();
      const Status replaced = subject.memory.replace(std::move(left));
      if (!replaced) return replaced;
      terminal_.note(
          fmt::format("  {}: kept {} of {} cases, which cover what all of them covered ({})",
                      subject.kernel->name, after, before, subject.memory.path().string()));
    }
    return {};
  }

  RunRecord finish() {
    record_.planned = static_cast<std::int64_t>(record_.cases.size());
    record_.interrupted = interrupted();
    record_.elapsed_ms = 1000 * elapsed();
    summarize(record_);
    return std::move(record_);
  }

  // "1204 cases, 31 new ones kept, 97 value and shape classes, worst 61 % of bound, 0 failed".
  std::string statistics() const {
    std::size_t kept = 0, cells = 0;
    for (const Subject& subject : subjects_) {
      kept += subject.search.remembered().size();
      cells += subject.search.cells();
    }
    return fmt::format(
        "{} cases   {} remembered   {} class pairs   worst {:.0f} % of bound   {} failed",
        record_.cases.size(), kept, cells, 100 * worst_, failed_);
  }

 private:
  Job job_of(Case test_case, const Target& target) {
    const std::int64_t position = position_;
    position_ += options_.shard ? options_.shard->count : 1;  // no two shards use one
    const Target place = target_for(test_case, target);
    return {std::move(test_case), place, position};
  }

  // The one that showed what is remembered: it will again. Null where this search has it not.
  static const Target* target_named(const Subject& subject, const std::string& device) {
    const auto found = std::ranges::find(subject.targets, device, &Target::name);
    return found == subject.targets.end() ? nullptr : &*found;
  }

  // Of a new case: always the same one.
  static const Target& target_of(const Subject& subject, const Case& test_case) {
    return subject.targets[test_case.key() % subject.targets.size()];
  }

  bool holds(const Case& test_case) const {
    return (!options_.shard || options_.shard->holds(test_case)) &&
           (!options_.filter || options_.filter->holds(test_case));
  }

  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  static const Job& job_of(const std::vector<Job>& jobs, const CaseRecord& record) {
    return *std::ranges::find(jobs, record.position, &Job::position);
  }

  Subject& subject_of(const Job& job) {
    return *std::ranges::find(subjects_, job.test_case.kernel, &Subject::kernel);
  }

  // Of what kind a failure is; a few of each are explained.
  static std::string kind_of(const CaseRecord& failed) {
    return fmt::format("{}/{}", failed.kernel, name(broken_claim(failed)));
  }

  void run(const std::vector<Job>& jobs, bool remembered) {
    RunOptions in_time = options_;
    in_time.enough = [this] { return elapsed() >= arguments_.seconds; };
    WhenFinished keeper(console_, [&](const CaseRecord& record) {
      keep(job_of(jobs, record), record, remembered);
    });
    for (CaseRecord& result : run_jobs(jobs, in_time, keeper)) {
      const Job& job = job_of(jobs, result);
      const double share = share_of(result);
      if (result.verdict == Verdict::pass) {
        worst_ = std::max(worst_, share);
        subject_of(job).search.learn(job.test_case, share, result.reached);
      }
      if (result.verdict == Verdict::fail) {
        ++failed_;
        explain(job, result);
      }
      result.reached = {};  // with its memory: a search may go on for days
      record_.cases.push_back(std::move(result));
    }
  }

  // Puts on disk what a case showed as soon as it has finished: a search may be killed.
  void keep(const Job& job, const CaseRecord& record, bool remembered) {
    Subject& subject = subject_of(job);
    if (record.verdict == Verdict::pass &&
        subject.shown.learn(job.test_case, share_of(record), record.reached) && !remembered)
      subject.memory.append({job.test_case, job.target.name()});
    if (record.verdict == Verdict::fail && !options_.corpus_folder.empty() &&
        failures_[kind_of(record)] < kExplainedPerKernel) {
      if (auto path = save_as_found(job, record, options_.corpus_folder))
        as_found_[job.position] = *std::move(path);
    }
  }

  // A card for the first failures of a kind. In the corpus, what was made small takes the place of
  // what was found.
  void explain(const Job& failed, const CaseRecord& record) {
    bool replaced = true;
    if (++failures_[kind_of(record)] <= kExplainedPerKernel) {
      RunOptions options = options_;
      options.enough = [this] { return elapsed() >= arguments_.seconds + kMoreToShrink; };
      if (options.shrink_budget > 0) console_.shrinking(failed.test_case);
      Counterexample card = make_counterexample(failed, record, options);
      console_.explained(card);
      replaced = !card.case_file.empty();
      record_.counterexamples.push_back(std::move(card));
    }
    const auto found = as_found_.find(failed.position);
    if (found == as_found_.end()) return;
    const std::string path = std::move(found->second);
    as_found_.erase(found);
    // Where nothing could be left out, that file is the counterexample.
    const bool in_use =
        std::ranges::any_of(record_.counterexamples,
                            [&](const Counterexample& card) { return card.case_file == path; });
    std::error_code code;
    if (replaced && !in_use) std::filesystem::remove(path, code);
  }

  const Arguments& arguments_;
  RunOptions options_;
  Terminal& terminal_;
  Console console_;
  RunFolder& folder_;
  RunRecord record_;
  std::vector<Subject> subjects_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::map<std::string, int> failures_;           // by kind
  std::map<std::int64_t, std::string> as_found_;  // by position: files of what is to be made small
  std::int64_t position_ = 0;                     // of the next case
  double worst_ = 0;                              // of what passed
  std::int64_t failed_ = 0;
};

}  // namespace

ExitCode fuzz(const Arguments& arguments, Terminal& terminal) {
  const Result<Registry> registry = open_registry(arguments, terminal);
  if (!registry) return report_error(registry.error());
  const auto kernels = registry->match(arguments.names);
  if (!kernels) return report_error(kernels.error());
  Result<RunOptions> options = run_options(arguments, *kernels);
  if (!options) return report_error(options.error());
  options->seed = arguments.seed ? *arguments.seed : std::random_device{}();
  const std::string id = run_id(arguments, *kernels, options->seed);
  Result<RunFolder> folder = create_run_folder(arguments, id);
  if (!folder) return report_error(folder.error());

  Fuzzer fuzzer(arguments, *options, terminal, *folder, id);
  const Status prepared = fuzzer.prepare(*registry, *kernels);
  if (!prepared) return report_error(prepared.error());
  if (!fuzzer.empty() && arguments.minimize) {
    const Status minimized = fuzzer.minimize();
    if (!minimized) return report_error(minimized.error());
    return interrupted() ? ExitCode::interrupted : ExitCode::held;
  }
  const bool human = arguments.format == OutputFormat::human;
  if (!fuzzer.empty()) {
    if (human)
      terminal.print(fmt::format("fuzz: seed 0x{:x}, {:.0f} s", options->seed, arguments.seconds));
    fuzzer.begin();
    fuzzer.recall();
    fuzzer.search(options->seed);
    if (human) terminal.print_wrapped("  " + fuzzer.statistics());
  }
  RunRecord record = fuzzer.finish();
  folder->link_as_latest_of_cases();
  return end_run(record, *folder, arguments, terminal);
}

}  // namespace plumbline
