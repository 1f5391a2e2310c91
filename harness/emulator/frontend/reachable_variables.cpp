// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/reachable_variables.h"

namespace plumbline::emulator {
namespace {

class ReachableVariables {
 public:
  explicit ReachableVariables(const PtxModule& module)
      : module_(module), reached_(module.variables.size()) {}

  std::vector<bool> find() {
    for (const Function& function : module_.functions) {
      for (const Instruction& instruction : function.instructions) {
        for (const Operand& operand : instruction.operands) reach(operand);
      }
    }
    while (!open_.empty()) {
      const std::size_t index = open_.back();
      open_.pop_back();
      for (const Relocation& relocation : module_.variables[index].relocations) {
        if (!relocation.is_function) reach(relocation.index);
      }
    }
    return std::move(reached_);
  }

 private:
  void reach(const Operand& operand) {
    if (operand.kind == OperandKind::symbol && operand.global_scope) reach(operand.index);
    for (const Operand& element : operand.elements) reach(element);
  }

  void reach(int variable) {
    const auto index = static_cast<std::size_t>(variable);
    if (reached_[index]) return;
    reached_[index] = true;
    open_.push_back(index);
  }

  const PtxModule& module_;
  std::vector<bool> reached_;
  std::vector<std::size_t> open_;  // whose initial values are to be looked through
};

}  // namespace

std::vector<bool> reachable_variables(const PtxModule& module) {
  return ReachableVariables(module).find();
}

}  // namespace plumbline::emulator
