// SPDX-License-Identifier: MIT
// The fundamental types of declarations (.b32, .f16x2, .pred ...) by size. Instruction types are
// not looked up here.
#pragma once

#include <string_view>

namespace plumbline::emulator {

// Bits of a value of this type, written with its dot; 1 for .pred, 0 if there is no such type.
int type_bits(std::string_view directive);

bool is_float_type(std::string_view directive);

}  // namespace plumbline::emulator
