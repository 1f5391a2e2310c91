// SPDX-License-Identifier: MIT
// f32 results in the four rounding modes without touching the rounding mode of the processor. Sums
// and products of f32 values are known exactly as a double plus an error term; one comparison then
// decides the last bit. Also the conventions of the GPU: NaN, .ftz, .sat.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "harness/emulator/decode/types.h"
#include "oracles/base/numbers.h"

namespace plumbline::emulator {

constexpr std::uint32_t kCanonicalNan = 0x7fffffff;

[[gnu::always_inline]] inline bool is_nan_bits(std::uint32_t x) {
  return (x & 0x7fffffff) > 0x7f800000;
}

[[gnu::always_inline]] inline std::uint32_t canonical(std::uint32_t x) {
  return is_nan_bits(x) ? kCanonicalNan : x;
}

// f64 has no canonical NaN: the first operand that is one is handed on, quiet, and an invalid
// operation gives this one.
constexpr std::uint64_t kInvalidNan64 = 0xfff8000000000000;

[[gnu::always_inline]] inline bool is_nan_bits(std::uint64_t x) {
  return (x & ~(std::uint64_t{1} << 63)) > 0x7ff0000000000000;
}

template <typename... Operands>
[[gnu::always_inline]] inline std::uint64_t hand_nan_on(double result, Operands... operand) {
  const std::uint64_t operands[] = {operand...};
  std::uint64_t nan = kInvalidNan64;
  for (std::size_t i = sizeof...(operand); i-- > 0;) {
    nan = is_nan_bits(operands[i]) ? operands[i] | 0x0008000000000000 : nan;
  }
  return result != result ? nan : __builtin_bit_cast(std::uint64_t, result);
}

// Subnormals become zero of the same sign.
[[gnu::always_inline]] inline std::uint32_t flush(std::uint32_t x) {
  return (x & 0x7f800000) == 0 ? x & 0x80000000 : x;
}

template <bool Ftz>
[[gnu::always_inline]] inline std::uint32_t flush_if(std::uint32_t x) {
  return Ftz ? flush(x) : x;
}

// .sat: to [0, 1]; NaN and negative zero become +0.
[[gnu::always_inline]] inline std::uint32_t saturate(std::uint32_t x) {
  const std::uint32_t positive = (x >> 31) != 0 || is_nan_bits(x) ? 0 : x;
  return positive > 0x3f800000 ? 0x3f800000 : positive;
}

[[gnu::always_inline]] inline float as_float(std::uint32_t x) {
  return __builtin_bit_cast(float, x);
}

[[gnu::always_inline]] inline std::uint32_t as_bits(float x) {
  return __builtin_bit_cast(std::uint32_t, x);
}

// The f32 nearest to, or next to, the exact value sum + error, where |error| is at most half an ulp
// of sum.
inline float round_to_f32(double sum, double error, RoundingMode mode) {
  const float nearest = static_cast<float>(sum);
  if (!(sum - sum == 0)) return nearest;  // Inf or NaN: exact, or no number
  const double back = static_cast<double>(nearest);
  const bool is_above = back > sum || (back == sum && error < 0);
  const bool is_below = back < sum || (back == sum && error > 0);
  switch (mode) {
    case RoundingMode::rz:
      if (is_above && (sum > 0 || (sum == 0 && error > 0))) return std::nextafter(nearest, 0.0f);
      if (is_below && (sum < 0 || (sum == 0 && error < 0))) return std::nextafter(nearest, 0.0f);
      return nearest;
    case RoundingMode::rm:
      return is_above ? std::nextafter(nearest, -kFloatInfinity) : nearest;
    case RoundingMode::rp:
      return is_below ? std::nextafter(nearest, kFloatInfinity) : nearest;
    default: {
      // Double rounding: sum may sit exactly between two f32 values while the exact value does not.
      if (error == 0 || back == sum) return nearest;
      const float other = back > sum ? std::nextafter(nearest, -kFloatInfinity)
                                     : std::nextafter(nearest, kFloatInfinity);
      const double to_other = std::fabs(static_cast<double>(other) - sum),
                   to_nearest = std::fabs(back - sum);
      if (to_other != to_nearest) return nearest;
      return (error > 0) == (other > nearest) ? other : nearest;
    }
  }
}

// a + b = sum + error exactly (Knuth's two-sum).
struct ExactSum {
  double sum, error;
};

inline ExactSum exact_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  return {sum, error == error ? error : 0.0};
}

// What operations on f32 values come to, before they are rounded. Of a product plus c, of quotients
// and roots the error is right in its sign and nearly in its size.
inline ExactSum exact_product(float a, float b) {
  return {static_cast<double>(a) * static_cast<double>(b), 0.0};
}

inline ExactSum exact_fma(float a, float b, float c) {
  return exact_sum(exact_product(a, b).sum, c);
}

inline ExactSum exact_quotient(float a, float b) {
  const double x = a, y = b, quotient = x / y;
  if (!(quotient - quotient == 0) || quotient == 0) return {quotient, 0.0};
  return {quotient, std::fma(-quotient, y, x) / y};
}

inline ExactSum exact_root(float a) {
  const double x = a, root = std::sqrt(x);
  if (!(root - root == 0) || root == 0) return {root, 0.0};
  return {root, std::fma(-root, root, x) / (2 * root)};
}

inline float add_rounded(float a, float b, RoundingMode mode) {
  const ExactSum s = exact_sum(a, b);
  if (s.sum == 0 && s.error == 0) {
    // x + (-x) is -0 only toward minus infinity; (-0) + (-0) is -0 always.
    if (std::signbit(a) && std::signbit(b)) return -0.0f;
    return a == 0 && b == 0 && std::signbit(a) == std::signbit(b)
               ? a
               : (mode == RoundingMode::rm ? -0.0f : 0.0f);
  }
  return round_to_f32(s.sum, s.error, mode);
}

inline float multiply_rounded(float a, float b, RoundingMode mode) {
  return round_to_f32(exact_product(a, b).sum, 0.0, mode);
}

inline float fma_rounded(float a, float b, float c, RoundingMode mode) {
  const ExactSum s = exact_fma(a, b, c);
  if (s.sum == 0 && s.error == 0) {
    const bool same_sign = std::signbit(exact_product(a, b).sum) == std::signbit(c);
    if (same_sign) return std::signbit(c) ? -0.0f : 0.0f;
    return mode == RoundingMode::rm ? -0.0f : 0.0f;
  }
  return round_to_f32(s.sum, s.error, mode);
}

inline float divide_rounded(float a, float b, RoundingMode mode) {
  const ExactSum q = exact_quotient(a, b);
  if (!(q.sum - q.sum == 0) || q.sum == 0) return static_cast<float>(q.sum);
  return round_to_f32(q.sum, q.error, mode);
}

inline float sqrt_rounded(float a, RoundingMode mode) {
  const ExactSum root = exact_root(a);
  if (!(root.sum - root.sum == 0) || root.sum == 0) return static_cast<float>(root.sum);
  return round_to_f32(root.sum, root.error, mode);
}

}  // namespace plumbline::emulator
