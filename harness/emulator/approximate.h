// SPDX-License-Identifier: MIT
// The .approx functions of the special-function unit. They are evaluated in double and rounded once, which is *not* what
// the hardware's interpolation tables give: results may differ from a GPU by the error the ISA documents (two ulp at
// most for ex2, rcp, rsqrt, sqrt; see approximate.cpp, where the table says so for each).
#pragma once

#include <span>
#include <string_view>

#include "harness/emulator/decode.h"

namespace plumbline::emulator {

struct ApproximateRow {
  std::string_view form;     // "ex2.approx.f32"
  std::string_view promise;  // what the ISA promises
  bool bit_exact;            // the emulator gives the hardware's bits
};

std::span<const ApproximateRow> approximate_table();

// `.approx` or `.full`, `.ftz` and the type are already taken.
void decode_approximate(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, bool ftz, Inst& out);

}  // namespace plumbline::emulator
