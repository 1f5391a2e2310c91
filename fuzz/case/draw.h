// SPDX-License-Identifier: MIT
// Drawing numbers from Random with exact arithmetic only: integer sums, products with constants,
// ldexp. No function of the C library whose last bit may differ between machines is used, so a
// value class has the same bits everywhere.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "oracles/base/random.h"

namespace plumbline {

// Close to unit normal: the sum of eight 32-bit uniforms, centered and scaled to variance 1. |x|
// <= 4.9.
inline double draw_normal(Random& random) {
  std::uint64_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t word = random.next();
    sum += (word >> 32) + (word & 0xffffffffu);
  }
  const double centered = static_cast<double>(static_cast<std::int64_t>(sum) - 4 * 0xffffffffLL);
  constexpr double kInverseDeviation = 1.2247448713915890491;  // sqrt(12 / 8)
  return centered * 0x1p-32 * kInverseDeviation;
}

inline double draw_sign(Random& random) { return (random.next() >> 63) != 0 ? -1.0 : 1.0; }

// +-(1 + u) * 2^exponent with u uniform in [0, 1).
inline double draw_scaled(Random& random, std::int64_t exponent) {
  const double sign = draw_sign(random);
  return std::ldexp(sign * (1 + random.unit()), static_cast<int>(exponent));
}

// A whole number in [least, most], 0 < least, as likely between 16 and 31 as between 32 and 63.
inline std::int64_t draw_logarithmic(Random& random, std::int64_t least, std::int64_t most) {
  const auto bits = [](std::int64_t value) {
    return std::bit_width(static_cast<std::uint64_t>(value)) - 1;
  };
  const std::int64_t power = std::int64_t{1} << random.between(bits(least), bits(most));
  return random.between(std::max(least, power), std::min(most, 2 * power - 1));
}

template <typename Container>
const auto& draw_one_of(Random& random, const Container& choices) {
  return choices[static_cast<std::size_t>(random.below(choices.size()))];
}

}  // namespace plumbline
