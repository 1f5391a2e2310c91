// SPDX-License-Identifier: MIT
#include "harness/mutation/site.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {
namespace {

using emulator::Operand;
using emulator::OperandKind;

// "b32" moves a 32-bit register of every type.
std::string move_type(int bits) { return bits == 1 ? "pred" : fmt::format("b{}", bits); }

}  // namespace

bool Site::is_one_of(std::span<const std::string_view> opcodes) const {
  return std::find(opcodes.begin(), opcodes.end(), instruction.opcode) != opcodes.end();
}

int Site::register_bits(std::size_t operand) const {
  const Operand& given = instruction.operands[operand];
  if (given.kind != OperandKind::reg) return 0;
  return function.registers[static_cast<std::size_t>(given.index)].bits;
}

std::string Site::with_word(std::string_view from, std::string_view to) const {
  Statement edited = statement;
  *std::find(edited.words.begin(), edited.words.end(), from) = to;
  return edited.text();
}

std::string Site::with_words_at(std::size_t word, std::string_view to) const {
  Statement edited = statement;
  edited.words[word] = to;
  return edited.text();
}

std::string Site::without_word(std::string_view word) const {
  Statement edited = statement;
  edited.words.erase(std::find(edited.words.begin(), edited.words.end(), word));
  return edited.text();
}

std::string Site::with_operand(std::size_t operand, std::string text) const {
  Statement edited = statement;
  edited.operands[operand] = std::move(text);
  return edited.text();
}

std::string Site::with_swapped(std::size_t a, std::size_t b) const {
  Statement edited = statement;
  std::swap(edited.operands[a], edited.operands[b]);
  return edited.text();
}

std::string Site::with_swapped_elements(std::size_t operand, std::size_t a, std::size_t b) const {
  std::vector<std::string> elements = vector_elements(text(operand));
  if (std::max(a, b) >= elements.size() || elements[a] == elements[b]) return {};
  std::swap(elements[a], elements[b]);
  return with_operand(operand, vector_text(elements));
}

std::string Site::moves(std::size_t source) const {
  const int bits = register_bits(0);
  const bool fits = kind(source) == OperandKind::immediate || register_bits(source) == bits;
  if (bits == 0 || !fits || instruction.operands[source].negated) return {};
  Statement edited = statement;
  edited.words = {"mov", move_type(bits)};
  edited.operands = {text(0), text(source)};
  return edited.text();
}

std::string Site::zeroes() const {
  const Operand& destination = instruction.operands[0];
  const bool vector = destination.kind == OperandKind::vector && !destination.pipe;
  if (!vector && destination.kind != OperandKind::reg) return {};
  const std::vector<std::string> names = vector_elements(text(0));
  std::vector<std::string> moves;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Operand& one = vector ? destination.elements[i] : destination;
    if (one.kind != OperandKind::reg) continue;  // "_"
    const int bits = function.registers[static_cast<std::size_t>(one.index)].bits;
    if (bits == 1) return {};
    Statement edited = statement;
    edited.words = {"mov", move_type(bits)};
    edited.operands = {names[i], "0"};
    moves.push_back(edited.text());
  }
  return fmt::format("{}", fmt::join(moves, " "));
}

std::string Site::in_scope(std::string_view type,
                           const std::vector<std::string>& instructions) const {
  std::string text = fmt::format("{{ .reg .{} %mutant;", type);
  for (const std::string& instruction_text : instructions) {
    text += fmt::format(" {}{}{};", statement.guard, statement.guard.empty() ? "" : " ",
                        instruction_text);
  }
  return text + " }";
}

}  // namespace plumbline
