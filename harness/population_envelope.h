// SPDX-License-Identifier: MIT
// All errors of a GEMM beside those of its contract's model on the same inputs
// (oracles/bounds/population_envelope.h): which rows and columns, which tiles of k, and what comes
// out in words. What is suspect on one draw of inputs is only broken when it is suspect again on
// others; CaseRunner sees to that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/case.h"
#include "oracles/bounds/population_envelope.h"
#include "oracles/reference/gemm_oracle.h"

namespace plumbline {

struct EnvelopeVerdict {
  bool compared = false;              // the contract has a model
  std::vector<Suspicion> suspicions;  // the most certain first
  std::string words;                  // the smallest effects that would have been suspect; or why
                                      // there is no model
};

// Whether there are 4096 outputs in 32 rows at least.
bool envelope_applies(const Case& test_case);

// For a GEMM without anything added to the product. `exact`: of all outputs,
// CaseOracle::reference_values(). Compares 64 rows and 128 columns (more rows where there are fewer
// columns), drawn by the case. Nothing where an output is not finite.
std::optional<EnvelopeVerdict> compare_with_model(const Case& test_case, const Tensor& got,
                                                  const GemmOracle& oracle,
                                                  const std::vector<double>& exact, int threads);

}  // namespace plumbline
