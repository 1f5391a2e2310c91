// SPDX-License-Identifier: MIT
// Stacks small enough for MPFR.
#pragma once

#include <cmath>

#include "oracles/stages/stack.h"

namespace plumbline::testing {

inline StackShape small_stack(std::int64_t layers, bool adaptive) {
  StackShape shape;
  shape.layers = layers;
  shape.tokens = 6;
  shape.width = 32;
  shape.heads = 2;
  shape.hidden = 48;
  shape.adaptive = adaptive;
  shape.residual_scale = 1 / std::sqrt(2.0 * static_cast<double>(layers));
  return shape;
}

}  // namespace plumbline::testing
