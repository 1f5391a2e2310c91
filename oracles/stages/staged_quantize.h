// SPDX-License-Identifier: MIT
// Quantization in stages, the steps of quantize.h:
//   quantize inputs   X as stored, in place of what it was made from
//   scale             amax over the largest code, in f32
//   argument          what the rule makes of an element and its scale, in f32
//   output            the code; exact: a real number of units
#pragma once

#include <memory>

#include "oracles/reference/quantize/quantize.h"
#include "oracles/stages/staged.h"

namespace plumbline {

// Outputs "q", "scale" and "amax". `source`: an f32 tensor of the shape of X. Tensors outlive the
// result; everything must be finite.
std::unique_ptr<StagedComputation> staged_quantize(const QuantizeProblem& problem,
                                                   const Tensor& source);

}  // namespace plumbline
