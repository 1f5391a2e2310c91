// SPDX-License-Identifier: MIT
// Tokens of an operation's text. A line's end is a token only where a step can end: not inside of
// brackets, nor behind an operator or a comma.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oracles/text/syntax.h"

namespace plumbline::text {

struct Token {
  enum class Kind : std::uint8_t { name, number, symbol, line_end, end } kind = Kind::end;
  std::string text;
  Place place;
  std::size_t offset = 0;  // in the text
};

struct Tokens {
  std::vector<Token> tokens;                          // the last one is `end`
  std::vector<std::pair<int, std::string>> comments;  // lines that are nothing else: number, text
};

Result<Tokens> read_tokens(std::string_view text, std::string_view path);

Error error_at(std::string_view path, Place place, std::string message, std::string hint = "");

}  // namespace plumbline::text
