// SPDX-License-Identifier: MIT
// Numbers as PTX writes them: 12, 12U, 0x1F, 017, 0b101, 0f3F800000 (f32 bits), 0d3FF0000000000000
// (f64 bits), 1.5e-3.
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

}  // namespace plumbline::emulator
