// SPDX-License-Identifier: MIT
// All errors of GEMMs beside those of their contract's model on the same inputs
// (oracles/population/envelope.h): which rows and columns, which tiles of k, and what comes
// out in words. What is suspect on one draw of inputs is only broken when it is suspect again on
// others; CaseRunner sees to that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/case/case.h"
#include "oracles/population/envelope.h"
#include "oracles/population/product_matrices.h"

namespace plumbline {

struct EnvelopeVerdict {
  bool compared = false;              // the contract has a model
  std::vector<Suspicion> suspicions;  // the most certain first
  std::string words;                  // the smallest effects that would have been suspect; or why
                                      // there is no model
};

// Whether there are 4096 outputs in 32 rows at least. No matrices: false.
bool envelope_applies(const std::vector<ProductMatrix>& matrices);

// For an output that is made of GEMMs with nothing added to their products. `exact`: all of it,
// CaseOracle::reference_values(). Compares 64 rows and 128 columns (more rows where there are fewer
// columns), drawn by the case from all its matrices. nullopt where an output is not finite.
std::optional<EnvelopeVerdict> compare_with_model(const Case& test_case,
                                                  const std::vector<ProductMatrix>& matrices,
                                                  const Tensor& got,
                                                  const std::vector<double>& exact, int threads);

}  // namespace plumbline
