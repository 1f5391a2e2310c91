// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/control_flow.h"

#include <algorithm>

namespace plumbline::emulator {
namespace {

bool ends_thread(const Instruction& instruction) {
  return instruction.opcode == "ret" || instruction.opcode == "exit" ||
         instruction.opcode == "trap";
}

bool is_branch(const Instruction& instruction) {
  return instruction.opcode == "bra" || instruction.opcode == "brx";
}

// Calls `use` with the index of every instruction this branch may go to.
template <typename Use>
void for_each_target(const Function& function, const Instruction& branch, Use use) {
  for (const Operand& operand : branch.operands) {
    if (operand.kind == OperandKind::label) use(function.labels[operand.index].target);
    for (const Operand& element : operand.elements) {
      if (element.kind == OperandKind::label) use(function.labels[element.index].target);
    }
  }
}

}  // namespace

ControlFlow control_flow(const Function& function) {
  const auto& instructions = function.instructions;
  const auto count = static_cast<int>(instructions.size());
  std::vector<bool> leader(static_cast<std::size_t>(count) + 1, false);
  leader[0] = true;
  for (int i = 0; i < count; ++i) {
    if (!is_branch(instructions[i]) && !ends_thread(instructions[i])) continue;
    leader[i + 1] = true;
    for_each_target(function, instructions[i], [&](int target) { leader[target] = true; });
  }

  ControlFlow flow;
  flow.block_of.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (leader[i]) flow.blocks.push_back(BasicBlock{i, i, {}, {}});
    flow.blocks.back().last = i + 1;
    flow.block_of[i] = static_cast<int>(flow.blocks.size()) - 1;
  }
  for (BasicBlock& block : flow.blocks) {
    const Instruction& last = instructions[block.last - 1];
    const auto follow = [&](int target) {
      if (target < count) block.successors.push_back(flow.block_of[target]);
    };
    if (is_branch(last)) for_each_target(function, last, follow);
    if (last.guard >= 0 || (!is_branch(last) && !ends_thread(last))) follow(block.last);
    std::sort(block.successors.begin(), block.successors.end());
    const auto repeated = std::unique(block.successors.begin(), block.successors.end());
    block.successors.erase(repeated, block.successors.end());
  }
  for (int b = 0; b < static_cast<int>(flow.blocks.size()); ++b) {
    for (const int next : flow.blocks[b].successors) flow.blocks[next].predecessors.push_back(b);
  }
  return flow;
}

}  // namespace plumbline::emulator
