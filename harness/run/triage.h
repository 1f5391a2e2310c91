// SPDX-License-Identifier: MIT
// Which failures of a run get a counterexample, and which are only counted, told while it goes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/run/run.h"

namespace plumbline {

// Looks at the cases of each kernel in the order of the plan: a failure is decided on once every
// case of its kernel before it has ended, so that the answer is the same for every number of
// threads. Not for several threads at once.
class Triage {
 public:
  explicit Triage(const std::vector<Job>& jobs);

  struct Decision {
    std::vector<std::size_t> explain;  // jobs whose failures get a counterexample
    std::vector<std::size_t> count;    // those whose failures are only counted
  };

  // A job has ended; nothing is known of it where it could not be run to its end.
  Decision ended(std::size_t job, const CaseRecord* record);
  // No job ends any more.
  Decision close();

  // Whether it is certain already that another such failure is only counted.
  bool has_enough_of(const CaseRecord& failed) const;

 private:
  struct Ended {
    bool here = false, failed = false;
    Claim claim = Claim::bound;
  };

  struct Kernel {
    std::vector<std::size_t> jobs;  // in the order of the plan
    std::size_t decided = 0;        // so many of them
    std::map<Claim, int> failures;  // of those
  };

  void decide(Kernel& kernel, bool all, Decision& decision);

  std::map<std::string, Kernel> kernels_;
  std::vector<Kernel*> kernel_of_;  // by job
  std::vector<Ended> ended_;
};

}  // namespace plumbline
