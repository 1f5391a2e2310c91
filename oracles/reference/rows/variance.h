// SPDX-License-Identifier: MIT
// Two wrong variances that LayerNorm kernels are known for; for explanations (rows/faults.h).
#pragma once

#include "oracles/bounds/contract/f32_range.h"
#include "oracles/exact/certified.h"
#include "oracles/reference/rows/row.h"

namespace plumbline {

// Columns after the last, up to a multiple of 8, count as 0 - mean.
Certified padded_variance(const RowOf<Certified>& row);

// The mean of squares less the square of the mean, which cancels: ranges, because there is not one
// value that it comes out as.
RowResult<F32Range> one_pass_layernorm(const RowContract& contract, const RowOf<float>& row);

}  // namespace plumbline
