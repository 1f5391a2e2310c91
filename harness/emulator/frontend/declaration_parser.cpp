// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/declaration_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "harness/emulator/frontend/initializer.h"
#include "harness/emulator/frontend/literal.h"
#include "harness/emulator/frontend/type_names.h"

namespace plumbline::emulator {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMaxAlignment = 1 << 20;
constexpr std::size_t kMaxDimensions = 8;

std::int64_t parse_alignment(Cursor& cursor) {
  const Token at = cursor.current();
  const std::int64_t alignment = parse_integer(cursor, "an alignment", 1, kMaxAlignment);
  if (!std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
    cursor.fail(at, fmt::format("alignment {} is not a power of two", alignment));
  }
  return alignment;
}

// .ptr, optionally with a space, then optionally .align.
void parse_pointer(Cursor& cursor, DeclarationType& type) {
  type.is_pointer = true;
  for (const std::string_view space : {".const", ".global", ".local", ".shared"}) {
    if (cursor.accept_directive(space)) break;
  }
  if (cursor.accept_directive(".align")) type.pointer_alignment = parse_alignment(cursor);
}

std::vector<std::int64_t> parse_dimensions(Cursor& cursor) {
  std::vector<std::int64_t> dimensions;
  while (cursor.at('[')) {
    const Token bracket = cursor.take();
    const bool open_ended = cursor.at(']');
    if (dimensions.size() == kMaxDimensions || (open_ended && !dimensions.empty())) {
      cursor.fail(bracket, open_ended ? "only the first dimension of an array may be left open"
                                      : fmt::format("more than {} dimensions", kMaxDimensions));
    }
    if (cursor.at_word() && cursor.current().text == "WARP_SZ") {
      cursor.take();
      dimensions.push_back(32);
    } else {
      dimensions.push_back(open_ended ? 0 : parse_integer(cursor, "an array size", 0, kMaxBytes));
    }
    if (!cursor.accept(']'))  // ptxas takes no expression here
      cursor.expected("\"]\" after an array size, which is one number or WARP_SZ");
  }
  return dimensions;
}

}  // namespace

void skip_balanced(Cursor& cursor, char open, char close) {
  const Token start = cursor.current();
  int depth = 0;
  do {
    const bool brace = cursor.at('{') || cursor.at('}');
    if (cursor.at_end() || (brace && open != '{')) {
      cursor.fail(start, fmt::format("\"{}\" without its \"{}\"", open, close));
      return;
    }
    if (cursor.at(open)) ++depth;
    if (cursor.at(close)) --depth;
    cursor.take();
  } while (depth > 0);
}

DeclarationType parse_declaration_type(Cursor& cursor, Space space, bool is_extern) {
  DeclarationType result;
  result.space = space;
  result.is_extern = is_extern;
  while (cursor.at_directive()) {
    const Token directive = cursor.take();
    if (directive.text == ".align") {
      result.alignment = parse_alignment(cursor);
    } else if (directive.text == ".ptr") {
      parse_pointer(cursor, result);
    } else if (directive.text == ".attribute") {
      if (cursor.at('(')) skip_balanced(cursor, '(', ')');
    } else if (directive.text == ".v2" || directive.text == ".v4" || directive.text == ".v8") {
      result.vector = directive.text[2] - '0';
    } else if (type_bits(directive.text) != 0) {
      result.type = directive;
    } else {
      cursor.fail(directive, fmt::format("{} is not a type", in_quotes(directive.text)));
    }
  }
  if (result.type.kind == TokenKind::end) cursor.expected("a type such as .b32");
  if (result.type.text == ".pred" && space != Space::reg) {
    cursor.fail(result.type, "a predicate cannot be in memory");
  }
  return result;
}

Declaration parse_declarator(Cursor& cursor, const DeclarationType& type,
                             std::int64_t* initial_bytes_left) {
  Declaration result;
  result.name = cursor.expect_word("the name of a variable");
  if (cursor.failed()) return result;
  Variable& variable = result.variable;
  variable.name = result.name.text;
  variable.line = result.name.line;
  variable.space = type.space;
  variable.is_extern = type.is_extern;
  variable.type = type.type.text.substr(1);
  variable.is_pointer = type.is_pointer;
  variable.pointer_alignment = type.pointer_alignment;

  std::vector<std::int64_t> dimensions = parse_dimensions(cursor);
  const bool open_ended = !dimensions.empty() && dimensions[0] == 0;
  if (type.vector != 1 || dimensions.empty()) dimensions.push_back(type.vector);
  const std::int64_t element = std::max(type_bits(type.type.text) / 8, 1);
  variable.alignment = type.alignment != 0 ? type.alignment : element * type.vector;
  if (cursor.at('=')) {
    const Token equals = cursor.take();
    if (initial_bytes_left == nullptr ||
        (type.space != Space::global && type.space != Space::constant)) {
      cursor.fail(equals, "only .global and .const variables can have an initial value");
      return result;
    }
    parse_initializer(cursor, variable, type.type, dimensions, *initial_bytes_left);
  } else if (open_ended && !type.is_extern && type.space != Space::param) {
    cursor.fail(result.name, fmt::format("{} has neither a size nor an initial value",
                                         in_quotes(variable.name)));
  }
  variable.bytes = element;
  for (const std::int64_t count : dimensions) {
    if (__builtin_mul_overflow(variable.bytes, count, &variable.bytes) ||
        variable.bytes > kMaxBytes) {
      cursor.fail(result.name,
                  fmt::format("{} is larger than 2^40 bytes", in_quotes(variable.name)));
      return result;
    }
  }
  return result;
}

std::vector<Variable> parse_parameters(Cursor& cursor) {
  std::vector<Variable> parameters;
  if (!cursor.accept('(') || cursor.accept(')')) return parameters;
  do {
    const Token space = cursor.expect_directive(".param or .reg");
    if (space.text != ".param" && space.text != ".reg") {
      cursor.fail(space, fmt::format("expected .param or .reg, found {}", in_quotes(space.text)));
      return parameters;
    }
    const Space where = space.text == ".reg" ? Space::reg : Space::param;
    const DeclarationType type = parse_declaration_type(cursor, where, false);
    parameters.push_back(parse_declarator(cursor, type, nullptr).variable);
  } while (cursor.accept(','));
  cursor.expect(')', "or \",\" in the list of parameters");
  return parameters;
}

}  // namespace plumbline::emulator
