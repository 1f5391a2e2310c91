// SPDX-License-Identifier: MIT
// A number format as data: how many exponent and mantissa bits, which bias, which codes are Inf and
// NaN. Nothing here computes; decode.h and encode.h do. The catalog is one table: nothing else in
// the tree knows a bias or a NaN code. Parameters: IEEE 754-2019 (f16, f32, f64), OCP 8-bit
// Floating Point Specification 1.0 (e4m3, e5m2), OCP Microscaling Formats 1.0 (e2m1, e2m3, e3m2,
// ue8m0), PTX ISA (tf32, and the canonical NaNs, which are NVIDIA's: all ones).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace plumbline {

enum class FormatId : std::uint8_t {
  e2m1,
  e2m3,
  e3m2,
  e4m3,
  e5m2,
  ue8m0,
  f16,
  bf16,
  tf32,
  f32,
  f64,
  s8,
  u8,
  s32,
  s64
};

// Which codes are not finite numbers.
enum class Specials : std::uint8_t {
  none,       // every code is a number (FP4, FP6, integers)
  ieee,       // all-ones exponent: Inf when the mantissa is 0, else NaN
  nan_only,   // OCP e4m3: all-ones exponent and mantissa is NaN; no Inf
  scale_nan,  // ue8m0: code 0xff is NaN; no zero, no sign
};

struct Format {
  FormatId id;
  std::string_view name;  // "bf16": as in manifests, case files and reports
  int storage_bits;  // bits one element takes in memory (tf32: 32; e2m1 and FP6: 8, one code per byte)
  int exponent_bits;  // 0 for integers
  int mantissa_bits;  // stored fraction bits; for integers the number of value bits without sign
  int bias;
  Specials specials;
  bool has_sign;
  bool is_integer;
  std::uint64_t canonical_nan;  // the code encode() gives for NaN. Where a format has none, what
                                // the hardware's conversion gives: 0 for integers, +6 for e2m1
  int padding_bits = 0;         // low bits of the storage that carry nothing (tf32: 13)

  // Significant bits p, and the exponents of the smallest and largest normal number (2^emin,
  // 2^emax*...).
  constexpr int precision() const { return mantissa_bits + 1; }

  constexpr int emin() const { return specials == Specials::scale_nan ? -bias : 1 - bias; }

  constexpr int emax() const {
    const int top_field = (1 << exponent_bits) - 1 - bias;
    const bool top_field_is_special = specials == Specials::ieee || specials == Specials::scale_nan;
    return top_field - (top_field_is_special ? 1 : 0);
  }

  constexpr int storage_bytes() const { return storage_bits / 8; }

  constexpr bool has_infinity() const { return specials == Specials::ieee; }

  constexpr bool has_nan() const { return specials != Specials::none; }

  // The bits of the storage that carry the code, shifted down to bit 0: all of them but tf32's
  // padding and the unused upper half of an e2m1 byte. The sign, where there is one, is the highest
  // of them.
  constexpr int code_bits() const { return (has_sign ? 1 : 0) + exponent_bits + mantissa_bits; }

  // Code of the largest finite magnitude (sign bit clear), as stored.
  constexpr std::uint64_t max_finite() const {
    const std::uint64_t all_ones = (std::uint64_t{1} << (exponent_bits + mantissa_bits)) - 1;
    const std::uint64_t one = 1;
    switch (specials) {
      case Specials::none:
        return all_ones;
      case Specials::ieee:
        return (all_ones - (one << mantissa_bits)) << padding_bits;
      case Specials::nan_only:
      case Specials::scale_nan:
        return all_ones - 1;
    }
    return 0;
  }
};

// Rows in the order of FormatId. Integers have no exponent field; their emin() and emax() mean
// nothing.
// clang-format off
inline constexpr std::array kFormats = [] {
  using enum FormatId;
  using enum Specials;
  return std::array{
    // id          name  stored exp mant bias   specials   sign   integer canonical NaN      padding
    Format{e2m1,  "e2m1",   8,   2,   1,    1, none,      true,  false, 0x7,                0},
    Format{e2m3,  "e2m3",   8,   2,   3,    1, none,      true,  false, 0x1f,               0},
    Format{e3m2,  "e3m2",   8,   3,   2,    3, none,      true,  false, 0x1f,               0},
    Format{e4m3,  "e4m3",   8,   4,   3,    7, nan_only,  true,  false, 0x7f,               0},
    Format{e5m2,  "e5m2",   8,   5,   2,   15, ieee,      true,  false, 0x7f,               0},
    Format{ue8m0, "ue8m0",  8,   8,   0,  127, scale_nan, false, false, 0xff,               0},
    Format{f16,   "f16",   16,   5,  10,   15, ieee,      true,  false, 0x7fff,             0},
    Format{bf16,  "bf16",  16,   8,   7,  127, ieee,      true,  false, 0x7fff,             0},
    Format{tf32,  "tf32",  32,   8,  10,  127, ieee,      true,  false, 0x7fffffff,         13},
    Format{f32,   "f32",   32,   8,  23,  127, ieee,      true,  false, 0x7fffffff,         0},
    Format{f64,   "f64",   64,  11,  52, 1023, ieee,      true,  false, 0x7fffffffffffffff, 0},
    Format{s8,    "s8",     8,   0,   7,    0, none,      true,  true,  0,                  0},
    Format{u8,    "u8",     8,   0,   8,    0, none,      false, true,  0,                  0},
    Format{s32,   "s32",   32,   0,  31,    0, none,      true,  true,  0,                  0},
    Format{s64,   "s64",   64,   0,  63,    0, none,      true,  true,  0,                  0},
  };
}();

// clang-format on

constexpr const Format& format(FormatId id) { return kFormats[static_cast<std::size_t>(id)]; }

constexpr bool is_fp8(FormatId id) { return id == FormatId::e4m3 || id == FormatId::e5m2; }

// Whether instructions mix it with others: FP8, FP6 and FP4.
constexpr bool is_narrow(FormatId id) {
  return is_fp8(id) || id == FormatId::e3m2 || id == FormatId::e2m3 || id == FormatId::e2m1;
}

std::span<const Format> all_formats();
std::optional<FormatId> format_by_name(std::string_view name);

}  // namespace plumbline
