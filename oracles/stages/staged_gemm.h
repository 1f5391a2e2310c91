// SPDX-License-Identifier: MIT
// A GEMM in stages:
//   quantize inputs   A and B as stored (times their scales) in place of what they were made from
//   accumulate        the unit's nodes or fmas in place of exact sums
//   promote | join    the f32 sum of fresh accumulators, or of the parts of k
//   scale products    fl(scale_a * scale_b) per block of k in place of the product
//   epilogue          its f32 steps in place of real arithmetic
//   output            the conversion to the stored format; f32 has none
// Those that a problem and its contract do not have are left out. Products have no stage: every
// unit of the catalog multiplies exactly.
#pragma once

#include <memory>

#include "oracles/reference/gemm/prepared.h"
#include "oracles/stages/staged.h"
#include "oracles/stages/staged_sum.h"

namespace plumbline {

// The output d of a problem whose A and B were made from these f32 matrices (same shapes). Tensors
// outlive the result. Everything must be finite.
std::unique_ptr<StagedComputation> staged_gemm(const GemmProblem& problem, const Contract& contract,
                                               int sm, const Tensor& source_a,
                                               const Tensor& source_b);

}  // namespace plumbline
