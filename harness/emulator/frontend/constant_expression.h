// SPDX-License-Identifier: MIT
// Constant expressions (PTX ISA 9.0, 4.5.4): numbers and WARP_SZ with C's operators, parentheses,
// and the casts (.s64) and (.u64). Integers are .s64, or .u64 where they have a U or do not fit an
// .s64; two of them are .u64 where either is. What the manual leaves open is as ptxas 13.0 has it:
// shifts go by their amount modulo 64, `~` and `%` give a .u64, `?:` has the type of the operand
// that it chooses, and a division by zero is an error where its value is not used, too.
#pragma once

#include <cstdint>

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/literal.h"

namespace plumbline::emulator {

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
