// SPDX-License-Identifier: MIT
// Plants faults in a kernel and sees which of them the planned cases catch. The unmutated kernel
// runs first; what it gives is kept, so that a case on which a mutant gives the same needs no
// judging, and a case that never comes to the mutated instruction need not run at all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/mutation/peer_rules.h"
#include "harness/run/run.h"
#include "reports/record/mutant_record.h"

namespace plumbline {

struct Mutant {
  MutantRecord record;  // what it is: kernel, id, kind, place
  std::function<Result<std::string>(const Manifest&, int sm)> image;
  std::vector<Job> own_cases{};  // that a plan has for its code, and not for the unmutated kernel's
};

// The unmutated kernel on one case.
struct UnmutatedCase {
  Job job;
  CaseRecord record;
  Execution execution;              // without its tensors and counts
  std::vector<int> executed_lines;  // of the PTX, in increasing order
  std::vector<PeerVerdict> peers;
};

struct MutantOptions {
  RunOptions run;
  // Hold the rules of other projects against the same outputs. Mutants then go on after they are
  // caught, until all rules have rejected them too.
  bool peers = false;
};

// The unmutated kernel on its plan, in the order in which mutants try the cases: cheap ones first,
// value classes in turn.
struct UnmutatedKernel {
  std::vector<UnmutatedCase> cases;

  // The PTX lines that any case executes, in increasing order.
  std::vector<int> executed_lines() const;
  // How often each rule of other projects rejects the unmutated kernel.
  std::vector<PeerRecord> peer_records(const std::string& kernel) const;
};

// What a run of mutants tells while it goes. Called from one thread at a time.
class MutantObserver {
 public:
  virtual ~MutantObserver() = default;

  virtual void unmutated(const CaseRecord& record, std::int64_t done, std::int64_t total) {
    (void)record, (void)done, (void)total;
  }

  virtual void finished(const MutantRecord& record, std::int64_t done, std::int64_t total) {
    (void)record, (void)done, (void)total;
  }
};

// Runs and judges the jobs, all of the same kernel. The records say whether it passed. Cases that
// an interrupt kept from running are missing.
UnmutatedKernel run_unmutated(const std::vector<Job>& jobs, const MutantOptions& options,
                              MutantObserver& observer);

// One mutant until a case catches it or none is left; nullopt when interrupted.
std::optional<MutantRecord> run_mutant(const UnmutatedKernel& unmutated, const Mutant& mutant,
                                       const MutantOptions& options);

// All of them, on all workers: in the order given, duplicates marked. Those that an interrupt kept
// from finishing are missing.
std::vector<MutantRecord> run_mutants(const UnmutatedKernel& unmutated,
                                      const std::vector<Mutant>& mutants,
                                      const MutantOptions& options, MutantObserver& observer);

}  // namespace plumbline
