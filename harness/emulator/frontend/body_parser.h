// SPDX-License-Identifier: MIT
// The statements of a function body: scopes, declarations, labels, instructions and the noise
// between them.
#pragma once

#include <array>
#include <map>
#include <string>

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/function_scope.h"
#include "harness/emulator/frontend/module_scope.h"
#include "harness/emulator/frontend/operand_parser.h"

namespace plumbline::emulator {

class BodyParser {
 public:
  // `function` has its parameters and must stay where it is.
  BodyParser(Cursor& cursor, ModuleScope& module, Function& function)
      : cursor_(cursor),
        module_(module),
        function_(function),
        scope_(cursor, module, function),
        operands_(cursor, scope_) {}

  // From "{" to the matching "}".
  void parse();

 private:
  void parse_statement();
  void parse_directive();
  void parse_registers();
  void parse_variables(Space space);
  void parse_loc();
  std::shared_ptr<const std::vector<FileLine>> calls_from(const std::array<int, 3>& at) const;
  void parse_pragma();
  void parse_labeled(const Token& name);
  void parse_guard(Instruction& instruction);
  void parse_instruction(Instruction instruction, const Token& opcode);

  Cursor& cursor_;
  ModuleScope& module_;
  Function& function_;
  FunctionScope scope_;
  OperandParser operands_;
  SourceLine source_;
  // The last .loc of each file, line and column: a call that was inlined has one before it.
  std::map<std::array<int, 3>, SourceLine> places_;
  std::uint64_t used_bytes_mask_ = 0;
};

}  // namespace plumbline::emulator
