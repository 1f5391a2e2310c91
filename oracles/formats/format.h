// SPDX-License-Identifier: MIT
// A number format as data: how many exponent and mantissa bits, which bias, which codes are Inf and NaN.
// Nothing here computes; decode.h and encode.h do. The whole catalog is one table in format.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace plumbline {

enum class FormatId : std::uint8_t { e2m1, e4m3, e5m2, ue8m0, f16, bf16, tf32, f32, f64, s8, u8, s32 };

// Which codes are not finite numbers.
enum class Specials : std::uint8_t {
  none,        // every code is a number (e2m1, integers)
  ieee,        // all-ones exponent: Inf when the mantissa is 0, else NaN
  nan_only,    // OCP e4m3: all-ones exponent and mantissa is NaN; no Inf
  scale_nan,   // ue8m0: code 0xff is NaN; no zero, no sign
};

struct Format {
  FormatId id;
  std::string_view name;  // "bf16": as in manifests, case files and reports
  int storage_bits;       // bits one element takes in memory (tf32: 32; e2m1: 8, one code per byte)
  int exponent_bits;      // 0 for integers
  int mantissa_bits;      // stored fraction bits; for integers the number of value bits without sign
  int bias;
  Specials specials;
  bool has_sign;
  bool is_integer;
  std::uint64_t canonical_nan;  // the code encode() gives for NaN; 0 where there is none

  // Significant bits p, and the exponents of the smallest and largest normal number (2^emin, 2^emax*...).
  constexpr int precision() const { return mantissa_bits + 1; }

  constexpr int emin() const { return specials == Specials::scale_nan ? -bias : 1 - bias; }

  int emax() const;

  constexpr int storage_bytes() const { return storage_bits / 8; }

  bool has_infinity() const { return specials == Specials::ieee; }

  bool has_nan() const { return specials != Specials::none; }

  // Code of the largest finite magnitude (sign bit clear).
  std::uint64_t max_finite() const;
};

const Format& format(FormatId id);
std::span<const Format> all_formats();
std::optional<FormatId> format_by_name(std::string_view name);

}  // namespace plumbline
