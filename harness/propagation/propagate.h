// SPDX-License-Identifier: MIT
// Where a kernel's error comes from: one case, begun before its inputs were quantized, run on a
// device and in stages (oracles/stages/staged.h), and what the two say about each other.
#pragma once

#include <vector>

#include "harness/judge/case_runner.h"
#include "reports/record/propagation.h"

namespace plumbline {

struct PropagateOptions {
  int orders = 64;  // random orders of the stages where there are more than six
  std::uint64_t seed = 1;
};

struct PropagatedCase {
  CaseRecord judged;                       // as verify would have it
  std::vector<PropagationRecord> outputs;  // one each
};

// Errors: an operation without stages, and those of CaseRunner::examine().
Result<PropagatedCase> propagate_case(CaseRunner& runner, const Case& test_case,
                                      const Target& target, const PropagateOptions& options);

// Why the case fails as far as this output tells: empty where it does not, or other outputs do
// it.
std::string failure_of(const std::string& output, const CaseRecord& judged);

// The kernel's problems that propagation and random rounding (stochastic.h) look at: formats,
// shapes and classes of data crossed. The first is what it looks at when nothing else is asked for.
struct PropagationCases {
  std::vector<Case> cases;
  std::string refusal;  // the first problem that the kernel does not accept, and why; else empty
};

PropagationCases propagation_cases(const Manifest& kernel, std::uint64_t seed);

// What an output's errors look like beside its condition numbers (empty where those are): `error`
// is the kernel's own, `expected` that of the contract's model.
ConditionRecord condition_record(const std::vector<double>& exact, const std::vector<double>& error,
                                 const std::vector<double>& expected,
                                 const std::vector<double>& condition);

}  // namespace plumbline
