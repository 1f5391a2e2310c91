// SPDX-License-Identifier: MIT
#include "harness/mutation/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <mutex>

#include "harness/explain/explain.h"
#include "harness/run/workers.h"
#include "oracles/base/hash.h"

namespace plumbline {
namespace {

// A warp of a mutant may execute so many times the instructions of the whole unmutated launch, and
// some more, before its loop counts as endless: a loop that runs twice as often is still judged by
// its results.
constexpr std::uint64_t kMoreInstructions = 4, kSomeInstructions = 100'000;

// Cheap cases first, but the second of a value class only after the first of all others.
void order_for_mutants(std::vector<UnmutatedCase>& cases) {
  const auto cost = [](const UnmutatedCase& c) { return c.execution.launch.instructions; };
  std::stable_sort(cases.begin(), cases.end(),
                   [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  std::map<std::string, int> times;
  std::vector<std::pair<int, UnmutatedCase>> ranked;
  for (UnmutatedCase& one : cases) {
    const int rank = times[one.record.value_class]++;
    ranked.emplace_back(rank, std::move(one));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(ranked.begin(), ranked.end(), cases.begin(),
                 [](auto& one) { return std::move(one.second); });
}

void note_effect(std::string& effect, std::size_t at, const Execution& execution) {
  effect += fmt::format("{} {:x} {:x} {};", at, execution.first, execution.launch.fingerprint,
                        execution.launch.unwritten);
  for (const Finding& finding : execution.launch.findings) effect += finding.text();
}

// What the device found first; "unwritten" where nothing else is wrong.
std::string word_for_finding(const LaunchResult& launch) {
  if (!launch.findings.empty()) return name(launch.findings.front().kind);
  return launch.unwritten > 0 ? "unwritten" : "";
}

std::vector<PeerVerdict> ask_peers(const Case& test_case, const Examined& examined) {
  return ask_peers(test_case, examined.tensors, *examined.oracle, 1);
}

// What each rule says of all outputs of one kernel.
void join(std::vector<PeerVerdict>& all, const std::vector<PeerVerdict>& one) {
  all.resize(std::max(all.size(), one.size()), PeerVerdict::does_not_apply);
  for (std::size_t i = 0; i < one.size(); ++i) all[i] = std::max(all[i], one[i]);
}

// The rules that have not rejected a mutant yet.
class PeerCount {
 public:
  explicit PeerCount(const UnmutatedKernel& unmutated) {
    for (const UnmutatedCase& one : unmutated.cases) join(apply_, one.peers);
  }

  // Of one case; `before`: of the unmutated kernel. Who rejects that too has seen no fault.
  void add(const std::vector<PeerVerdict>& before, std::vector<PeerVerdict> verdicts) {
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i] == PeerVerdict::rejects && before[i] != PeerVerdict::accepts)
        verdicts[i] = PeerVerdict::does_not_apply;
    }
    join(said_, verdicts);
  }

  bool all_reject() const { return accepting_if_asked().empty(); }

  // nullopt where no rule was asked.
  std::optional<std::vector<std::string>> accepting() const {
    if (said_.empty()) return std::nullopt;
    return accepting_if_asked();
  }

 private:
  std::vector<std::string> accepting_if_asked() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < apply_.size(); ++i) {
      const bool rejected = i < said_.size() && said_[i] == PeerVerdict::rejects;
      if (apply_[i] != PeerVerdict::does_not_apply && !rejected)
        names.emplace_back(peer_rules()[i].name);
    }
    return names;
  }

  std::vector<PeerVerdict> apply_, said_;
};

}  // namespace

std::vector<PeerRecord> UnmutatedKernel::peer_records(const std::string& kernel) const {
  std::vector<PeerRecord> records;
  for (std::size_t i = 0; i < peer_rules().size(); ++i) {
    PeerRecord record{kernel, std::string(peer_rules()[i].name),
                      std::string(peer_rules()[i].formula), 0, 0};
    for (const UnmutatedCase& one : cases) {
      if (i >= one.peers.size() || one.peers[i] == PeerVerdict::does_not_apply) continue;
      ++record.cases;
      record.false_alarms += one.peers[i] == PeerVerdict::rejects;
    }
    if (record.cases > 0) records.push_back(std::move(record));
  }
  return records;
}

std::vector<int> UnmutatedKernel::executed_lines() const {
  std::vector<int> all;
  for (const UnmutatedCase& one : cases) {
    const std::vector<int>& lines = one.executed_lines;
    std::vector<int> joined;
    std::set_union(all.begin(), all.end(), lines.begin(), lines.end(), std::back_inserter(joined));
    all = std::move(joined);
  }
  return all;
}

UnmutatedKernel run_unmutated(const std::vector<Job>& jobs, const MutantOptions& options,
                              MutantObserver& observer) {
  std::vector<std::optional<UnmutatedCase>> done(jobs.size());
  std::mutex report;
  std::int64_t finished = 0;
  for_each_on_workers(jobs.size(), options.run.jobs, [&] {
    return [&, runner = CaseRunner(options.run.runner)](std::size_t i) mutable {
      const Case& test_case = jobs[i].test_case;
      const Target& target = jobs[i].target;
      UnmutatedCase one{jobs[i], {}, {}, {}, {}};
      Result<std::unique_ptr<Examined>> examined = runner.examine(test_case, target);
      if (examined) {
        if (options.peers) one.peers = ask_peers(test_case, **examined);
        one.record = std::move((*examined)->record);
        one.execution = std::move(static_cast<Execution&>(**examined));
        one.execution.tensors = {};
        one.executed_lines = executed_lines(one.execution.launch);
        one.execution.launch.executions.clear();
      } else {
        if (interrupted()) return;
        one.record = error_record(test_case, target, examined.error());
      }
      one.record.position = jobs[i].position;
      const std::lock_guard lock(report);
      observer.unmutated(one.record, ++finished, static_cast<std::int64_t>(jobs.size()));
      done[i] = std::move(one);
    };
  });
  UnmutatedKernel kernel;
  for (std::optional<UnmutatedCase>& one : done) {
    if (one) kernel.cases.push_back(*std::move(one));
  }
  order_for_mutants(kernel.cases);
  return kernel;
}

