// SPDX-License-Identifier: MIT
// Drawing numbers from Random with exact arithmetic only: integer sums, products with constants,
// ldexp. No function of the C library whose last bit may differ between machines is used, so a
// value class has the same bits everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "oracles/base/random.h"

namespace plumbline {

// Close to unit normal: the sum of eight 32-bit uniforms, centered and scaled to variance 1. |x|
// <= 4.9.
double draw_normal(Random& random);

double draw_sign(Random& random);

// +-(1 + u) * 2^exponent with u uniform in [0, 1).
double draw_scaled(Random& random, std::int64_t exponent);

// A whole number in [least, most], 0 < least, as likely between 16 and 31 as between 32 and 63.
std::int64_t draw_logarithmic(Random& random, std::int64_t least, std::int64_t most);

template <typename Container>
const auto& draw_one_of(Random& random, const Container& choices) {
  return choices[static_cast<std::size_t>(random.below(choices.size()))];
}

}  // namespace plumbline
