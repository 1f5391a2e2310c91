// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/register_groups.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace plumbline::emulator {
namespace {

constexpr std::array<std::string_view, 3> kMatrixOpcodes = {"mma", "ldmatrix", "stmatrix"};

class Groups {
 public:
  explicit Groups(const Function& function)
      : function_(function), taken_(function.registers.size()) {}

  void consider(const Operand& operand) {
    const std::size_t count = operand.elements.size();
    if (operand.kind != OperandKind::vector || (count != 2 && count != 4)) return;
    std::vector<int> group;
    for (const Operand& element : operand.elements) {
      if (element.kind != OperandKind::reg) return;
      const auto index = static_cast<std::size_t>(element.index);
      const bool repeated = std::find(group.begin(), group.end(), element.index) != group.end();
      if (taken_[index] || repeated || function_.registers[index].bits != 32) return;
      group.push_back(element.index);
    }
    for (const int index : group) taken_[static_cast<std::size_t>(index)] = true;
    groups_.push_back(std::move(group));
  }

  std::vector<std::vector<int>> take() { return std::move(groups_); }

 private:
  const Function& function_;
  std::vector<bool> taken_;
  std::vector<std::vector<int>> groups_;
};

}  // namespace

std::vector<std::vector<int>> register_groups(const Function& function) {
  Groups groups(function);
  // Four before two: the two halves of an ldmatrix.x4 are B fragments of mma, and stay neighbors
  // that way.
  for (const std::size_t count : {std::size_t{4}, std::size_t{2}}) {
    for (const Instruction& instruction : function.instructions) {
      if (std::find(kMatrixOpcodes.begin(), kMatrixOpcodes.end(), instruction.opcode) ==
          kMatrixOpcodes.end())
        continue;
      for (const Operand& operand : instruction.operands) {
        if (operand.elements.size() == count) groups.consider(operand);
      }
    }
  }
  return groups.take();
}

}  // namespace plumbline::emulator
