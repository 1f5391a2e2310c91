// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/literal.h"

#include <fmt/format.h>

#include <bit>
#include <optional>

#include "oracles/base/text.h"

namespace plumbline::emulator {
namespace {

std::optional<Literal> float_bits(std::string_view hexadecimal, int bits) {
  if (hexadecimal.size() != static_cast<std::size_t>(bits / 4)) return std::nullopt;
  const auto value = parse_number<std::uint64_t>(hexadecimal, 16);
  if (!value) return std::nullopt;
  return Literal{*value, bits};
}

std::optional<Literal> decimal_float(std::string_view text) {
  const auto value = parse_number<double>(text);
  if (!value) return std::nullopt;
  return Literal{std::bit_cast<std::uint64_t>(*value), 64};
}

std::optional<Literal> integer(std::string_view text, int base) {
  const bool marked = !text.empty() && (text.back() == 'U' || text.back() == 'u');
  if (marked) text.remove_suffix(1);
  const auto value = parse_number<std::uint64_t>(text, base);
  if (!value) return std::nullopt;
  Literal literal{*value};
  literal.is_unsigned = marked || *value >> 63 != 0;
  return literal;
}

std::optional<Literal> unsigned_literal(std::string_view text) {
  if (text.size() > 1 && text[0] == '0') {
    switch (text[1]) {
      case 'f':
      case 'F':
        return float_bits(text.substr(2), 32);
      case 'd':
      case 'D':
        return float_bits(text.substr(2), 64);
      case 'x':
      case 'X':
        return integer(text.substr(2), 16);
      case 'b':
      case 'B':
        return integer(text.substr(2), 2);
      default:
        break;
    }
  }
  if (text.find_first_of(".eE") != std::string_view::npos) return decimal_float(text);
  const bool octal = text.size() > 1 && text[0] == '0' && text[1] != 'u' && text[1] != 'U';
  return octal ? integer(text.substr(1), 8) : integer(text, 10);
}

void negate(Literal& literal) {
  literal.negative = true;
  if (literal.float_bits == 0) {
    literal.value = -literal.value;
  } else {
    literal.value ^= std::uint64_t{1} << (literal.float_bits - 1);
  }
}

}  // namespace

Literal parse_literal(Cursor& cursor, Sign sign) {
  const bool minus = sign == Sign::minus || (sign == Sign::optional && cursor.accept('-'));
  if (sign == Sign::optional && !minus) cursor.accept('+');
  const Token token = cursor.current();
  if (token.kind != TokenKind::number) {
    cursor.expected("a number");
    return {};
  }
  cursor.take();
  auto literal = unsigned_literal(token.text);
  constexpr std::uint64_t kLowest = std::uint64_t{1} << 63;
  const bool too_low = minus && literal && literal->float_bits == 0 && literal->value > kLowest;
  if (!literal || too_low) {
    cursor.fail(token, fmt::format("{} is not a number that fits in 64 bits", quoted(token.text)),
                "integers: 12, 12U, 0x1F, 017, 0b101; floats: 0f and 8, 0d and 16 hexadecimal "
                "digits, or 1.5e-3");
    return {};
  }
  if (minus) negate(*literal);
  return *literal;
}

std::int64_t parse_integer(Cursor& cursor, std::string_view what, std::int64_t low,
                           std::int64_t high) {
  const Token token = cursor.current();
  if (token.kind != TokenKind::number && !token.is('-') && !token.is('+')) {
    cursor.expected(what);
    return low;
  }
  const Literal literal = parse_literal(cursor);
  if (cursor.failed()) return low;
  const auto value = static_cast<std::int64_t>(literal.value);
  const bool wraps = !literal.negative && value < 0;
  if (literal.float_bits != 0 || wraps || value < low || value > high) {
    cursor.fail(token, fmt::format("{} must be an integer from {} to {}", what, low, high));
    return low;
  }
  return value;
}

}  // namespace plumbline::emulator
