// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/reachable_bodies.h"

#include <unordered_map>

#include "harness/emulator/frontend/body_parser.h"

namespace plumbline::emulator {
namespace {

class ReachableBodies {
 public:
  ReachableBodies(Cursor& cursor, ModuleScope& scope, bool keeps_unreadable,
                  const std::vector<SkimmedBody>& skimmed)
      : cursor_(cursor),
        scope_(scope),
        keeps_unreadable_(keeps_unreadable),
        function_seen_(scope.module.functions.size()),
        variable_seen_(scope.module.variables.size()) {
    for (const SkimmedBody& body : skimmed) bodies_.emplace(body.function, &body);
  }

  void parse(int entry) {
    reach_function(entry);
    while (!functions_.empty() && !cursor_.failed()) {
      const int index = functions_.back();
      functions_.pop_back();
      Function& function = scope_.module.functions[index];
      if (function.alias_of >= 0) reach_function(function.alias_of);
      if (const auto body = bodies_.find(index); body != bodies_.end()) {
        parse_body(function, *body->second);
      }
    }
  }

 private:
  void parse_body(Function& function, const SkimmedBody& body) {
    Cursor cursor(body.text, cursor_.file(), body.line, body.column);
    const Function declared = function;
    BodyParser(cursor, scope_, function).parse();
    auto& variables = scope_.module.variables;  // with .global inside the body
    if (!cursor.failed()) resolve_relocations(cursor, scope_, variable_seen_.size());
    if (cursor.failed() && !keeps_unreadable_) return cursor_.fail(cursor.error());
    if (cursor.failed()) {
      function = declared;
      function.unreadable = cursor.error();
      variables.resize(variable_seen_.size());
      return;
    }
    variable_seen_.resize(variables.size());
    function.body_skipped = false;
    for (const Instruction& instruction : function.instructions) {
      for (const Operand& operand : instruction.operands) {
        reach_operand(operand);
        for (const Operand& element : operand.elements) reach_operand(element);
      }
    }
  }

  void reach_operand(const Operand& operand) {
    if (operand.kind == OperandKind::function) reach_function(operand.index);
    if (operand.kind == OperandKind::symbol && operand.global_scope) reach_variable(operand.index);
  }

  void reach_function(int index) {
    if (!function_seen_[index]) functions_.push_back(index);
    function_seen_[index] = true;
  }

  // Through tables of tables of functions.
  void reach_variable(int first) {
    std::vector<int> variables = {first};
    while (!variables.empty()) {
      const int variable = variables.back();
      variables.pop_back();
      if (variable_seen_[variable]) continue;
      variable_seen_[variable] = true;
      for (const Relocation& relocation : scope_.module.variables[variable].relocations) {
        if (relocation.is_function) {
          reach_function(relocation.index);
        } else {
          variables.push_back(relocation.index);
        }
      }
    }
  }

  Cursor& cursor_;
  ModuleScope& scope_;
  bool keeps_unreadable_;
  std::unordered_map<int, const SkimmedBody*> bodies_;
  std::vector<bool> function_seen_;
  std::vector<bool> variable_seen_;
  std::vector<int> functions_;  // to be parsed
};

}  // namespace

void parse_reachable_bodies(Cursor& cursor, ModuleScope& scope, const ParseOptions& options,
                            const std::vector<SkimmedBody>& skimmed) {
  if (!options.wanted) return;
  ReachableBodies bodies(cursor, scope, options.keeps_unreadable, skimmed);
  for (std::size_t i = 0; i < scope.module.functions.size(); ++i) {
    const Function& function = scope.module.functions[i];
    if (function.is_entry && options.wanted(function.name)) bodies.parse(static_cast<int>(i));
  }
}

}  // namespace plumbline::emulator
