// SPDX-License-Identifier: MIT
// The matrices that an output consists of, where it is made of GEMMs alone: those of a batch, of
// the groups of a grouped GEMM, or the one of a gradient. They lie one below the other, so that all
// rows of an output can be looked at together, for every operation.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/reference/gemm/prepared.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

struct ProductMatrix {
  const PreparedGemm* gemm;
  std::int64_t batch;      // of that GEMM
  std::int64_t first_row;  // of the output's rows, in logical order

  // Whether the matrices of its batch have the same A.
  bool shares_a() const { return gemm->problem.batch > 1 && gemm->operands.batch_a == 1; }
};

// Those that have outputs, in order; all have as many columns, and sums as long. None where an
// output is not made of GEMMs. They refer to the oracle.
std::vector<ProductMatrix> product_matrices(const CaseOracle& oracle, int output);

}  // namespace plumbline
