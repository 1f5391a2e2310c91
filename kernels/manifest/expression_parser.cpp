// SPDX-License-Identifier: MIT
// Expression text to tree, by recursive descent: one function per level of binding, loosest first.
// Types are checked here, so that evaluation cannot meet a word where a number is due.
#include "kernels/manifest/bad_input.h"
#include "kernels/manifest/expression.h"
#include "kernels/manifest/expression_node.h"
#include "kernels/manifest/position.h"
#include "oracles/base/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace plumbline {
namespace {

using Node = Expression::Node;
using NodePointer = std::shared_ptr<const Node>;

// Bounds on the recursion, here and in the evaluation; far beyond what anyone writes.
constexpr int kMaximumDepth = 100;
constexpr std::size_t kMaximumLength = 2000;

enum class Type : std::uint8_t { integer, real, word_field, word };

// A subexpression with its type. A null tree means that an error was recorded; it is passed up
// unchanged.
struct Typed {
  NodePointer node;
  Type type = Type::integer;
};

struct BinaryOperator {
  std::string_view sign;
  Operator op;
  int level;  // larger binds tighter
};

// clang-format off
constexpr std::array kBinaryOperators = {
    // Longer signs first: "<=" before "<".
    BinaryOperator{"||", Operator::logical_or,    0},
    BinaryOperator{"&&", Operator::logical_and,   1},
    BinaryOperator{"==", Operator::equal,         2},
    BinaryOperator{"!=", Operator::not_equal,     2},
    BinaryOperator{"<=", Operator::less_equal,    3},
    BinaryOperator{">=", Operator::greater_equal, 3},
    BinaryOperator{"<",  Operator::less,          3},
    BinaryOperator{">",  Operator::greater,       3},
    BinaryOperator{"+",  Operator::add,           4},
    BinaryOperator{"-",  Operator::subtract,      4},
    BinaryOperator{"*",  Operator::multiply,      5},
    BinaryOperator{"/",  Operator::divide,        5},
    BinaryOperator{"%",  Operator::remainder,     5},
};
constexpr int kTightestLevel = 5;

struct FunctionName {
  std::string_view name;
  Operator op;
};

constexpr std::array kFunctions = {
    FunctionName{"ceil_div", Operator::ceil_div},
    FunctionName{"min",      Operator::minimum},
    FunctionName{"max",      Operator::maximum},
};

// clang-format on

bool is_comparison(Operator op) { return op >= Operator::equal && op <= Operator::greater_equal; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, std::span<const Field> schema, std::span<const Derived> derived)
      : text_(text), schema_(schema), derived_(derived) {}

  // The whole text as one expression; null after an error.
  NodePointer parse(Type wanted) {
    if (text_.size() > kMaximumLength) {
      fail(kMaximumLength,
           fmt::format("the expression is longer than {} characters", kMaximumLength), "");
      return nullptr;
    }
    const Typed whole = conditional();
    if (!whole.node) return nullptr;
    skip_spaces();
    if (at_ < text_.size()) {
      unexpected();
      return nullptr;
    }
    return (wanted == Type::real ? require_number(whole) : require_integer(whole)).node;
  }

  const Error& error() const { return *error_; }

  std::size_t error_column() const { return error_column_; }

 private:
  Typed fail(std::size_t column, std::string message, std::string hint) {
    if (!error_) {
      error_ = bad_input(std::move(message), std::move(hint));
      error_column_ = column;
    }
    return {};
  }

  // Python's and C's ways to say it.
  Typed unexpected() {
    const std::string_view rest = text_.substr(at_);
    const auto end = std::ranges::find_if_not(rest, is_letter);
    const std::string_view word = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    std::string_view hint;
    if (rest.front() == '=') hint = "compare with ==";
    if (word == "and") hint = "write &&";
    if (word == "or") hint = "write ||";
    if (rest.front() == '/') hint = "write /, which divides whole numbers toward zero";
    return fail(at_,
                fmt::format("\"{}\" is not expected here", word.empty() ? rest.substr(0, 1) : word),
                std::string(hint));
  }

  void skip_spaces() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool take(std::string_view sign) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  Typed require_integer(Typed operand) {
    if (!operand.node || operand.type != Type::real) return require_number(std::move(operand));
    const std::string& name = operand.node->name;
    return fail(operand.node->column,
                fmt::format("{} is a real number where a whole one is needed",
                            name.empty() ? "this" : name),
                fmt::format("compare it, for example {} == 0", name.empty() ? "beta" : name));
  }

  Typed require_number(Typed operand) {
    if (!operand.node || operand.type == Type::integer || operand.type == Type::real)
      return operand;
    const std::size_t column = operand.node->column;
    if (operand.type == Type::word_field) {
      return fail(
          column,
          fmt::format("{} is a word: it can only be compared with == and !=", operand.node->name),
          fmt::format("for example {} == \"{}\"", operand.node->name,
                      field(operand.node->name)->choices[0]));
    }
    return fail(column, fmt::format("\"{}\" can only be compared with a field", operand.node->word),
                "");
  }

