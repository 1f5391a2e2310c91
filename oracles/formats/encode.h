// SPDX-License-Identifier: MIT
// Exact values to bits: the only code in the tree that rounds to a number format.
// It rounds once, from the exact value; going through f32 first would be a different function.
#pragma once

#include <cstdint>

#include "oracles/formats/decode.h"
#include "oracles/formats/format.h"

namespace plumbline {

enum class Rounding : std::uint8_t {
  nearest_even,
  nearest_away,  // ties away from zero
  toward_zero,
  up,            // toward +infinity
  down,          // toward -infinity
  stochastic,    // up in magnitude with probability equal to the discarded fraction
};

enum class Overflow : std::uint8_t {
  to_special,  // to Inf where the format has one, else NaN (e4m3); directed modes still stop at the largest finite
               // value where IEEE 754 says so; integers and e2m1 saturate
  saturate,    // to the largest finite magnitude; infinities too ("satfinite"); NaN stays NaN
};

struct EncodeOptions {
  Rounding rounding = Rounding::nearest_even;
  Overflow overflow = Overflow::to_special;
  std::uint64_t random_bits = 0;  // for Rounding::stochastic: a uniform 64-bit word
};

// A value known well enough to round: a Decoded value, plus "and a little more in magnitude" when something non-zero
// below the last bit of the significand was dropped. The significand may use all 64 bits.
struct Unrounded {
  Decoded value;
  bool sticky = false;
};

std::uint64_t encode(const Format& format, const Unrounded& value, const EncodeOptions& options = {});

// Every double is exact, so this too rounds once.
std::uint64_t encode(const Format& format, double value, const EncodeOptions& options = {});

// The neighbouring finite values of a finite code, in value order; false where there is none.
bool next_up(const Format& format, std::uint64_t bits, std::uint64_t& out);
bool next_down(const Format& format, std::uint64_t bits, std::uint64_t& out);

}  // namespace plumbline
