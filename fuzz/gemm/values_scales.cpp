// SPDX-License-Identifier: MIT
// Scales, and data for integer operands. A scale taken from another row, column or block must show,
// so no two are alike; and where a class is exact its scales are powers of two, so that it stays
// exact.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "fuzz/gemm/values.h"

namespace plumbline {

namespace {

constexpr double kIntegerGain = 32;

constexpr std::array<std::string_view, 7> kExact = {
    "ones", "integers", "power_scaled", "one_hot", "index_code", "width_ladder", "ties"};

double power_of_two(Random& random, int least, int most) {
  return std::ldexp(1.0, static_cast<int>(random.between(least, most)));
}

// A full significand in [1, 2).
double significand(Random& random) { return 1 + random.unit(); }

}  // namespace

double gemm_scale(std::string_view value_class, Random random) {
  if (std::find(kExact.begin(), kExact.end(), value_class) != kExact.end())
    return power_of_two(random, -8, 8);
  if (value_class == "specials") {
    constexpr std::array kSpecial = {0.0, -0.0, std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::quiet_NaN(), -1.5};
    if (random.below(8) == 0) return kSpecial[random.below(kSpecial.size())];
  }
  const double sign = value_class == "cancelling" && random.below(4) == 0 ? -1 : 1;
  if (value_class == "wide") return power_of_two(random, -40, 40) * significand(random);
  if (value_class == "large") return power_of_two(random, 30, 60) * significand(random);
  if (value_class == "subnormal") return power_of_two(random, -140, -20) * significand(random);
  return sign * power_of_two(random, -4, 3) * significand(random);
}

double gemm_in_range(const Format& element, double value) {
  if (!element.is_integer) return value;
  const double spread = value == std::floor(value) ? value : value * kIntegerGain;
  return element.id == FormatId::u8 ? std::fabs(spread) : spread;
}

}  // namespace plumbline