  Typed make(Operator op, std::size_t column, Type type, std::vector<NodePointer> children) {
    auto node = std::make_shared<Node>();
    node->op = op;
    node->column = column;
    node->real = type == Type::real;
    node->children = std::move(children);
    return {std::move(node), type};
  }

  // What an operation on two numbers gives: a real number where one of them is.
  static Type joined(const Typed& a, const Typed& b) {
    return a.type == Type::real || b.type == Type::real ? Type::real : Type::integer;
  }

  // condition ? a : b, and everything that binds tighter.
  Typed conditional() {
    if (++depth_ > kMaximumDepth) {
      return fail(at_, fmt::format("nested more than {} deep", kMaximumDepth),
                  "split the expression");
    }
    Typed condition = binary(0);
    skip_spaces();
    const std::size_t column = at_;
    if (condition.node && take("?")) {
      condition = require_integer(condition);
      const Typed yes = require_number(conditional());
      if (yes.node && !take(":"))
        return fail(at_, "\":\" is missing after \"?\"", "write condition ? a : b");
      const Typed no = yes.node ? require_number(conditional()) : Typed{};
      if (!condition.node || !yes.node || !no.node) return {};
      condition =
          make(Operator::choose, column, joined(yes, no), {condition.node, yes.node, no.node});
    }
    --depth_;
    return condition;
  }

  const BinaryOperator* take_operator(int level) {
    skip_spaces();
    for (const BinaryOperator& candidate : kBinaryOperators) {
      if (!text_.substr(at_).starts_with(candidate.sign)) continue;
      if (candidate.level != level) return nullptr;
      at_ += candidate.sign.size();
      return &candidate;
    }
    return nullptr;
  }

  Typed binary(int level) {
    if (level > kTightestLevel) return unary();
    Typed left = binary(level + 1);
    bool compared = false;
    while (left.node) {
      skip_spaces();
      const std::size_t column = at_;
      const BinaryOperator* found = take_operator(level);
      if (!found) break;
      if (is_comparison(found->op) && std::exchange(compared, true)) {
        return fail(column, "comparisons do not chain", "write a < b && b < c");
      }
      const Typed right = binary(level + 1);
      if (!right.node) return {};
      left = is_comparison(found->op) ? comparison(found->op, column, left, right)
                                      : arithmetic(found->op, column, left, right);
    }
    return left;
  }

  Typed arithmetic(Operator op, std::size_t column, const Typed& left, const Typed& right) {
    const bool whole =
        op == Operator::remainder || op == Operator::logical_and || op == Operator::logical_or;
    const Typed a = whole ? require_integer(left) : require_number(left);
    const Typed b = whole ? require_integer(right) : require_number(right);
    if (!a.node || !b.node) return {};
    return make(op, column, joined(a, b), {a.node, b.node});
  }

  Typed comparison(Operator op, std::size_t column, const Typed& left, const Typed& right) {
    if (left.type == Type::word_field && right.type == Type::word)
      return word_test(op, column, left, right);
    if (left.type == Type::word && right.type == Type::word_field)
      return word_test(op, column, right, left);
    const bool real = left.type == Type::real || right.type == Type::real;
    if (real && left.type != Type::word_field && left.type != Type::word &&
        right.type != Type::word_field && right.type != Type::word) {
      Typed made = make(Operator::real_compare, column, Type::integer, {left.node, right.node});
      auto node = std::make_shared<Node>(*made.node);
      node->comparison = op;
      return {std::move(node), Type::integer};
    }
    return arithmetic(op, column, left, right);
  }

  Typed word_test(Operator op, std::size_t column, const Typed& name, const Typed& word) {
    if (op != Operator::equal && op != Operator::not_equal) return require_integer(name);
    const std::span<const std::string_view> choices = field(name.node->name)->choices;
    if (std::find(choices.begin(), choices.end(), word.node->word) == choices.end()) {
      const std::string meant = did_you_mean(word.node->word, choices);
      return fail(word.node->column,
                  fmt::format("{} is never \"{}\"", name.node->name, word.node->word),
                  meant.empty() ? fmt::format("it is one of {}", fmt::join(choices, ", ")) : meant);
    }
    auto node = std::make_shared<Node>();
    node->op = Operator::word_is;
    node->column = column;
    node->name = name.node->name;
    node->word = word.node->word;
    if (op == Operator::equal) return {std::move(node), Type::integer};
    return make(Operator::logical_not, column, Type::integer, {std::move(node)});
  }

  Typed unary() {
    skip_spaces();
    const std::size_t column = at_;
    const bool negate = take("-");
    if (!negate && !(text_.substr(at_).starts_with("!") && take("!"))) return primary();
    if (++depth_ > kMaximumDepth) {
      return fail(at_, fmt::format("nested more than {} deep", kMaximumDepth),
                  "split the expression");
    }
    const Typed operand = negate ? require_number(unary()) : require_integer(unary());
    --depth_;
    if (!operand.node) return {};
    return make(negate ? Operator::negate : Operator::logical_not, column, operand.type,
                {operand.node});
  }

