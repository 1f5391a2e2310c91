// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/operand_roles.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace plumbline::emulator {
namespace {

// Opcodes whose first operand is not a destination although it is no address either. (st, red,
// cp.async, prefetch, mbarrier.init, stmatrix ... begin with an address, which is never written.)
// clang-format off
constexpr std::array<std::string_view, 14> kNoDestination = {
    "bra", "brkpt", "brx", "cp", "discard", "exit", "fence", "membar", "nanosleep", "pmevent", "ret", "setmaxnreg",
    "stackrestore", "trap",
};

// clang-format on

bool has_no_destination(const Instruction& instruction) {
  const std::string& opcode = instruction.opcode;
  if (opcode == "bar" || opcode == "barrier") return !instruction.has_modifier("red");
  if (opcode == "tcgen05") return !instruction.has_modifier("ld");
  return std::find(kNoDestination.begin(), kNoDestination.end(), opcode) != kNoDestination.end();
}

}  // namespace

OperandRole default_role(const Instruction& instruction, std::size_t operand) {
  if (instruction.operands[operand].kind == OperandKind::address || operand != 0)
    return OperandRole::read;
  if (has_no_destination(instruction)) return OperandRole::read;
  const bool accumulates = instruction.opcode == "wgmma" && instruction.has_modifier("mma_async");
  return accumulates ? OperandRole::read_write : OperandRole::write;
}

void for_each_register(const Instruction& instruction, const OperandRoles& roles,
                       const std::function<void(int, OperandRole)>& use) {
  if (instruction.guard >= 0) use(instruction.guard, OperandRole::read);
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    const bool address = operand.kind == OperandKind::address;
    const OperandRole role = address ? OperandRole::read : roles(instruction, i);
    if (operand.kind == OperandKind::reg) use(operand.index, role);
    for (const Operand& element : operand.elements) {
      if (element.kind == OperandKind::reg) use(element.index, role);
      for (const Operand& coordinate : element.elements) {
        if (coordinate.kind == OperandKind::reg) use(coordinate.index, OperandRole::read);
      }
    }
  }
}

}  // namespace plumbline::emulator
