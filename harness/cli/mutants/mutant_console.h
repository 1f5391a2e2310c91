// SPDX-License-Identifier: MIT
// What people see of a run of mutants: the live line, the score of each kernel, and the survivors
// by source line. Feeds mutants.jsonl too.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "harness/cli/mutants/automatic_mutants.h"
#include "harness/cli/session.h"
#include "harness/mutation/mutants.h"

namespace plumbline {

class MutantConsole : public MutantObserver {
 public:
  MutantConsole(const Arguments& arguments, Terminal& terminal, RunFolder& folder);

  void begins(const std::string& kernel);
  void compiled(std::size_t done, std::size_t total);
  void planned(const RunRecord& so_far);
  void unmutated(const CaseRecord& record, std::int64_t done, std::int64_t total) override;
  void finished(const MutantRecord& record, std::int64_t done, std::int64_t total) override;
  void curated_done(const Manifest& kernel, const std::vector<MutantRecord>& mutants);
  void peers(const std::vector<PeerRecord>& rules, const std::vector<MutantRecord>& mutants);
  void automatic_done(const Manifest& kernel, const AutomaticMutants& faults, std::int64_t cases,
                      const std::vector<MutantRecord>& mutants);
  void summary(const RunRecord& record);

 private:
  bool human() const { return arguments_.format == OutputFormat::human; }

  double seconds() const;
  void print_score(const Manifest& kernel, const std::vector<MutantRecord>& mutants);
  void print_kernels(const std::vector<MutantRecord>& mutants);
  void print_survivors(const Manifest& kernel, const std::vector<MutantRecord>& mutants);
  void print_kinds(const std::vector<MutantRecord>& mutants);

  const Arguments& arguments_;
  Terminal& terminal_;
  RunFolder& folder_;
  std::string kernel_;
  std::map<MutantOutcome, std::int64_t> outcomes_;  // of this kernel, before duplicates are known
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace plumbline
