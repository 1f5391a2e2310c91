// SPDX-License-Identifier: MIT
// The exact sums y_ij = sum_k a_ik * b_kj of a GEMM, as enclosures: y in [hi + lo - bound, hi + lo
// + bound]. The fast path is a split FP64 GEMM: each row and column is split on a grid so that the
// product of the high parts is exact in OpenBLAS dgemm in any order; the low parts are 26 bits
// below and carry a rigorous bound. What an enclosure cannot decide goes to exact_dot(), a
// superaccumulator.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/base/large_pages.h"
#include "oracles/exact/gemm_operands.h"

namespace plumbline {

class Dyadic;

struct SumEnclosures {
  // Row-major [batch, m, n]. bound == 0 means hi + lo is the exact sum.
  ZeroedVector<double> hi, lo, bound;
};

// NaN and infinities of the operands count as 0. The result does not depend on the number of
// threads.
SumEnclosures gemm_sums(const GemmOperands& operands, int threads);

// The same from exact_dot() of every element: for machines whose BLAS fails blas_self_test() (about
// 40 times slower).
SumEnclosures gemm_sums_without_blas(const GemmOperands& operands, int threads);

// One sum, exactly, for all exponents.
Dyadic exact_dot(const float* row, const float* column, std::int64_t k);

}  // namespace plumbline
