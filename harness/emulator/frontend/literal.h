// SPDX-License-Identifier: MIT
// Numbers as PTX writes them: 12, 12U, 0x1F, 017, 0b101, 0f3F800000 (f32 bits), 0d3FF0000000000000
// (f64 bits), 1.5e-3.
//
// Constant expressions (PTX ISA 9.0, 4.5.4): numbers and WARP_SZ with C's operators, parentheses,
// and the casts (.s64) and (.u64). Integers are .s64, or .u64 where they have a U or do not fit an
// .s64; two of them are .u64 where either is. What the manual leaves open is as ptxas 13.0 has it:
// shifts go by their amount modulo 64, `~` and `%` give a .u64, `?:` has the type of the operand
// that it chooses, and a division by zero is an error where its value is not used, too.
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/emulator/frontend/cursor.h"

namespace plumbline::emulator {

struct Literal {
  std::uint64_t value = 0;   // integer, or float bits; negative integers in two's complement
  int float_bits = 0;        // 0 for an integer, else 32 or 64: the width of the bits in `value`
  bool negative = false;     // written with a minus
  bool is_unsigned = false;  // an integer with a U, or too large for 64 bits with a sign
};

enum class Sign : std::uint8_t { optional, plus, minus };

// Reads a number and its sign, where that was not read before; an error of the cursor if there is
// none.
Literal parse_literal(Cursor& cursor, Sign sign = Sign::optional);

// The integer, where only an integer between low and high makes sense ("alignment", "register
// count").
std::int64_t parse_integer(Cursor& cursor, std::string_view what, std::int64_t low,
                           std::int64_t high);

struct Constant {
  Literal literal;
  bool computed = false;  // more than a number and its sign: cut to the bits that there are
};

// Whether one begins here. "!" may also precede a predicate register, where none does.
bool starts_constant(const Cursor& cursor);

Constant parse_constant(Cursor& cursor);

// "+" and an integer expression, or one that begins with "-", behind the name of a variable or an
// address's register; 0 where there is none.
std::int64_t parse_offset(Cursor& cursor);

}  // namespace plumbline::emulator
