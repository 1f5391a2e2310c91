// SPDX-License-Identifier: MIT
// The .approx functions of the special-function unit. They are evaluated in double and rounded once, which is *not* what
// the hardware's interpolation tables give: results may differ from a GPU by the error the ISA documents, which
// docs/emulator.md lists.
#pragma once

#include "harness/emulator/decode.h"

namespace plumbline::emulator {

// `.approx` or `.full`, `.ftz` and the type are already taken.
void decode_approximate(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, bool ftz, Inst& out);

}  // namespace plumbline::emulator
