// SPDX-License-Identifier: MIT
// A kernel's arithmetic, found out by running probes on it (oracles/bounds/arithmetic_probes.h),
// beside what its contract says: the same probes through the contract's own model.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/case_runner.h"
#include "oracles/bounds/arithmetic_probes.h"

namespace plumbline {

struct ProbedArithmetic {
  Arithmetic found, promised;
  bool any_order = false;   // parts may be joined in any order, which the probes' tree depends on
  bool undeclared = false;  // the contract leaves the whole schedule open (Schedule::runs, any)
  std::string output;       // "d": whose sums these are

  bool agrees() const;

  std::string words() const;
};

// By output. Empty for kernels whose sums the probes cannot see: no output in f32, bf16 or
// f16, integer operands, sums of what the kernel itself computes (attention).
Result<std::vector<ProbedArithmetic>> probe_arithmetic(const Manifest& kernel, const Target& target,
                                                       CaseRunner& runner);

bool all_agree(const std::vector<ProbedArithmetic>& probed);

// Once where all outputs are alike.
std::string words_of(const std::vector<ProbedArithmetic>& probed);

}  // namespace plumbline
