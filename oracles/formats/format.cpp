// SPDX-License-Identifier: MIT
// The catalog: every number format of plumbline in one table. Nothing else in the tree knows a bias
// or a NaN code. Parameters: IEEE 754-2019 (f16, f32, f64), OCP 8-bit Floating Point
// Specification 1.0 (e4m3, e5m2), OCP Microscaling Formats 1.0 (e2m1, e2m3, e3m2, ue8m0), PTX ISA
// (tf32, and the canonical NaNs, which are NVIDIA's: all ones).
#include "oracles/formats/format.h"

#include <array>
#include <cstddef>

namespace plumbline {
namespace {

using enum Specials;

// Rows in the order of FormatId. Integers have no exponent field; their emin() and emax() mean
// nothing.
// clang-format off
constexpr std::array kFormats{
    // id                name    stored exponent mantissa  bias  specials   sign   integer canonical NaN       padding
    Format{FormatId::e2m1,  "e2m1",   8,     2,      1,      1,  none,      true,  false,  0x7,                 0},
    Format{FormatId::e2m3,  "e2m3",   8,     2,      3,      1,  none,      true,  false,  0x1f,               0},
    Format{FormatId::e3m2,  "e3m2",   8,     3,      2,      3,  none,      true,  false,  0x1f,               0},
    Format{FormatId::e4m3,  "e4m3",   8,     4,      3,      7,  nan_only,  true,  false,  0x7f,                0},
    Format{FormatId::e5m2,  "e5m2",   8,     5,      2,     15,  ieee,      true,  false,  0x7f,                0},
    Format{FormatId::ue8m0, "ue8m0",  8,     8,      0,    127,  scale_nan, false, false,  0xff,                0},
    Format{FormatId::f16,   "f16",   16,     5,     10,     15,  ieee,      true,  false,  0x7fff,              0},
    Format{FormatId::bf16,  "bf16",  16,     8,      7,    127,  ieee,      true,  false,  0x7fff,              0},
    Format{FormatId::tf32,  "tf32",  32,     8,     10,    127,  ieee,      true,  false,  0x7fffffff,         13},
    Format{FormatId::f32,   "f32",   32,     8,     23,    127,  ieee,      true,  false,  0x7fffffff,          0},
    Format{FormatId::f64,   "f64",   64,    11,     52,   1023,  ieee,      true,  false,  0x7fffffffffffffff,  0},
    Format{FormatId::s8,    "s8",     8,     0,      7,      0,  none,      true,  true,   0,                   0},
    Format{FormatId::u8,    "u8",     8,     0,      8,      0,  none,      false, true,   0,                   0},
    Format{FormatId::s32,   "s32",   32,     0,     31,      0,  none,      true,  true,   0,                   0},
    Format{FormatId::s64,   "s64",   64,     0,     63,      0,  none,      true,  true,   0,                   0},
};

// clang-format on

constexpr bool rows_follow_the_enumeration() {
  for (std::size_t row = 0; row < kFormats.size(); ++row) {
    if (static_cast<std::size_t>(kFormats[row].id) != row) return false;
  }
  return true;
}

static_assert(rows_follow_the_enumeration());

}  // namespace

const Format& format(FormatId id) { return kFormats[static_cast<std::size_t>(id)]; }

std::span<const Format> all_formats() { return kFormats; }

std::optional<FormatId> format_by_name(std::string_view name) {
  for (const Format& candidate : kFormats) {
    if (candidate.name == name) return candidate.id;
  }
  return std::nullopt;
}

}  // namespace plumbline
