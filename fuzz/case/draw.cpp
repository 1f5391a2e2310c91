// SPDX-License-Identifier: MIT
#include "fuzz/case/draw.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace plumbline {

double draw_normal(Random& random) {
  std::uint64_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t word = random.next();
    sum += (word >> 32) + (word & 0xffffffffu);
  }
  const double centered = static_cast<double>(static_cast<std::int64_t>(sum) - 4 * 0xffffffffLL);
  constexpr double kInverseDeviation = 1.2247448713915890491;  // sqrt(12 / 8)
  return centered * 0x1p-32 * kInverseDeviation;
}

double draw_sign(Random& random) { return (random.next() >> 63) != 0 ? -1.0 : 1.0; }

double draw_scaled(Random& random, std::int64_t exponent) {
  const double sign = draw_sign(random);
  return std::ldexp(sign * (1 + random.unit()), static_cast<int>(exponent));
}

std::int64_t draw_logarithmic(Random& random, std::int64_t least, std::int64_t most) {
  const auto bits = [](std::int64_t value) {
    return std::bit_width(static_cast<std::uint64_t>(value)) - 1;
  };
  const std::int64_t power = std::int64_t{1} << random.between(bits(least), bits(most));
  return random.between(std::max(least, power), std::min(most, 2 * power - 1));
}

}  // namespace plumbline
