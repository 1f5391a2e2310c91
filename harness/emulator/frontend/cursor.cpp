// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/cursor.h"

#include <fmt/format.h>

namespace plumbline::emulator {
namespace {

std::string describe(const Token& token) {
  return token.kind == TokenKind::end ? "the end of the file" : in_quotes(token.text);
}

// What is wrong with a token that is not PTX.
std::string complaint(const Token& token) {
  const char first = token.text[0];
  if (first == '"') return "string without a closing quote";
  if (first == '.') return "\".\" without a name after it";
  const auto byte = static_cast<unsigned char>(first);
  if (byte > ' ' && byte < 0x7f)
    return fmt::format("unexpected character {}", in_quotes(token.text));
  return fmt::format("unexpected byte 0x{:02x}", byte);
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kReadable = 100;
  std::string result = "\"";
  for (const char c : text.substr(0, kReadable)) {
    result += c >= ' ' && c < 0x7f ? c : '?';
  }
  return result + (text.size() > kReadable ? "...\"" : "\"");
}

void Cursor::advance() {
  if (failed()) return;
  current_ = lexer_.next();
  if (current_.kind == TokenKind::bad) fail(current_, complaint(current_));
}

Token Cursor::take() {
  const Token token = current_;
  advance();
  return token;
}

bool Cursor::accept(char c) {
  if (!at(c)) return false;
  advance();
  return true;
}

bool Cursor::accept_directive(std::string_view name) {
  if (!at_directive(name)) return false;
  advance();
  return true;
}

bool Cursor::expect(char c, std::string_view context) {
  if (accept(c)) return true;
  expected(fmt::format("\"{}\" {}", c, context));
  return false;
}

Token Cursor::expect_word(std::string_view what) {
  if (at_word()) return take();
  expected(what);
  return current_;
}

Token Cursor::expect_directive(std::string_view what) {
  if (at_directive()) return take();
  expected(what);
  return current_;
}

void Cursor::expected(std::string_view what) {
  fail(current_, fmt::format("expected {}, found {}", what, describe(current_)));
}

void Cursor::fail(const Token& at, std::string message, std::string hint) {
  fail(Error{ErrorKind::bad_input, std::move(message),
             fmt::format("{}:{}:{}", file_, at.line, at.column), std::move(hint)});
}

void Cursor::fail(Error error) {
  if (!failed()) error_ = std::move(error);
  current_ = Token{TokenKind::end, {}, current_.line, current_.column};
}

}  // namespace plumbline::emulator
