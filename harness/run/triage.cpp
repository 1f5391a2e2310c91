// SPDX-License-Identifier: MIT
#include "harness/run/triage.h"

namespace plumbline {

Triage::Triage(const std::vector<Job>& jobs) : ended_(jobs.size()) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Kernel& kernel = kernels_[jobs[i].test_case.kernel->name];
    kernel.jobs.push_back(i);
    kernel_of_.push_back(&kernel);
  }
}

Triage::Decision Triage::ended(std::size_t job, const CaseRecord* record) {
  ended_[job].here = true;
  if (record != nullptr && record->verdict == Verdict::fail) {
    ended_[job].failed = true;
    ended_[job].claim = broken_claim(*record);
  }
  Decision decision;
  decide(*kernel_of_[job], /*all=*/false, decision);
  return decision;
}

Triage::Decision Triage::close() {
  Decision decision;
  for (auto& [name, kernel] : kernels_) decide(kernel, /*all=*/true, decision);
  return decision;
}

// As failures_to_explain() chooses from the whole record.
void Triage::decide(Kernel& kernel, bool all, Decision& decision) {
  for (; kernel.decided < kernel.jobs.size(); ++kernel.decided) {
    const std::size_t job = kernel.jobs[kernel.decided];
    if (!ended_[job].here && !all) return;
    if (!ended_[job].failed) continue;
    const bool more_claims = static_cast<int>(kernel.failures.size()) < kExplainedPerKernel;
    const int nth = ++kernel.failures[ended_[job].claim];
    if (nth == 1 && more_claims) decision.explain.push_back(job);
    if (nth > kDescribedFailures) decision.count.push_back(job);
  }
}

bool Triage::has_enough_of(const CaseRecord& failed) const {
  const auto& failures = kernels_.at(failed.kernel).failures;
  const auto of_claim = failures.find(broken_claim(failed));
  return of_claim != failures.end() && of_claim->second >= kDescribedFailures;
}

}  // namespace plumbline
