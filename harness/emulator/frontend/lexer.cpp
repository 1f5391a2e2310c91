// SPDX-License-Identifier: MIT
// The scanner is one table look-up per character: 66 MB of PTX should cost a fraction of a second.
#include "harness/emulator/frontend/lexer.h"

#include <algorithm>
#include <array>

namespace plumbline::emulator {
namespace {

enum : std::uint8_t {
  kWordStart = 1,  // may begin an identifier
  kWordPart = 2,   // may continue one
  kDigit = 4,
  kBlank = 8,  // space, tab, return, form feed; not newline, which counts lines
  kPunctuation = 16,
};

constexpr std::array<std::uint8_t, 256> classes() {
  std::array<std::uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[c] = kWordStart | kWordPart;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] = kWordStart | kWordPart;
  for (int c = '0'; c <= '9'; ++c) table[c] = kDigit | kWordPart;
  for (const char c : {'_', '$'}) table[c] = kWordStart | kWordPart;
  table['%'] = kWordStart;
  for (const char c : {' ', '\t', '\r', '\f', '\v'}) table[c] = kBlank;
  for (const char c : std::string_view("{}[]()<>,;:@!|+-=*/~&^?")) table[c] = kPunctuation;
  return table;
}

constexpr auto kClass = classes();

bool is(const char c, std::uint8_t mask) {
  return (kClass[static_cast<unsigned char>(c)] & mask) != 0;
}

const char* word_end(const char* at, const char* end) {
  while (at != end && is(*at, kWordPart)) ++at;
  return at;
}

}  // namespace

void Lexer::start_line() {
  first_ = at_;
  first_column_ = 1;
  ++line_;
}

void Lexer::skip_line() {
  while (at_ != end_ && *at_ != '\n') ++at_;
}

void Lexer::skip_block_comment() {
  at_ += 2;
  while (at_ != end_) {
    if (*at_ == '*' && end_ - at_ > 1 && at_[1] == '/') {
      at_ += 2;
      return;
    }
    if (*at_++ == '\n') start_line();
  }
}

void Lexer::skip_blanks() {
  while (at_ != end_) {
    const char c = *at_;
    if (c == '\n') {
      ++at_;
      start_line();
    } else if (is(c, kBlank)) {
      ++at_;
    } else if (c == '/' && end_ - at_ > 1 && at_[1] == '/') {
      skip_line();
    } else if (c == '/' && end_ - at_ > 1 && at_[1] == '*') {
      skip_block_comment();
    } else if (c == '#' || (c == '@' && end_ - at_ > 1 && at_[1] == '@')) {
      skip_line();
    } else {
      return;
    }
  }
}

Token Lexer::token(TokenKind kind, const char* token_end) {
  const std::string_view text(at_, static_cast<std::size_t>(token_end - at_));
  const Token result{kind, text, line_, static_cast<int>(at_ - first_) + first_column_};
  at_ = token_end;
  return result;
}

// Takes in everything that could be one literal; literal.h says whether it is. A dot belongs to it
// behind decimal digits, unless a directive begins there ("9.0", "0.", "1.e-3", but "16 .b8" also
// without the blank), a sign only after the exponent of such a decimal.
const char* Lexer::number_end() const {
  const char* at = word_end(at_, end_);
  const bool decimal = std::all_of(at_, at, [](char c) { return is(c, kDigit); });
  const char after = end_ - at > 1 ? at[1] : ' ';
  const bool ends_in_e = (after == 'e' || after == 'E') && end_ - at > 2 &&
                         (is(at[2], kDigit) || at[2] == '-' || at[2] == '+');
  const bool fraction = at != end_ && *at == '.' && decimal &&
                        (is(after, kDigit) || !is(after, kWordPart) || ends_in_e);
  if (fraction) at = word_end(at + 1, end_);
  const bool hexadecimal = at - at_ > 1 && at_[0] == '0' && !is(at_[1], kDigit) && at_[1] != '.';
  const bool exponent = !hexadecimal && (at[-1] == 'e' || at[-1] == 'E');
  if (exponent && end_ - at > 1 && (*at == '-' || *at == '+') && is(at[1], kDigit)) {
    at = word_end(at + 1, end_);
  }
  return at;
}

// ".5", where it stands by itself; behind a word it is a modifier (cp.async.bulk.tensor.2d).
bool Lexer::at_bare_fraction() const {
  if (end_ - at_ < 2 || *at_ != '.' || !is(at_[1], kDigit)) return false;
  if (at_ != first_ && is(at_[-1], kWordPart)) return false;
  const char* at = at_ + 1;
  while (at != end_ && is(*at, kDigit)) ++at;
  return at == end_ || !is(*at, kWordPart) || *at == 'e' || *at == 'E';
}

Token Lexer::next() {
  skip_blanks();
  if (at_ == end_) return token(TokenKind::end, at_);
  const char c = *at_;
  if (is(c, kWordStart)) {
    const char* after = word_end(at_ + 1, end_);
    return token(c == '%' && after == at_ + 1 ? TokenKind::punctuation : TokenKind::word, after);
  }
  if (is(c, kDigit) || at_bare_fraction()) return token(TokenKind::number, number_end());
  if (c == '.') {
    const char* after = word_end(at_ + 1, end_);
    if (after == at_ + 1) return token(TokenKind::bad, after);
    while (end_ - after > 2 && after[0] == ':' && after[1] == ':' && is(after[2], kWordPart)) {
      after = word_end(after + 2, end_);
    }
    return token(TokenKind::directive, after);
  }
  if (c == '"') {
    const char* after = at_ + 1;
    while (after != end_ && *after != '"' && *after != '\n') {
      after += *after == '\\' && end_ - after > 1 && after[1] != '\n' ? 2 : 1;
    }
    if (after == end_ || *after != '"') return token(TokenKind::bad, after);
    return token(TokenKind::string, after + 1);
  }
  return token(is(c, kPunctuation) ? TokenKind::punctuation : TokenKind::bad, at_ + 1);
}

}  // namespace plumbline::emulator
