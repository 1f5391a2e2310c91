// SPDX-License-Identifier: MIT
// What an instruction of PTX that turns one number into another says it does: a conversion, or a
// function of one operand (of two: division).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "oracles/base/result.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/format.h"

namespace plumbline {

// A type as instructions name it: floats and integers of at most 32 bits, and pairs of them in one
// register.
struct ScalarType {
  std::string_view name;  // "e4m3x2"
  FormatId format = FormatId::f32;
  int integer_bits = 0;  // 0: a float of `format`
  bool is_signed = true;
  int elements = 1;

  bool is_integer() const { return integer_bits > 0; }

  int element_bits() const;

  int bits() const { return elements * element_bits(); }
};

enum class ScanFunction : std::uint8_t {
  identity,  // cvt
  ex2,
  lg2,
  rcp,
  rsqrt,
  sqrt,
  sin,
  cos,
  tanh,
  div,
};

struct ScanInstruction {
  std::string spelling;  // "cvt.rn.satfinite.e4m3x2.f32"
  ScanFunction function = ScanFunction::identity;
  ScalarType to, from;
  bool approximate = false;  // .approx, .full: off by what PTX documents
  bool full = false;         // .full
  bool to_integral = false;  // .rni .rzi .rmi .rpi: `rounding` goes to an integral value
  Rounding rounding = Rounding::nearest_even;
  bool ftz = false;
  bool sat = false;        // to [0, 1], or to the integers there are
  bool satfinite = false;  // to the largest finite number
  bool relu = false;

  // Whether subnormal numbers of a format are zero to it. Conversions flush f32 alone.
  bool flushes(FormatId format) const {
    return ftz && (format == FormatId::f32 || function != ScanFunction::identity);
  }

  // Of integers that do not fit; .sat takes the nearest.
  bool keeps_low_bits() const { return to.is_integer() && from.is_integer() && !sat; }

  // Registers that it reads: two of a conversion into a pair, and of a division.
  int sources() const;
};

// An Error (bad_input) says why an instruction cannot be scanned: it is none of these, it is
// misspelled, or its operands have too many bits.
Result<ScanInstruction> parse_scan_instruction(std::string_view spelling);

// Whether it is a conversion or function of these at all, to be picked out of a kernel's code:
// others of the same opcodes (cvt.pack, 64-bit operands) are.
bool is_scalar_function(std::string_view spelling);

// The spellings that globs choose from: conversions between floats and to and from integers, and
// functions, as compilers emit them.
std::span<const std::string_view> known_scan_instructions();

}  // namespace plumbline
