// SPDX-License-Identifier: MIT
// Tests of all errors of a case at once (oracles/bounds/population.h), for cases whose inputs have
// the design they need. They run on what has passed element by element, and fail it where a
// conforming kernel is not believable.
#pragma once

#include <optional>
#include <string>

#include "harness/case_runner.h"

namespace plumbline {

struct PopulationVerdict {
  std::string broken;      // which test failed, where, and how unlikely that is; empty: none
  std::string detectable;  // the smallest effects that would have failed
};

// Nothing for cases the tests do not apply to: other operations than GEMM, other values than normal
// ones (whose rows have random signs and whose columns are drawn alike), fewer than 256 rows or 512
// columns, something added to the product, an integer output, no error at all.
std::optional<PopulationVerdict> test_population(const Case& test_case, const CaseTensors& tensors,
                                                 const CaseOracle& oracle, int threads);

}  // namespace plumbline
