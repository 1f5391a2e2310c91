// SPDX-License-Identifier: MIT
#include "harness/mutation/statement.h"

#include <fmt/format.h>

#include <algorithm>

#include "oracles/base/assert.h"

namespace plumbline {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n\r") - first + 1);
}

// Splits at commas that are in no bracket.
std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> operands;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i == text.size() ? ',' : text[i];
    depth += c == '[' || c == '{' || c == '(';
    depth -= c == ']' || c == '}' || c == ')';
    if (c != ',' || depth != 0) continue;
    const std::string_view operand = trimmed(text.substr(begin, i - begin));
    if (!operand.empty()) operands.emplace_back(operand);
    begin = i + 1;
  }
  return operands;
}

// "setp.lt.s32" as its words; "shared::cta" stays one.
std::vector<std::string> split_words(std::string_view head) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t dot = head.find('.');
    words.emplace_back(head.substr(0, dot));
    if (dot == std::string_view::npos) return words;
    head.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string Statement::text() const {
  return fmt::format("{}{}{}{}{};", guard, guard.empty() ? "" : " ", fmt::join(words, "."),
                     operands.empty() ? "" : " ", fmt::join(operands, ", "));
}

bool Statement::has_word(std::string_view word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> vector_elements(std::string_view operand) {
  if (!operand.starts_with('{') || !operand.ends_with('}')) return {std::string(operand)};
  return split_operands(operand.substr(1, operand.size() - 2));
}

std::string vector_text(const std::vector<std::string>& elements) {
  return fmt::format("{{{}}}", fmt::join(elements, ", "));
}

StatementPlaces::StatementPlaces(std::string_view text) : text_(text), lines_{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') lines_.push_back(i + 1);
  }
}

std::size_t StatementPlaces::offset(int line, int column) const {
  return lines_[static_cast<std::size_t>(line) - 1] + static_cast<std::size_t>(column) - 1;
}

StatementPlaces::Place StatementPlaces::of(const emulator::Instruction& instruction) const {
  Place place;
  place.begin = offset(instruction.line, instruction.column);
  PLUMB_ASSERT(text_.substr(place.begin).starts_with(instruction.opcode));
  place.end = text_.find(';', place.begin) + 1;
  if (instruction.guard >= 0) place.begin = text_.rfind('@', place.begin);
  return place;
}

Statement StatementPlaces::statement(const emulator::Instruction& instruction) const {
  Statement statement;
  if (instruction.guard >= 0) {
    const std::size_t begin = of(instruction).begin;
    const std::size_t end = offset(instruction.line, instruction.column);
    statement.guard = trimmed(text_.substr(begin, end - begin));
  }
  const std::string_view text = instruction.text;
  const std::size_t head = std::min(text.find_first_of(" \t{["), text.size());
  statement.words = split_words(text.substr(0, head));
  statement.operands = split_operands(text.substr(head));
  return statement;
}

}  // namespace plumbline
