// SPDX-License-Identifier: MIT
// The ulp of ulp.h, from the exponent of the exact value alone.
#include "oracles/formats/ulp.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "oracles/base/assert.h"

namespace plumbline {

int floor_log2(double y) {
  PLUMB_ASSERT(std::isfinite(y) && y != 0.0);
  const std::uint64_t magnitude = std::bit_cast<std::uint64_t>(y) & ~(std::uint64_t{1} << 63);
  const int field = static_cast<int>(magnitude >> 52);
  if (field != 0) return field - 1023;
  return 63 - std::countl_zero(magnitude) - 1074;
}

int ulp_exponent(const Format& format, double exact) {
  if (format.is_integer) return 0;
  const int exponent = exact == 0.0 ? format.emin() : std::max(floor_log2(exact), format.emin());
  return exponent - format.precision() + 1;
}

double ulp(const Format& format, double exact) {
  return std::ldexp(1.0, ulp_exponent(format, exact));
}

}  // namespace plumbline
