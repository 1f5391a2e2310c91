// SPDX-License-Identifier: MIT
// Rounding probabilities to the format in which they meet V, in double and without branches, so
// that a vector version is easy. encode() is the specification; a test compares every case.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "oracles/formats/decode.h"
#include "oracles/formats/format.h"

namespace plumbline {

struct ProbabilityRounding {
  const Format* to;
  int dropped_bits;          // of a double's significand
  double scale, unscale;     // 2^shift and back
  double smallest, largest;  // normal number; finite number
  double grid;               // adding and taking it away rounds subnormals

  ProbabilityRounding(FormatId id, int shift)
      : to(&format(id)),
        dropped_bits(52 - to->mantissa_bits),
        scale(std::ldexp(1.0, shift)),
        unscale(std::ldexp(1.0, -shift)),
        smallest(std::ldexp(1.0, to->emin())),
        largest(to_double(*to, to->max_finite())),
        grid(std::ldexp(1.5, 52 + to->emin() - to->mantissa_bits)) {}

  // p >= 0 times 2^shift rounded to nearest even, saturating, times 2^-shift.
  double operator()(double p) const {
    const double shifted = p * scale;
    if (shifted < smallest) return ((shifted + grid) - grid) * unscale;
    const auto bits = std::bit_cast<std::uint64_t>(shifted);
    const std::uint64_t last = std::uint64_t{1} << dropped_bits;
    const std::uint64_t rounded =
        (bits + (last / 2 - 1) + ((bits >> dropped_bits) & 1)) & ~(last - 1);
    return std::min(std::bit_cast<double>(rounded), largest) * unscale;
  }

  // Whether all numbers within a factor 1 +- tolerance of p round to the same.
  bool sure(double p, double tolerance) const {
    return (*this)(p * (1 - tolerance)) == (*this)(p * (1 + tolerance));
  }
};

}  // namespace plumbline
