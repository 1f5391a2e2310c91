// SPDX-License-Identifier: MIT
// Numbers as PTX writes them: 12, 12U, 0x1F, 017, 0b101, 0f3F800000 (f32 bits), 0d3FF0000000000000
// (f64 bits), 1.5e-3.
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/emulator/frontend/cursor.h"

namespace plumbline::emulator {

struct Literal {
  std::uint64_t value = 0;  // integer, or float bits; negative integers in two's complement
  int float_bits = 0;       // 0 for an integer, else 32 or 64: the width of the bits in `value`
  bool negative = false;    // written with a minus
};

// Reads an optional sign and a number; an error of the cursor if there is none.
Literal parse_literal(Cursor& cursor);

// The integer, where only an integer between low and high makes sense ("alignment", "register
// count").
std::int64_t parse_integer(Cursor& cursor, std::string_view what, std::int64_t low,
                           std::int64_t high);

}  // namespace plumbline::emulator
