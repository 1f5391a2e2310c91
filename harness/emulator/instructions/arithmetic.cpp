// SPDX-License-Identifier: MIT
// Opcodes that mean different work for different types.
#include "harness/emulator/decode/families.h"

namespace plumbline::emulator {

void decode_by_type(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out) {
  Modifiers copy = modifiers;
  switch (copy.take_type()) {
    case Type::pred:
      decode_predicate(decoder, instruction, modifiers, out);
      return;
    case Type::f32:
    case Type::f32x2:
    case Type::f64:
      decode_float(decoder, instruction, modifiers, out);
      return;
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2:
      decode_packed(decoder, instruction, modifiers, out);
      return;
    default:
      break;
  }
  if (instruction.has_modifier("cc")) {
    decode_carry(decoder, instruction, modifiers, out);
  } else {
    decode_integer(decoder, instruction, modifiers, out);
  }
}

std::span<const Family> arithmetic_families() {
  static constexpr Family kFamilies[] = {
      {"add", decode_by_type}, {"sub", decode_by_type}, {"mul", decode_by_type},
      {"mad", decode_by_type}, {"fma", decode_by_type}, {"div", decode_by_type},
      {"min", decode_by_type}, {"max", decode_by_type}, {"abs", decode_by_type},
      {"neg", decode_by_type}, {"and", decode_by_type}, {"or", decode_by_type},
      {"xor", decode_by_type}, {"not", decode_by_type},
  };
  return kFamilies;
}

}  // namespace plumbline::emulator
