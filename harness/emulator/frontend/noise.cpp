// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "harness/emulator/frontend/declaration_parser.h"
#include "harness/emulator/frontend/literal.h"

namespace plumbline::emulator {
namespace {

// nvcc writes bytes beyond ASCII as three octal digits behind a backslash.
std::string without_escapes(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(std::min(i + 1, text.size()), 3);
    if (text[i] != '\\' || digits.size() < 3 || digits[0] > '3' ||
        !std::ranges::all_of(digits, is_octal)) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((digits[0] - '0') << 6 | (digits[1] - '0') << 3 | (digits[2] - '0'));
    i += 3;
  }
  return plain;
}

}  // namespace

void parse_file(Cursor& cursor, PtxModule& module) {
  constexpr std::int64_t kMaxFiles = 65'535;
  const std::int64_t number = parse_integer(cursor, "a file number", 0, kMaxFiles);
  const Token name = cursor.current();
  if (name.kind != TokenKind::string) {
    cursor.expected("a file name in quotes");
    return;
  }
  cursor.take();
  while (cursor.accept(',')) parse_literal(cursor);  // time stamp and size
  if (cursor.failed()) return;
  if (module.files.size() <= static_cast<std::size_t>(number)) module.files.resize(number + 1);
  module.files[number] =
      without_escapes(std::string_view(name.text).substr(1, name.text.size() - 2));
}

void skip_section(Cursor& cursor) {
  if (cursor.at_directive() || cursor.at_word()) cursor.take();  // its name
  if (cursor.at('{')) {
    skip_balanced(cursor, '{', '}');
  } else {
    cursor.expected("\"{\" after the name of a section");
  }
}

void note_skipped(const Cursor& cursor, const Token& directive, PtxModule& module) {
  constexpr std::size_t kMostNotes = 100;
  if (module.skipped.size() >= kMostNotes) return;
  module.skipped.push_back(
      fmt::format("{}:{}: {}", cursor.file(), directive.line, in_quotes(directive.text)));
}

void skip_unknown(Cursor& cursor, const Token& directive, PtxModule& module) {
  note_skipped(cursor, directive, module);
  while (!cursor.at_end() && cursor.current().line == directive.line) {
    if (cursor.accept(';')) return;
    if (cursor.at('{') || cursor.at('}')) break;
    cursor.take();
  }
  if (cursor.at('{')) skip_balanced(cursor, '{', '}');
}

void skip_to_semicolon(Cursor& cursor) {
  while (!cursor.at_end() && !cursor.at(';') && !cursor.at('{') && !cursor.at('}')) cursor.take();
  cursor.expect(';', "at the end of a directive");
}

}  // namespace plumbline::emulator
