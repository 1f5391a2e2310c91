// SPDX-License-Identifier: MIT
// Monte Carlo arithmetic: a case run many times on the emulator with its roundings moved at random
// (oracles/formats/random_rounding.h), beside the bound its oracle certifies. Any operation can be
// asked; nothing is judged by it.
#pragma once

#include <vector>

#include "harness/judge/case_runner.h"
#include "reports/record/propagation.h"

namespace plumbline {

struct StochasticOptions {
  int draws = 32;
  std::uint64_t seed = 1;
  int threads = 1;
};

struct StochasticCase {
  CaseRecord judged;                      // as verify would have it
  std::vector<StochasticRecord> outputs;  // one each
};

// Errors: those of CaseRunner::examine(), and a kernel that the emulator cannot run or that does
// not finish.
Result<StochasticCase> run_stochastically(CaseRunner& runner, const Case& test_case,
                                          const Target& target, const StochasticOptions& options);

}  // namespace plumbline
