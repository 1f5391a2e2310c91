// SPDX-License-Identifier: MIT
// Exact values to bits: the only code that rounds them to a stored format. It rounds once, from the
// exact value; going through f32 first would be a different function.
#pragma once

#include <cstdint>

#include "oracles/formats/decode.h"
#include "oracles/formats/format.h"

namespace plumbline {

enum class Rounding : std::uint8_t {
  nearest_even,
  nearest_away,  // ties away from zero
  toward_zero,
  up,          // toward +infinity
  down,        // toward -infinity
  stochastic,  // up in magnitude with probability equal to the discarded fraction
};

enum class Overflow : std::uint8_t {
  to_special,  // to Inf where the format has one, else NaN (e4m3); directed modes still stop at the
               // largest finite value where IEEE 754 says so; integers and e2m1 saturate
  saturate,    // to the largest finite magnitude; infinities too ("satfinite"); NaN stays NaN
};

struct EncodeOptions {
  Rounding rounding = Rounding::nearest_even;
  Overflow overflow = Overflow::to_special;
  std::uint64_t random_bits = 0;  // for Rounding::stochastic: a uniform 64-bit word
};

// A value known well enough to round: a Decoded value, plus "and a little more in magnitude" when
// something non-zero below the last bit of the significand was dropped. The significand may use all
// 64 bits; when sticky is set it must reach at least one bit below the last bit of the result, or
// the direction of rounding would be unknown (asserted). A significand of 0 with sticky is a
// non-zero value smaller than half the smallest number of any format.
struct Unrounded {
  Decoded value;
  bool sticky = false;
};

// NaN gives the format's canonical NaN, of positive sign, and so does overflow to NaN (e4m3,
// ue8m0). Zero keeps its sign where the format has one.
//
// ue8m0 has no sign and no zero: the sign is dropped before rounding, and everything below 2^-127,
// zero included, gives code 0 (2^-127) in every mode, as cvt.{rz,rp}.ue8m0x2.f32 does. A tie goes
// to the larger power of two: with one significant bit neither neighbor is even, and IEEE 754-2019
// 4.3.1 then takes the larger.
//
// Stochastic rounding compares the first 64 discarded bits with random_bits, so it is monotone for
// one word.
std::uint64_t encode(const Format& format, const Unrounded& value,
                     const EncodeOptions& options = {});

// Every double is exact, so this too rounds once.
std::uint64_t encode(const Format& format, double value, const EncodeOptions& options = {});

// The neighboring finite values of a finite code, in value order; false where there is none and
// for NaN and Inf. As in IEEE 754, both zeros count as one value, the step from -min up is -0, and
// the step from +min down is +0.
bool next_up(const Format& format, std::uint64_t bits, std::uint64_t& out);
bool next_down(const Format& format, std::uint64_t bits, std::uint64_t& out);

}  // namespace plumbline
