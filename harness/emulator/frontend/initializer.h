// SPDX-License-Identifier: MIT
// Initial values of .global and .const variables: numbers and addresses in nested { }.
#pragma once

#include <span>

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

// Reads what follows "=" into variable.initial and variable.relocations. `dimensions` are element
// counts, outermost first; the first may be 0 = as many as there are values, which is then set.
void parse_initializer(Cursor& cursor, Variable& variable, const Token& type,
                       std::span<std::int64_t> dimensions, std::int64_t& bytes_left);

}  // namespace plumbline::emulator
