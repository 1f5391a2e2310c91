// SPDX-License-Identifier: MIT
// Scales that change along k, decoded: in interval b of k the products of row i and column j are
// multiplied by a_ib * b_bj. What that product is belongs to the function a block-scaled GEMM
// computes.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace plumbline {

// The product of two scales.
enum class ScaleProducts : std::uint8_t {
  f32,          // fl(a * b) to nearest even, subnormals kept
  f32_flushed,  // the same, with 0 for operands and products below 2^-126
  exact,        // |a| * |b|: of scales that are operands of the instruction; ue4m3 has no sign
};

// What is multiplied of a scale.
inline float kept_scale(ScaleProducts products, float x) {
  if (products == ScaleProducts::exact) return std::fabs(x);
  return products == ScaleProducts::f32_flushed && std::fabs(x) < 0x1p-126f ? 0.0f : x;
}

inline double scale_product(ScaleProducts products, float a, float b) {
  const float x = kept_scale(products, a), y = kept_scale(products, b);
  if (products == ScaleProducts::exact) return static_cast<double>(x) * static_cast<double>(y);
  return static_cast<double>(kept_scale(products, x * y));
}

struct BlockScales {
  std::int64_t depth = 0;   // elements of k in an interval
  std::int64_t blocks = 0;  // intervals
  std::int64_t m = 0, n = 0;
  std::vector<float> a, b;  // a[block * m + i], b[block * n + j]; NaN and Inf allowed
  ScaleProducts products = ScaleProducts::f32;

  double factor(std::int64_t i, std::int64_t j, std::int64_t block) const {
    return scale_product(products, a[static_cast<std::size_t>(block * m + i)],
                         b[static_cast<std::size_t>(block * n + j)]);
  }

  // Of every interval.
  std::vector<double> factors(std::int64_t i, std::int64_t j) const {
    std::vector<double> out;
    for (std::int64_t block = 0; block < blocks; ++block) out.push_back(factor(i, j, block));
    return out;
  }
};

}  // namespace plumbline
