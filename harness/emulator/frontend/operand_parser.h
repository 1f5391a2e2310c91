// SPDX-License-Identifier: MIT
// Operands of instructions: registers, immediates, [addresses], {vectors}, d|p pairs, !p, _ ,
// labels and calls.
#pragma once

#include <vector>

#include "harness/emulator/frontend/cursor.h"
#include "harness/emulator/frontend/function_scope.h"
#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

class OperandParser {
 public:
  OperandParser(Cursor& cursor, FunctionScope& scope) : cursor_(cursor), scope_(scope) {}

  // Everything between the modifiers and the ";" of this instruction.
  std::vector<Operand> parse(std::string_view opcode);

 private:
  std::vector<Operand> parse_call();
  Operand parse_callee();
  Operand parse_call_list();
  Operand parse_operand();
  Operand parse_simple();
  Operand parse_name();
  Operand parse_immediate();
  Operand parse_vector();
  Operand parse_address();

  Cursor& cursor_;
  FunctionScope& scope_;
};

}  // namespace plumbline::emulator
