// SPDX-License-Identifier: MIT
// One PTX instruction as text that can be edited: what the parser understood says which part is
// what, and the text itself is what changes. So a planted fault is a line of PTX that people read
// and every PTX compiler takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/emulator/frontend/module.h"

namespace plumbline {

struct Statement {
  std::string guard;                  // "@!%p3"; empty without one
  std::vector<std::string> words;     // opcode and modifiers: "setp", "lt", "s32"
  std::vector<std::string> operands;  // as written: "%r1", "[%rd2+16]", "{%f1, %f2}"

  std::string text() const;  // "@!%p3 setp.lt.s32 %p1, %r1, 8;"

  bool has_word(std::string_view word) const;
};

// The elements of "{a, b}"; the operand itself where it is no vector.
std::vector<std::string> vector_elements(std::string_view operand);
std::string vector_text(const std::vector<std::string>& elements);

// Where statements stand in a PTX text.
class StatementPlaces {
 public:
  explicit StatementPlaces(std::string_view text);

  struct Place {
    std::size_t begin = 0, end = 0;  // with guard and ";"
  };

  Place of(const emulator::Instruction& instruction) const;
  Statement statement(const emulator::Instruction& instruction) const;

 private:
  std::size_t offset(int line, int column) const;

  std::string_view text_;
  std::vector<std::size_t> lines_;  // where each begins
};

}  // namespace plumbline
