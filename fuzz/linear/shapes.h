// SPDX-License-Identifier: MIT
// Shape classes of a linear layer's backward pass: m tokens, n output features, k input features.
// Each of the three is the summed dimension of one gradient or the other, or neither.
#pragma once

#include <cstdint>
#include <span>

#include "fuzz/gemm/shapes.h"

namespace plumbline {

struct LinearSizes {
  std::int64_t m = 1, n = 1, k = 1;
};

struct LinearShapeClass {
  ClassInfo info;
  LinearSizes (*draw)(const GemmTile& tile, Profile profile, Random& random);
};

std::span<const LinearShapeClass> linear_shape_classes();

}  // namespace plumbline
