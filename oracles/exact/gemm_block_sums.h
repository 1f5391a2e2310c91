// SPDX-License-Identifier: MIT
// The exact sums of a block-scaled GEMM, y_ij = sum over blocks of f_ijb P_ijb with f the factor
// that block_scales.h makes of two scales and P the sum of products in one interval of k, as
// enclosures like those of gemm_sums.h.
#pragma once

#include <span>

#include "oracles/exact/block_scales.h"
#include "oracles/exact/gemm_sums.h"

namespace plumbline {

// NaN and infinities count as 0, of operands and of factors. The result does not depend on the
// number of threads.
SumEnclosures gemm_block_sums(const GemmOperands& operands, const BlockScales& scales, int threads);

// One sum, exactly, of the factors of intervals of so many elements of k.
Dyadic exact_block_dot(const float* row, const float* column, std::int64_t k, std::int64_t depth,
                       std::span<const double> factors);

}  // namespace plumbline
