// SPDX-License-Identifier: MIT
// Splits PTX text into tokens, on demand and without copying: a token is a view into the text with
// its position. Comments, `#` lines and `@@DWARF` lines are blanks. A modifier or directive is one
// token with its dot and its
// `::` parts (".shared::cta"), because PTX allows digits there (".2d") that are numbers elsewhere.
#pragma once

#include <cstdint>
#include <string_view>

namespace plumbline::emulator {

enum class TokenKind : std::uint8_t {
  end,          // of the text
  word,         // identifier, register, opcode: mma  %r1  $L__BB0_2  _
  directive,    // .reg  .sync  .shared::cta
  number,       // as written: 12  0x1F  0f3F800000  1.5  9.0
  string,       // with its quotes
  punctuation,  // one character
  bad,          // not PTX; the text is the offending part
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  int line = 1;    // from 1
  int column = 1;  // in bytes, from 1

  bool is(char c) const { return kind == TokenKind::punctuation && text[0] == c; }

  bool is_directive(std::string_view name) const {
    return kind == TokenKind::directive && text == name;
  }
};

class Lexer {
 public:
  // Part of a file may be lexed by itself: its first character then stands at this line and column.
  explicit Lexer(std::string_view text, int line = 1, int column = 1)
      : at_(text.data()),
        end_(at_ + text.size()),
        first_(at_),
        first_column_(column),
        line_(line) {}

  Token next();

  // The character behind the last token, 0 at the end.
  char behind() const { return at_ == end_ ? '\0' : *at_; }

 private:
  void skip_blanks();
  void start_line();
  void skip_line();
  void skip_block_comment();
  const char* number_end() const;
  bool at_bare_fraction() const;
  Token token(TokenKind kind, const char* token_end);

  const char* at_;
  const char* end_;
  const char* first_;  // of this line, or of the text
  int first_column_;
  int line_;
};

}  // namespace plumbline::emulator
