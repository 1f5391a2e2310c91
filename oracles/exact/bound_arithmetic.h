// SPDX-License-Identifier: MIT
// The few double operations the running bound is made of, each with the direction of its error.
// Shared by everything but the vector path, which does the same operations in the same order.
//
// All weights are powers of two held as doubles, so that floor(log2) is a mask and a shift of the
// binary point a product.
#pragma once

#include <bit>
#include <cstdint>

namespace plumbline::bound {

// Multiplying a bound by kRoundUp covers the rounding of the at most six operations that made it
// (2^-53 each). kRoundUpCount does so for a node's count of truncated terms: at most 64 terms of at
// most one unit round to within 64 * 2^-47 units, and a count that is not 0 is at least half a
// unit.
inline constexpr double kRoundUp = 1 + 0x1p-50;
inline constexpr double kRoundUpCount = 1 + 0x1p-39;

// Far above what the few operations of a bound that is not a running one can lose.
inline constexpr double kRoundUpAll = 1 + 0x1p-40;

inline constexpr double kF32Ulp = 0x1p-23;  // relative to its binade
inline constexpr double kMayOverflow = 0x1p127;
inline constexpr double kF32Minimum =
    0x1p-126;  // the smallest normal; no ulp is smaller than its ulp

// 2^floor(log2 x) for x >= 0 in double's normal range; 0 for 0.
inline double binade(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000u);
}

// The neighbors of x > 0: true bounds of a sum that was rounded to x.
inline double up(double x) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) + 1); }

inline double down(double x) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) - 1); }

inline double magnitude(double x) { return x < 0 ? -x : x; }

inline double larger(double x, double y) { return x > y ? x : y; }

inline double smaller(double x, double y) { return x < y ? x : y; }

// At least |sum| + error; |sum| itself when there is no error.
inline double most(double sum, double error) {
  const double total = magnitude(sum) + error;
  return error > 0 ? up(total) : total;
}

// At most max(0, |sum| - error); |sum| itself when there is no error.
inline double least(double sum, double error) {
  const double rest = magnitude(sum) - error;
  if (error > 0) return rest > 0 ? down(rest) : 0;
  return rest;
}

// The ulp of x in a format with f32's exponents; unit is 2^(1-p).
inline double ulp_of(double x, double unit) { return larger(binade(x), kF32Minimum) * unit; }

// What a + b lost when it was rounded to sum, exactly (Knuth's TwoSum).
inline double rounding_error(double a, double b, double sum) {
  const double b_part = sum - a;
  return (a - (sum - b_part)) + (b - b_part);
}

// factor * x = product + lost exactly, for a factor of 24 bits: x is cut into 26 high bits and 27
// low ones, so that both partial products are exact without a fused operation.
struct ExactProduct {
  double product, lost;
};

inline ExactProduct exact_product(double factor, double x) {
  const double high =
      std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~((std::uint64_t{1} << 27) - 1));
  const double upper = factor * high, lower = factor * (x - high);
  const double product = upper + lower;
  return {product, rounding_error(upper, lower, product)};
}

// The weight of the lowest set bit of x, which is finite, not 0 and in double's normal range.
inline double lowest_bit(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x) & 0x7fffffffffffffffu;
  const double without = std::bit_cast<double>(bits & (bits - 1));
  return (bits & 0xfffffffffffffu) == 0 ? std::bit_cast<double>(bits)
                                        : std::bit_cast<double>(bits) - without;
}

}  // namespace plumbline::bound