  Typed primary() {
    skip_spaces();
    if (at_ == text_.size()) return fail(at_, "the expression ends too early", "");
    const char c = text_[at_];
    if (c == '(') return parenthesized();
    if (c == '"' || c == '\'') return quoted(c);
    if (is_digit(c)) return number();
    if (is_letter(c)) return name();
    return unexpected();
  }

  Typed parenthesized() {
    ++at_;
    const Typed inner = conditional();
    if (inner.node && !take(")")) return fail(at_, "\")\" is missing", "");
    return inner;
  }

  Typed quoted(char quote) {
    const std::size_t start = at_;
    const std::size_t end = text_.find(quote, start + 1);
    if (end == std::string_view::npos) return fail(start, "this word has no closing quote", "");
    auto node = std::make_shared<Node>();
    node->column = start;
    node->word = text_.substr(start + 1, end - start - 1);
    at_ = end + 1;
    return {std::move(node), Type::word};
  }

  Typed number() {
    const std::size_t start = at_;
    auto node = std::make_shared<Node>();
    node->column = start;
    const char* begin = text_.data() + start;
    const char* end = text_.data() + text_.size();
    const char* stop = std::find_if_not(begin, end, is_digit);
    node->real = stop != end && (*stop == '.' || *stop == 'e' || *stop == 'E');
    const std::from_chars_result read = node->real ? std::from_chars(begin, end, node->real_value)
                                                   : std::from_chars(begin, end, node->value);
    at_ = static_cast<std::size_t>(read.ptr - text_.data());
    if (read.ec != std::errc())
      return fail(start,
                  fmt::format("this number does not fit {}", node->real ? "a double" : "64 bits"),
                  "");
    if (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.'))
      return fail(start, "this is not a number", "");
    const Type type = node->real ? Type::real : Type::integer;
    return {std::move(node), type};
  }

  Typed name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (take("(")) return call(name, start);
    auto node = std::make_shared<Node>();
    node->column = start;
    node->name = name;
    if (const Field* found = field(name)) {
      switch (found->kind) {
        case FieldKind::integer:
          node->op = Operator::integer_field;
          return {std::move(node), Type::integer};
        case FieldKind::real:
          node->op = Operator::real_field;
          node->real = true;
          return {std::move(node), Type::real};
        case FieldKind::word:
          return {std::move(node), Type::word_field};
      }
    }
    for (const Derived& candidate : derived_) {
      if (candidate.name != name) continue;
      node->op = Operator::derived;
      node->derived = &candidate;
      return {std::move(node), Type::integer};
    }
    return fail(start, fmt::format("there is no field \"{}\"", name), meant_name(name));
  }

  Typed call(std::string_view name, std::size_t column) {
    const auto found =
        std::find_if(kFunctions.begin(), kFunctions.end(),
                     [&](const FunctionName& function) { return function.name == name; });
    if (found == kFunctions.end()) {
      std::vector<std::string_view> names;
      for (const FunctionName& function : kFunctions) names.push_back(function.name);
      const std::string meant = did_you_mean(name, names);
      return fail(
          column, fmt::format("there is no function \"{}\"", name),
          meant.empty() ? fmt::format("the functions are {}", fmt::join(names, ", ")) : meant);
    }
    const auto argument = [&] {
      return found->op == Operator::ceil_div ? require_integer(conditional())
                                             : require_number(conditional());
    };
    const Typed a = argument();
    if (!a.node) return {};
    if (!take(",")) return fail(at_, fmt::format("{} takes two values", name), "");
    const Typed b = argument();
    if (!b.node) return {};
    if (!take(")"))
      return fail(at_, fmt::format("\")\" is missing after the two values of {}", name), "");
    return make(found->op, column, joined(a, b), {a.node, b.node});
  }

  const Field* field(std::string_view name) const {
    for (const Field& candidate : schema_) {
      if (candidate.name == name) return &candidate;
    }
    return nullptr;
  }

  std::string meant_name(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const Field& candidate : schema_) names.push_back(candidate.name);
    for (const Derived& candidate : derived_) names.push_back(candidate.name);
    const std::string meant = did_you_mean(name, names);
    return meant.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : meant;
  }

  std::string_view text_;
  std::span<const Field> schema_;
  std::span<const Derived> derived_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::optional<Error> error_;
  std::size_t error_column_ = 0;
};

}  // namespace

Result<Expression> Expression::parse(std::string_view text, std::span<const Field> schema,
                                     std::string_view where, std::span<const Derived> derived) {
  return parse_as(false, text, schema, where, derived);
}

Result<Expression> Expression::parse_real(std::string_view text, std::span<const Field> schema,
                                          std::string_view where,
                                          std::span<const Derived> derived) {
  return parse_as(true, text, schema, where, derived);
}

Result<Expression> Expression::parse_as(bool real, std::string_view text,
                                        std::span<const Field> schema, std::string_view where,
                                        std::span<const Derived> derived) {
  Parser parser(text, schema, derived);
  NodePointer root = parser.parse(real ? Type::real : Type::integer);
  if (!root) {
    Error error = parser.error();
    error.where = advance_position(where, parser.error_column());
    return error;
  }
  Expression expression;
  expression.text_ = text;
  expression.where_ = where;
  expression.root_ = std::move(root);
  return expression;
}

}  // namespace plumbline
