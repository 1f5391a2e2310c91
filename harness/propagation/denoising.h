// SPDX-License-Identifier: MIT
// How errors compound over denoising steps: x goes from noise to a sample by DDIM in its v form on
// the cosine schedule, with a stack of diffusion blocks as the network:
//   x' = cos(d) x - sin(d) v(x),   d = pi / 2 / steps,   v = norm(stack(x))
// x is kept in bf16 or f32 between steps; the network is in the arithmetic of kernels, beside an
// FP64 reference of all of it.
#pragma once

#include "harness/propagation/stack_model.h"
#include "harness/propagation/step_curve.h"
#include "oracles/stages/staged_stack.h"

namespace plumbline {

struct DenoisingOptions {
  StackShape shape{.layers = 2, .tokens = 16, .adaptive = true};
  StackModel model{};  // its arithmetic is one more curve; its sizes are in `shape`
  int steps = 50;
  std::uint64_t seed = 1;
  int probes = 8;  // random directions for the gain
};

DepthRecord run_denoising(const DenoisingOptions& options);

}  // namespace plumbline
