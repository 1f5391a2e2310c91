// SPDX-License-Identifier: MIT
// A SwiGLU MLP in stages, the steps of oracles/bounds/contract/swiglu.h:
//   quantize inputs   X and the weights as stored, in place of what they were made from
//   gate and up       both sums by the unit
//   silu              its f32 steps and the product with u, with ex2 rounded to nearest
//   h rounding        to the format of h, in which it meets w_down
//   down              the sums of y by the unit
//   output            the conversion of y; f32 has none
#pragma once

#include <memory>

#include "oracles/bounds/contract/swiglu.h"
#include "oracles/reference/swiglu/swiglu.h"
#include "oracles/stages/staged.h"

namespace plumbline {

// f32 tensors of the shapes of the inputs.
struct SwigluSources {
  const Tensor *x = nullptr, *gate = nullptr, *up = nullptr, *down = nullptr;
};

// Outputs "h" and "y"; y is that of the h in this computation. Only the layout of the problem's own
// h is read. Tensors outlive the result; everything must be finite.
std::unique_ptr<StagedComputation> staged_swiglu(const SwigluProblem& mlp,
                                                 const SwigluContract& contract, int sm,
                                                 const SwigluSources& sources);

}  // namespace plumbline
