// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/literal.h"

#include <fmt/format.h>

#include <array>
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
    cursor.fail(token,
                fmt::format("{} is not a number that fits in 64 bits", in_quotes(token.text)),
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

namespace {

constexpr int kDeepest = 200;

struct BinaryOperator {
  std::string_view text;
  int precedence;  // the higher binds first
};

// Those of two characters first, which begin like others.
constexpr std::array kBinary = {
    BinaryOperator{"||", 1}, BinaryOperator{"&&", 2}, BinaryOperator{"==", 6},
    BinaryOperator{"!=", 6}, BinaryOperator{"<=", 7}, BinaryOperator{">=", 7},
    BinaryOperator{"<<", 8}, BinaryOperator{">>", 8}, BinaryOperator{"|", 3},
    BinaryOperator{"^", 4},  BinaryOperator{"&", 5},  BinaryOperator{"<", 7},
    BinaryOperator{">", 7},  BinaryOperator{"+", 9},  BinaryOperator{"-", 9},
    BinaryOperator{"*", 10}, BinaryOperator{"/", 10}, BinaryOperator{"%", 10}};

Literal constant(std::uint64_t value, bool is_unsigned) {
  Literal result;
  result.value = value;
  result.is_unsigned = is_unsigned;
  result.negative = !is_unsigned && static_cast<std::int64_t>(value) < 0;
  return result;
}

Literal truth(bool value) { return constant(value ? 1 : 0, false); }

Literal f64(double value) {
  Literal result;
  result.value = std::bit_cast<std::uint64_t>(value);
  result.float_bits = 64;
  return result;
}

template <typename T>
bool compare(std::string_view op, T a, T b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  return op == "<=" ? a <= b : a >= b;
}

bool is_comparison(std::string_view op) {
  return op == "==" || op == "!=" || op[0] == '<' || op[0] == '>';
}

class ConstantParser {
 public:
  explicit ConstantParser(Cursor& cursor) : cursor_(cursor) {}

  Literal parse() {
    const Token start = cursor_.current();
    if (++depth_ > kDeepest) {
      cursor_.fail(start, fmt::format("a constant expression nested more than {} deep", kDeepest));
      return {};
    }
    Literal result = parse_binary(parse_unary(), 0);
    if (cursor_.at('?')) {
      computed = true;
      const Token question = cursor_.take();
      if (result.float_bits != 0) {
        cursor_.fail(question, "\"?\" chooses by an integer, not by a float");
      }
      const Literal if_true = parse();
      cursor_.expect(':', "between the two values of \"?\"");
      const Literal if_false = parse();
      result = result.value != 0 ? if_true : if_false;
    }
    --depth_;
    return result;
  }

  bool computed = false;

 private:
  const BinaryOperator* at_binary() const {
    for (const BinaryOperator& one : kBinary) {
      if (cursor_.at(one.text)) return &one;
    }
    return nullptr;
  }

  // Goes on behind `left` with operators that bind more than `precedence`.
  Literal parse_binary(Literal left, int precedence) {
    for (const BinaryOperator* op = at_binary();
         op != nullptr && op->precedence > precedence && !cursor_.failed(); op = at_binary()) {
      const Token at = cursor_.take();
      if (op->text.size() == 2) cursor_.take();
      const Literal right = parse_binary(parse_unary(), op->precedence);
      left = apply(at, op->text, left, right);
      computed = true;
    }
    return left;
  }

  Literal parse_unary() {
    const Token at = cursor_.current();
    if (at.kind == TokenKind::number) return parse_literal(cursor_);
    if (at.kind == TokenKind::word && at.text == "WARP_SZ") {
      computed = true;
      cursor_.take();
      return constant(32, false);
    }
    if (++depth_ > kDeepest) {
      cursor_.fail(at, fmt::format("a constant expression nested more than {} deep", kDeepest));
      return {};
    }
    Literal result;
    if (cursor_.accept('(')) {
      result = parse_parenthesis();
    } else if (cursor_.at('-') || cursor_.at('+')) {
      result = parse_signed();
    } else if (cursor_.at('~') || cursor_.at('!')) {
      computed = true;
      const bool inverts = cursor_.take().is('~');
      const Literal operand = parse_unary();
      if (operand.float_bits != 0)
        cursor_.fail(at, fmt::format("{} of a float", in_quotes(at.text)));
      result = inverts ? constant(~operand.value, true) : truth(operand.value == 0);
    } else {
      cursor_.expected("a number");
    }
    --depth_;
    return result;
  }

  // Behind "(": a cast and what it casts, or an expression.
  Literal parse_parenthesis() {
    computed = true;
    if (!cursor_.at_directive()) {
      const Literal inner = parse();
      cursor_.expect(')', "at the end of a constant expression");
      return inner;
    }
    const Token type = cursor_.take();
    if (type.text != ".s64" && type.text != ".u64")
      cursor_.fail(type, fmt::format("a constant is cast to .s64 or .u64, not {}", type.text));
    cursor_.expect(')', "after the type of a cast");
    const Literal operand = parse_unary();
    if (operand.float_bits != 0) cursor_.fail(type, "a float cannot be cast to an integer");
    return constant(operand.value, type.text == ".u64");
  }

  // A number's own sign is the literal's.
  Literal parse_signed() {
    const Token sign = cursor_.take();
    if (cursor_.current().kind == TokenKind::number)
      return parse_literal(cursor_, sign.is('-') ? Sign::minus : Sign::plus);
    computed = true;
    Literal operand = parse_unary();
    if (sign.is('+')) return operand;
    if (operand.float_bits == 0) return constant(-operand.value, operand.is_unsigned);
    operand.value ^= std::uint64_t{1} << (operand.float_bits - 1);
    return operand;
  }

  Literal apply(const Token& at, std::string_view op, const Literal& a, const Literal& b) {
    if (cursor_.failed()) return {};
    if (a.float_bits != 0 || b.float_bits != 0) return apply_to_floats(at, op, a, b);
    if (op == "||") return truth(a.value != 0 || b.value != 0);
    if (op == "&&") return truth(a.value != 0 && b.value != 0);
    const int amount = static_cast<int>(b.value % 64);
    if (op == "<<") return constant(a.value << amount, a.is_unsigned);
    if (op == ">>") {
      return constant(
          a.is_unsigned ? a.value >> amount
                        : static_cast<std::uint64_t>(static_cast<std::int64_t>(a.value) >> amount),
          a.is_unsigned);
    }
    const bool is_unsigned = a.is_unsigned || b.is_unsigned;
    const auto x = static_cast<std::int64_t>(a.value), y = static_cast<std::int64_t>(b.value);
    if (is_comparison(op))
      return truth(is_unsigned ? compare(op, a.value, b.value) : compare(op, x, y));
    if (op == "+") return constant(a.value + b.value, is_unsigned);
    if (op == "-") return constant(a.value - b.value, is_unsigned);
    if (op == "*") return constant(a.value * b.value, is_unsigned);
    if (op == "&") return constant(a.value & b.value, is_unsigned);
    if (op == "|") return constant(a.value | b.value, is_unsigned);
    if (op == "^") return constant(a.value ^ b.value, is_unsigned);
    if (b.value == 0) {
      cursor_.fail(at, "division by zero in a constant expression");
      return {};
    }
    if (op == "%") return constant(a.value % b.value, true);
    if (is_unsigned) return constant(a.value / b.value, true);
    return y == -1 ? constant(-a.value, false)  // the least integer stays as it is
                   : constant(static_cast<std::uint64_t>(x / y), false);
  }

  Literal apply_to_floats(const Token& at, std::string_view op, const Literal& a,
                          const Literal& b) {
    if (a.float_bits != 64 || b.float_bits != 64) {
      cursor_.fail(at,
                   fmt::format("{} takes two integers, or two floats such as 1.5", in_quotes(op)));
      return {};
    }
    const auto x = std::bit_cast<double>(a.value), y = std::bit_cast<double>(b.value);
    if (op == "+") return f64(x + y);
    if (op == "-") return f64(x - y);
    if (op == "*") return f64(x * y);
    if (op == "/") return f64(x / y);
    if (op != "<<" && op != ">>" && is_comparison(op)) return truth(compare(op, x, y));
    cursor_.fail(at, fmt::format("{} takes integers", in_quotes(op)));
    return {};
  }

  Cursor& cursor_;
  int depth_ = 0;
};

}  // namespace

bool starts_constant(const Cursor& cursor) {
  const Token& token = cursor.current();
  if (token.kind == TokenKind::number || token.text == "WARP_SZ") return true;
  if (token.is('!')) {
    Cursor ahead = cursor;
    ahead.take();
    return !ahead.at_word() || ahead.current().text == "WARP_SZ";
  }
  return token.is('-') || token.is('+') || token.is('(') || token.is('~');
}

Constant parse_constant(Cursor& cursor) {
  ConstantParser parser(cursor);
  const Literal literal = parser.parse();
  return {literal, parser.computed};
}

std::int64_t parse_offset(Cursor& cursor) {
  if (!cursor.at('+') && !cursor.at('-')) return 0;
  if (cursor.at('+')) cursor.take();
  const Token start = cursor.current();
  const Constant offset = parse_constant(cursor);
  if (offset.literal.float_bits != 0) cursor.fail(start, "expected an integer offset");
  return static_cast<std::int64_t>(offset.literal.value);
}

}  // namespace plumbline::emulator
