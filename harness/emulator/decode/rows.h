// SPDX-License-Identifier: MIT
// Instructions whose every form is one table row: the full spelling, the shape of the operands, the
// handler.
//
// The shape reads "destination=sources", one letter per operand:
//   h 16 bits, w 32 bits, x 64 bits, p predicate
// so "x=ww" is a 64-bit destination and two 32-bit sources, placed in Inst::d, a, b, c, e in that
// order.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/emulator/decode/decode.h"

namespace plumbline::emulator {

struct Row {
  std::string_view form;
  std::string_view operands;
  HandlerSet handler;
  int sm = 0;  // first target that has it
};

// Finds the row of the instruction and fills `out`; refuses where there is none.
void decode_row(std::span<const Row> rows, Decoder& decoder, const Instruction& instruction,
                Modifiers& modifiers, Inst& out);

// "add.sat.s32": opcode and modifiers as written.
std::string spelling(const Instruction& instruction);

// Places operands as a shape says.
void place_operands(std::string_view shape, Decoder& decoder, const Instruction& instruction,
                    Inst& out);

}  // namespace plumbline::emulator
