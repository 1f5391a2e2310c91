// SPDX-License-Identifier: MIT
// f16 and bf16 to and from f32, and f32 to e4m3 and e5m2, in a few integer operations each so that
// lane loops vectorise. oracles/formats is the specification (and what the tests compare with);
// this is only fast.
#pragma once

#include <cstdint>

#include "harness/emulator/instructions/rounding.h"

namespace plumbline::emulator {

// Exact. NaN becomes the canonical f32 NaN.
[[gnu::always_inline]] inline float bf16_to_f32(std::uint16_t bits) {
  return as_float(canonical(std::uint32_t{bits} << 16));
}

[[gnu::always_inline]] inline float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  // Scaling a value placed in f32's fields by 2^112 moves the bias and normalises subnormals at
  // once.
  const float scaled = as_float(magnitude << 13) * 0x1p112f;
  std::uint32_t out = as_bits(scaled);
  out = magnitude >= 0x7c00 ? 0x7f800000 | (magnitude & 0x3ff) << 13 : out;
  out = magnitude > 0x7c00 ? kCanonicalNan : out | sign;
  return as_float(out);
}

// Round to nearest even; NaN becomes 0x7fff.
[[gnu::always_inline]] inline std::uint16_t f32_to_bf16(std::uint32_t bits) {
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<std::uint16_t>(is_nan_bits(bits) ? 0x7fff : rounded);
}

[[gnu::always_inline]] inline std::uint16_t f32_to_f16(std::uint32_t bits) {
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  // Normal results: move the bias, add half an ulp (ties to even by the odd bit).
  const std::uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  // Subnormal results: adding 0.5 puts the last bit of f16 at the last bit of f32, and rounds
  // there.
  const std::uint32_t tiny = as_bits(as_float(magnitude) + 0.5f) - 0x3f000000;
  std::uint32_t out = magnitude < 0x38800000 ? tiny : normal;
  out = magnitude >= 0x477ff000 ? 0x7c00 : out;
  return static_cast<std::uint16_t>(magnitude > 0x7f800000 ? 0x7fff : out | sign);
}

// Round to nearest even and saturate (.satfinite); NaN becomes 0x7f. `Bits` of mantissa, the
// exponent's bias, and the largest code.
template <int Bits, int Bias, std::uint32_t Largest>
[[gnu::always_inline]] inline std::uint8_t f32_to_fp8(std::uint32_t bits) {
  constexpr int kShift = 23 - Bits;
  constexpr std::uint32_t kSmallestNormal = (127 + 1 - Bias) << 23;
  // A power of two whose last bit in f32 is the last bit of a subnormal.
  constexpr float kAligned = static_cast<float>(1u << (24 - Bias - Bits));
  const std::uint32_t magnitude = bits & 0x7fffffff;
  const std::uint32_t normal =
      (magnitude - ((127 - Bias) << 23) + ((1u << (kShift - 1)) - 1) + (magnitude >> kShift & 1)) >>
      kShift;
  const std::uint32_t tiny = as_bits(as_float(magnitude) + kAligned) - as_bits(kAligned);
  std::uint32_t out = magnitude < kSmallestNormal ? tiny : normal;
  out = out > Largest ? Largest : out;
  return static_cast<std::uint8_t>(is_nan_bits(bits) ? 0x7f : out | (bits >> 24 & 0x80));
}

[[gnu::always_inline]] inline std::uint8_t f32_to_e4m3(std::uint32_t bits) {
  return f32_to_fp8<3, 7, 0x7e>(bits);
}

[[gnu::always_inline]] inline std::uint8_t f32_to_e5m2(std::uint32_t bits) {
  return f32_to_fp8<2, 15, 0x7b>(bits);
}

}  // namespace plumbline::emulator
