// SPDX-License-Identifier: MIT
// What a mutation operator looks at: one instruction, typed by the parser, beside its text; and the
// edits that operators are made of. An edit gives the text that takes the instruction's place.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/emulator/frontend/module.h"
#include "harness/mutation/statement.h"

namespace plumbline {

struct Site {
  const emulator::Function& function;
  const emulator::Instruction& instruction;
  Statement statement;  // its operands are those of the instruction, one to one

  bool is(std::string_view opcode) const { return instruction.opcode == opcode; }

  bool is_one_of(std::span<const std::string_view> opcodes) const;

  bool has(std::string_view modifier) const { return instruction.has_modifier(modifier); }

  std::size_t operands() const { return statement.operands.size(); }

  const std::string& text(std::size_t operand) const { return statement.operands[operand]; }

  emulator::OperandKind kind(std::size_t operand) const {
    return instruction.operands[operand].kind;
  }

  // Width of a register operand; 0 for anything else.
  int register_bits(std::size_t operand) const;

  // --- edits ---
  std::string with_word(std::string_view from, std::string_view to) const;

  std::string with_opcode(std::string_view opcode) const { return with_words_at(0, opcode); }

  std::string with_words_at(std::size_t word, std::string_view to) const;
  std::string without_word(std::string_view word) const;
  std::string with_operand(std::size_t operand, std::string text) const;
  std::string with_swapped(std::size_t a, std::size_t b) const;
  // Elements a and b of a vector operand change places; empty where it has no such elements, or
  // equal ones.
  std::string with_swapped_elements(std::size_t operand, std::size_t a, std::size_t b) const;
  // mov of a source operand into the destination; empty where their widths differ.
  std::string moves(std::size_t source) const;
  // Zero into every register of the destination.
  std::string zeroes() const;
  // Several instructions under the guard, in a scope with a 32- or 64-bit register %mutant.
  std::string in_scope(std::string_view type, const std::vector<std::string>& instructions) const;
};

}  // namespace plumbline
