// SPDX-License-Identifier: MIT
// Bits to exact values. Nothing here rounds.
#pragma once

#include <cstdint>

#include "oracles/formats/format.h"

namespace plumbline {

enum class ValueClass : std::uint8_t { zero, finite, infinite, nan };

// For finite: value = (negative ? -1 : 1) * significand * 2^exponent. Subnormals keep the format's
// minimum exponent, so the significand is not normalized. For zero the significand is 0 and the
// sign is kept.
struct Decoded {
  ValueClass cls = ValueClass::zero;
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;
};

Decoded decode(const Format& format, std::uint64_t bits);

// The value as a double: exact for every format of the catalog (NaN becomes a quiet NaN), but for
// s64 beyond 2^53, which is rounded.
double to_double(const Format& format, std::uint64_t bits);

// to_double for a whole array of stored elements; vectorized or table-driven for 8- and 16-bit
// formats.
void to_double(const Format& format, const void* bits, std::int64_t count, double* out);

// The same as floats, for formats whose values all fit in one: at most 24 significant bits (not
// f64, s32 and s64).
void to_float(const Format& format, const void* bits, std::int64_t count, float* out);

}  // namespace plumbline
