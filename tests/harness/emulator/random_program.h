// SPDX-License-Identifier: MIT
// Random functions for the tests of liveness: straight code, loops, guarded writes, dead code,
// reads of registers that were never written. Opcodes mean nothing; only operands, guards and
// branches do.
#pragma once

#include <string>

#include "harness/emulator/frontend/module.h"
#include "oracles/base/random.h"

namespace plumbline::emulator::test {

inline Operand register_operand(int index) {
  Operand operand;
  operand.kind = OperandKind::reg;
  operand.index = index;
  return operand;
}

struct ProgramShape {
  int registers = 12;
  int instructions = 30;
  int branch_percent = 20;
  int guard_percent = 20;
  bool wide = true;  // also 64- and 128-bit registers, and fragments that want neighboring slots
};

inline Function random_program(Random& random, const ProgramShape& shape) {
  Function function;
  for (int r = 0; r < shape.registers; ++r) {
    constexpr int kBits[] = {1, 32, 32, 16, 64, 128};
    const int bits = r == 0 ? 1 : kBits[random.below(shape.wide ? 6 : 2)];
    function.registers.push_back(Register{"r" + std::to_string(r), bits});
  }
  const auto any = [&](bool predicate) {
    int r = 0;
    do {
      r = static_cast<int>(random.below(shape.registers));
    } while (predicate && !function.registers[r].is_predicate());
    return r;
  };
  for (int i = 0; i < shape.instructions; ++i) {
    Instruction instruction;
    instruction.text = std::to_string(i);
    if (static_cast<int>(random.below(100)) < shape.guard_percent) instruction.guard = any(true);
    if (static_cast<int>(random.below(100)) < shape.branch_percent) {
      instruction.opcode = random.below(8) == 0 ? "ret" : "bra";
      if (random.below(4) != 0) instruction.guard = any(true);
      if (instruction.opcode == "bra") {
        const auto target = static_cast<int>(random.below(shape.instructions + 1));
        Operand label;
        label.kind = OperandKind::label;
        label.index = static_cast<int>(function.labels.size());
        function.labels.push_back(Label{"L" + std::to_string(i), target, 0});
        instruction.operands.push_back(label);
      }
    } else {
      const auto kind = random.below(10);
      if (kind == 3 && shape.wide) {
        instruction.opcode = "mma";
        for (int k = 0; k < 3; ++k) {
          Operand fragment;
          fragment.kind = OperandKind::vector;
          for (auto count = 2 << random.below(2); count > 0; --count) {
            fragment.elements.push_back(register_operand(any(false)));
          }
          instruction.operands.push_back(std::move(fragment));
        }
        function.instructions.push_back(std::move(instruction));
        continue;
      }
      instruction.opcode = kind == 0 ? "st" : kind == 1 ? "wgmma" : "add";
      if (kind == 1) instruction.modifiers.emplace_back("mma_async");
      if (kind == 0) {
        Operand address;
        address.kind = OperandKind::address;
        address.elements.push_back(register_operand(any(false)));
        instruction.operands.push_back(address);
      } else if (kind == 2) {
        Operand pair;
        pair.kind = OperandKind::vector;
        pair.pipe = true;
        pair.elements = {register_operand(any(false)), register_operand(any(false))};
        instruction.operands.push_back(pair);
      } else {
        instruction.operands.push_back(register_operand(any(false)));
      }
      for (auto sources = random.below(3); sources > 0; --sources) {
        instruction.operands.push_back(register_operand(any(false)));
      }
    }
    function.instructions.push_back(std::move(instruction));
  }
  return function;
}

}  // namespace plumbline::emulator::test
