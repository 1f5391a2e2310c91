// SPDX-License-Identifier: MIT
// Rounding defined without looking at a single bit of the input: a format is the sorted list of its
// finite magnitudes, computed from the S/E/M columns of the format's published table (repeated here
// on purpose), and rounding is finding the two members around x and comparing x with them and with
// their midpoint. Midpoints of formats with at most 11 significant bits are doubles and comparing
// doubles is exact, so nothing here rounds.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "oracles/formats/encode.h"

namespace plumbline::test {

struct PublishedFormat {
  std::string_view name;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  int finite_codes;        // codes 0 .. finite_codes-1 are finite magnitudes
  std::uint64_t infinity;  // the code, or 0 where there is none
  std::uint64_t nan;       // what NaN becomes
  std::uint64_t sign;

  // FP4 and FP6 have neither infinity nor NaN.
  bool has_specials() const { return nan != static_cast<std::uint64_t>(finite_codes) - 1; }
};

// clang-format off
inline constexpr PublishedFormat kPublished[] = {
    // name    E   M  bias  finite   infinity  NaN     sign
    {"e2m1",   2,  1,   1,  0x8,     0,        0x7,    0x8},
    {"e2m3",   2,  3,   1,  0x20,    0,        0x1f,   0x20},
    {"e3m2",   3,  2,   3,  0x20,    0,        0x1f,   0x20},
    {"e4m3",   4,  3,   7,  0x7f,    0,        0x7f,   0x80},
    {"e5m2",   5,  2,  15,  0x7c,    0x7c,     0x7f,   0x80},
    {"f16",    5, 10,  15,  0x7c00,  0x7c00,   0x7fff, 0x8000},
    {"bf16",   8,  7, 127,  0x7f80,  0x7f80,   0x7fff, 0x8000},
};

// clang-format on

// The finite magnitudes in order; the index is the code. One more value follows the largest: what
// it would be if the exponent had no end, which is what decides overflow.
inline std::vector<double> magnitudes_and_one_more(const PublishedFormat& published) {
  std::vector<double> values;
  for (int code = 0; code <= published.finite_codes; ++code) {
    const int field = code >> published.mantissa_bits;
    const double fraction =
        std::ldexp(code & ((1 << published.mantissa_bits) - 1), -published.mantissa_bits);
    const double value = field == 0 ? std::ldexp(fraction, 1 - published.bias)
                                    : std::ldexp(1.0 + fraction, field - published.bias);
    values.push_back(value);
  }
  return values;
}

// The code x rounds to, for lower <= |x| < upper where lower and upper are the values at index and
// index + 1.
inline std::uint64_t expected_code(const PublishedFormat& published,
                                   const std::vector<double>& values, std::size_t index, double x,
                                   Rounding rounding, Overflow overflow) {
  const double lower = values[index];
  const double midpoint = lower + (values[index + 1] - lower) / 2;
  const bool negative = std::signbit(x);
  const double magnitude = std::fabs(x);
  bool step = false;
  switch (rounding) {
    case Rounding::nearest_even:
      step = magnitude > midpoint || (magnitude == midpoint && index % 2 == 1);
      break;
    case Rounding::nearest_away:
      step = magnitude >= midpoint;
      break;
    case Rounding::toward_zero:
    case Rounding::stochastic:
      break;
    case Rounding::up:
      step = magnitude > lower && !negative;
      break;
    case Rounding::down:
      step = magnitude > lower && negative;
      break;
  }
  const std::size_t code = index + (step ? 1 : 0);
  const std::uint64_t sign = negative ? published.sign : 0;
  if (static_cast<int>(code) < published.finite_codes) return code | sign;
  const bool saturates = overflow == Overflow::saturate || !published.has_specials();
  if (saturates) return static_cast<std::uint64_t>(published.finite_codes - 1) | sign;
  return published.infinity != 0 ? published.infinity | sign : published.nan;
}

}  // namespace plumbline::test
