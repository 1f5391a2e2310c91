// SPDX-License-Identifier: MIT
// Scales that change along k, decoded: in interval b of k the products of row i and column j are
// multiplied by the f32 number fl(a_ib * b_bj), rounded to nearest even, with subnormals kept or,
// with `flushes`, 0 for them. The rounding is part of the function a block-scaled GEMM computes.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace plumbline {

struct BlockScales {
  std::int64_t depth = 0;   // elements of k in an interval
  std::int64_t blocks = 0;  // intervals
  std::int64_t m = 0, n = 0;
  std::vector<float> a, b;  // a[block * m + i], b[block * n + j]; NaN and Inf allowed
  bool flushes = false;

  float factor(std::int64_t i, std::int64_t j, std::int64_t block) const {
    const float product =
        a[static_cast<std::size_t>(block * m + i)] * b[static_cast<std::size_t>(block * n + j)];
    return flushes && std::fabs(product) < 0x1p-126f ? 0.0f : product;
  }
};

}  // namespace plumbline
