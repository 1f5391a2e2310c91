// SPDX-License-Identifier: MIT
// The .approx functions of the special-function unit. What a chip's tables give is not published,
// so a launch chooses how results err (ApproximationErrors of harness/device/device.h), within what
// the ISA documents and docs/emulator.md lists.
#pragma once

#include "harness/emulator/decode/decode.h"

namespace plumbline::emulator {

// `.approx` or `.full`, `.ftz` and the type are already taken.
void decode_approximate(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                        bool ftz, Inst& out);

// ex2.approx and tanh.approx of f16, bf16 and their pairs. False: the instruction is none of these.
bool decode_approximate_half(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                             Inst& out);

}  // namespace plumbline::emulator
