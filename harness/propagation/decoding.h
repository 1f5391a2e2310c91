// SPDX-License-Identifier: MIT
// How errors compound over decode steps: a stack of transformer blocks that takes one token at a
// time, keeps its keys and values in a cache of some format, and goes on from its own output. The
// next input is the normalized output, or a part of it beside a new token that owes nothing to it.
#pragma once

#include "harness/propagation/stack_model.h"
#include "harness/propagation/step_curve.h"
#include "oracles/stages/staged_stack.h"

namespace plumbline {

struct DecodingOptions {
  StackShape shape{.layers = 4};
  StackModel model{};  // its arithmetic is one more curve; its sizes are in `shape`
  int steps = 64;
  double fed_back = 1;  // of the next input, in 0 to 1; the new token has sqrt(1 - fed_back^2)
  std::uint64_t seed = 1;
  int probes = 8;  // random directions for the gain
};

DepthRecord run_decoding(const DecodingOptions& options);

}  // namespace plumbline
