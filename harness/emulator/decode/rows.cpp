// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/rows.h"

#include <string>

#include "oracles/base/assert.h"

namespace plumbline::emulator {
namespace {

int width_of(char letter) {
  switch (letter) {
    case 'h':
      return 16;
    case 'w':
      return 32;
    case 'x':
      return 64;
    default:
      PLUMB_ASSERT(!"unknown letter in an operand shape");
  }
}

}  // namespace

std::string spelling(const Instruction& instruction) {
  std::string form = instruction.opcode;
  for (const std::string& modifier : instruction.modifiers) form += "." + modifier;
  return form;
}

void place_operands(std::string_view shape, Decoder& decoder, const Instruction& instruction,
                    Inst& out) {
  const std::size_t equals = shape.find('=');
  const std::string_view sources = shape.substr(equals + 1);
  if (!decoder.require_operands(instruction, sources.size() + equals, sources.size() + equals))
    return;
  std::size_t next = 0;
  if (equals == 1) {
    const Operand& d = instruction.operands[next++];
    if (shape[0] == 'p') {
      out.p = decoder.predicate_destination(d);
    } else {
      out.d = decoder.destination(d, width_of(shape[0]));
    }
  }
  Slot* const places[] = {&out.a, &out.b, &out.c, &out.e};
  std::size_t place = 0;
  for (const char letter : sources) {
    const Operand& operand = instruction.operands[next++];
    if (letter == 'p') {
      out.p = decoder.predicate(operand);
    } else {
      *places[place++] = decoder.source(operand, width_of(letter));
    }
  }
}

void decode_row(std::span<const Row> rows, Decoder& decoder, const Instruction& instruction,
                Modifiers& modifiers, Inst& out) {
  const std::string form = spelling(instruction);
  for (const Row& row : rows) {
    if (row.form != form) continue;
    while (!modifiers.empty()) modifiers.take_first();
    decoder.require_sm(row.sm);
    place_operands(row.operands, decoder, instruction, out);
    out.execute = pick(row.handler);
    return;
  }
  decoder.refuse("the emulator has no such form");
}

}  // namespace plumbline::emulator
