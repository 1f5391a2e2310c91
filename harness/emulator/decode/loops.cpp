// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/loops.h"

#include <algorithm>
#include <set>

#include "harness/emulator/decode/operand_roles.h"

namespace plumbline::emulator {
namespace {

bool has_any(const Instruction& instruction, std::initializer_list<std::string_view> modifiers) {
  return std::ranges::any_of(modifiers,
                             [&](std::string_view one) { return instruction.has_modifier(one); });
}

// What it gives depends on when others do their part.
bool asks_others(const Instruction& instruction) {
  if (instruction.opcode == "mbarrier") return has_any(instruction, {"test_wait", "try_wait"});
  if (instruction.opcode == "ld") return has_any(instruction, {"volatile", "relaxed", "acquire"});
  return instruction.opcode == "atom" && has_any(instruction, {"cas", "exch"});
}

// Whether the condition of the branch comes, inside the loop, from an instruction that asks others.
bool waits(const Program& program, std::size_t first, std::size_t branch) {
  const Instruction& last = *program.origin[branch];
  if (last.guard < 0) return false;
  std::set<int> wanted = {last.guard};  // registers
  for (std::size_t known = 0; known != wanted.size();) {
    known = wanted.size();
    for (std::size_t i = branch; i-- > first;) {
      const Instruction& instruction = *program.origin[i];
      bool writes = false;
      for_each_register(instruction, default_role, [&](int index, OperandRole role) {
        writes = writes || (role != OperandRole::read && wanted.contains(index));
      });
      if (!writes) continue;
      if (asks_others(instruction)) return true;
      for_each_register(instruction, default_role, [&](int index, OperandRole role) {
        if (role != OperandRole::write) wanted.insert(index);
      });
    }
  }
  return false;
}

}  // namespace

std::vector<bool> loop_branches(const Program& program) {
  std::vector<bool> loops(program.code.size(), false);
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const Instruction* const instruction = program.origin[i];
    if (instruction == nullptr || instruction->opcode != "bra") continue;
    const auto target = static_cast<std::size_t>(program.code[i].immediate);
    loops[i] = target <= i && !waits(program, target, i);
  }
  return loops;
}

}  // namespace plumbline::emulator
