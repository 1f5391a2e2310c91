// SPDX-License-Identifier: MIT
// The parser's place in the text: one token of look-ahead and the first error. An error is sticky:
// after it every token is the end of the text, so that parsing loops stop by themselves and no
// caller has to pass errors along; the module parser asks once, at the end, whether there was one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/emulator/frontend/lexer.h"
#include "oracles/base/result.h"

namespace plumbline::emulator {

class Cursor {
 public:
  // Part of a file may be parsed by itself: its first character then stands at this line and
  // column.
  Cursor(std::string_view text, std::string_view file, int line = 1, int column = 1)
      : lexer_(text, line, column), file_(file) {
    advance();
  }

  const Token& current() const { return current_; }

  bool at_end() const { return current_.kind == TokenKind::end; }

  bool at(char c) const { return current_.is(c); }

  // An operator of one or two characters; those of two are two tokens without a blank.
  bool at(std::string_view op) const {
    return current_.is(op[0]) && (op.size() == 1 || lexer_.behind() == op[1]);
  }

  bool at_word() const { return current_.kind == TokenKind::word; }

  bool at_directive() const { return current_.kind == TokenKind::directive; }

  bool at_directive(std::string_view name) const { return current_.is_directive(name); }

  // The current token; moves on.
  Token take();

  // Moves on if the current token is this one.
  bool accept(char c);
  bool accept_directive(std::string_view name);

  // Like accept, but it is an error if the token is another. `context` completes the message:
  // "expected ";" <context>".
  bool expect(char c, std::string_view context);
  Token expect_word(std::string_view what);
  Token expect_directive(std::string_view what);

  // Records the error "expected <what>, found <current token>".
  void expected(std::string_view what);
  void fail(const Token& at, std::string message, std::string hint = {});
  void fail(Error error);

  bool failed() const { return error_.has_value(); }

  const Error& error() const { return *error_; }

  std::string_view file() const { return file_; }

 private:
  void advance();

  Lexer lexer_;
  std::string_view file_;
  Token current_;
  std::optional<Error> error_;
};

// A name or token in quotes for a message, cut where it gets too long to read.
std::string in_quotes(std::string_view text);

}  // namespace plumbline::emulator