namespace {

// The unmutated kernel on what is planned for this mutant's code alone, where it passes that.
std::vector<UnmutatedCase> own_cases_of(const Mutant& mutant, const MutantOptions& options) {
  if (mutant.own_cases.empty()) return {};
  MutantOptions alone = options;
  alone.run.jobs = 1;  // this worker
  MutantObserver no_observer;
  std::vector<UnmutatedCase> own = run_unmutated(mutant.own_cases, alone, no_observer).cases;
  std::erase_if(own, [](const UnmutatedCase& one) { return one.record.verdict != Verdict::pass; });
  return own;
}

}  // namespace

std::optional<MutantRecord> run_mutant(const UnmutatedKernel& unmutated, const Mutant& mutant,
                                       const MutantOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  MutantRecord record = mutant.record;
  RunnerOptions runner_options = options.run.runner;
  runner_options.image = mutant.image;
  CaseRunner runner(runner_options);
  const auto finish = [&](MutantOutcome outcome) {
    record.outcome = outcome;
    if (outcome == MutantOutcome::caught || outcome == MutantOutcome::survived) {
      record.effect = fmt::format("{:016x}", fingerprint(record.effect));
    }
    record.elapsed_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return record;
  };
  const auto refuse = [&](const Error& error) -> std::optional<MutantRecord> {
    if (interrupted()) return std::nullopt;
    record.reason = error.text();
    return finish(MutantOutcome::refused);
  };

  // Caught by a test of all errors at once alone, so far: whether anything else catches it is worth
  // the remaining cases.
  bool caught = false, alone = false;
  std::int64_t tried = 0;
  PeerCount peers(unmutated);
  const std::vector<UnmutatedCase> own = own_cases_of(mutant, options);
  for (std::size_t i = 0; i < unmutated.cases.size() + own.size(); ++i) {
    const auto& [job, before, unchanged, lines, said] =
        i < unmutated.cases.size() ? unmutated.cases[i] : own[i - unmutated.cases.size()];
    // Up to its first execution of the mutated line a mutant does what the unmutated kernel does.
    if (record.line > 0 && !std::binary_search(lines.begin(), lines.end(), record.line)) continue;
    if (interrupted()) return std::nullopt;
    const Status loaded = runner.load(*job.test_case.kernel, job.target);
    if (!loaded) return refuse(loaded.error());
    ++tried;
    if (!caught) record.cases = tried;
    Result<Execution> after =
        runner.execute(job.test_case, job.target,
                       kSomeInstructions + kMoreInstructions * unchanged.launch.instructions);
    if (!after) return refuse(after.error());
    if (after->same_as(unchanged)) continue;
    record.changed += !caught;
    if (!caught || alone) note_effect(record.effect, i, *after);
    const std::string finding = word_for_finding(after->launch);
    const Result<std::unique_ptr<Examined>> examined =
        runner.judge(job.test_case, job.target, *std::move(after));
    if (!examined) return refuse(examined.error());
    const CaseRecord& judged = (*examined)->record;
    if (options.peers && (*examined)->launch.completed)
      peers.add(said, ask_peers(job.test_case, **examined));
    if (!caught) {
      for (const OutputRecord& output : judged.outputs)
        record.worst_share = std::max(record.worst_share, output.verdict.worst_share);
    }
    if ((!caught || alone) && judged.verdict == Verdict::fail) {
      const Claim claim = broken_claim(judged);
      if (caught && claim == Claim::population) continue;
      caught = true;
      alone = claim == Claim::population;
      record.finding = finding;
      record.claim = name(claim);
      record.cases = tried;
      record.reason = judged.reason;
      record.text = judged.text;
      record.device = job.target.name();
    }
    if (caught && !alone && (!options.peers || peers.all_reject())) break;
  }
  if (caught) {
    if (options.peers) record.accepted_by = peers.accepting();
    return finish(MutantOutcome::caught);
  }
  return finish(record.changed > 0 ? MutantOutcome::survived : MutantOutcome::no_effect);
}

std::vector<MutantRecord> run_mutants(const UnmutatedKernel& unmutated,
                                      const std::vector<Mutant>& mutants,
                                      const MutantOptions& options, MutantObserver& observer) {
  std::vector<std::optional<MutantRecord>> done(mutants.size());
  std::mutex report;
  std::int64_t finished = 0;
  for_each_on_workers(mutants.size(), options.run.jobs, [&] {
    return [&](std::size_t i) {
      std::optional<MutantRecord> record = run_mutant(unmutated, mutants[i], options);
      if (!record) return;
      const std::lock_guard lock(report);
      observer.finished(*record, ++finished, static_cast<std::int64_t>(mutants.size()));
      done[i] = std::move(record);
    };
  });
  std::vector<MutantRecord> records;
  for (std::optional<MutantRecord>& record : done) {
    if (record) records.push_back(*std::move(record));
  }
  mark_duplicates(records);
  return records;
}

}  // namespace plumbline
