// SPDX-License-Identifier: MIT
// How errors grow through a deep stack of transformer blocks (oracles/stages/stack.h), forward
// and backward, in several arithmetics.
#pragma once

#include "harness/propagation/stack_model.h"
#include "harness/propagation/step_curve.h"
#include "oracles/stages/stack.h"

namespace plumbline {

struct DepthOptions {
  StackShape shape;
  StackModel model;  // its arithmetic is one more curve; its sizes are in `shape`
  std::uint64_t seed = 1;
  int probes = 8;   // random directions for the gain
  int threads = 1;  // an arithmetic is one's work
};

// The arithmetics side by side, with findings.
DepthRecord run_depth(const DepthOptions& options);

// The gradient on its way back through the layers, whose inputs are those of a forward pass in the
// same arithmetic, and once those of an exact one; and the gradients by the layers' weights that it
// leaves on its way.
DepthRecord run_gradient_depth(const DepthOptions& options);

}  // namespace plumbline
