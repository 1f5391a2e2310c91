// SPDX-License-Identifier: MIT
// Evaluation of expressions: integers of 64 bits, every overflow caught, and doubles; nothing
// evaluated that && || ?: do not need.
#include "kernels/manifest/expression.h"

#include "kernels/manifest/bad_input.h"
#include "kernels/manifest/expression_node.h"
#include "kernels/manifest/position.h"
#include "oracles/base/assert.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace plumbline {
namespace {

using Node = Expression::Node;
using Integer = Result<std::int64_t>;

Error evaluation_error(const Node& node, std::string message) {
  // The column stays relative until Expression::evaluate() knows the whole text's position.
  return bad_input(std::move(message), "", fmt::format("{}", node.column));
}

Error overflow(const Node& node, std::int64_t a, std::string_view sign, std::int64_t b) {
  return evaluation_error(node, fmt::format("{} {} {} does not fit 64 bits", a, sign, b));
}

Integer divide(const Node& node, std::int64_t a, std::int64_t b) {
  if (b == 0) return evaluation_error(node, fmt::format("{} is divided by zero", a));
  if (a == std::numeric_limits<std::int64_t>::min() && b == -1) return overflow(node, a, "/", b);
  return node.op == Operator::remainder ? a % b : a / b;
}

Integer ceil_div(const Node& node, std::int64_t a, std::int64_t b) {
  if (b <= 0) {
    return evaluation_error(node, fmt::format("ceil_div({}, {}) needs a positive divisor", a, b));
  }
  return a / b + (a % b > 0 ? 1 : 0);
}

bool compare(Operator op, auto a, auto b) {
  switch (op) {
    case Operator::equal:
      return a == b;
    case Operator::not_equal:
      return a != b;
    case Operator::less:
      return a < b;
    case Operator::less_equal:
      return a <= b;
    case Operator::greater:
      return a > b;
    case Operator::greater_equal:
      return a >= b;
    default:
      break;
  }
  PLUMB_ASSERT(false);
}

Integer evaluate_node(const Node& node, const Problem& problem);

// Every f32, double and 64-bit integer is exact in x87's long double, so comparisons are exact.
using Real = Result<long double>;
static_assert(std::numeric_limits<long double>::digits >= 64);

Real evaluate_real_node(const Node& node, const Problem& problem);

Integer compare_reals(const Node& node, const Problem& problem) {
  const Real a = evaluate_real_node(*node.children[0], problem);
  if (!a) return a.error();
  const Real b = evaluate_real_node(*node.children[1], problem);
  if (!b) return b.error();
  return std::int64_t{compare(node.comparison, *a, *b)};
}

// Rounded to double, as host code computes the parameters it hands over.
double combine_reals(Operator op, double a, double b) {
  switch (op) {
    case Operator::add:
      return a + b;
    case Operator::subtract:
      return a - b;
    case Operator::multiply:
      return a * b;
    case Operator::divide:
      return a / b;
    case Operator::minimum:
      return std::min(a, b);
    case Operator::maximum:
      return std::max(a, b);
    default:
      break;
  }
  PLUMB_ASSERT(false);
}

Real evaluate_real_node(const Node& node, const Problem& problem) {
  if (!node.real) {
    const Integer value = evaluate_node(node, problem);
    if (!value) return value.error();
    return static_cast<long double>(*value);
  }
  const auto child = [&](std::size_t i) { return evaluate_real_node(*node.children[i], problem); };
  switch (node.op) {
    case Operator::constant:
      return static_cast<long double>(node.real_value);
    case Operator::real_field:
      return static_cast<long double>(problem.real(node.name));
    case Operator::negate: {
      const Real value = child(0);
      if (!value) return value;
      return -*value;
    }
    case Operator::choose: {
      const Integer condition = evaluate_node(*node.children[0], problem);
      if (!condition) return condition.error();
      return child(*condition != 0 ? 1 : 2);
    }
    default: {
      const Real a = child(0);
      if (!a) return a;
      const Real b = child(1);
      if (!b) return b;
      return static_cast<long double>(
          combine_reals(node.op, static_cast<double>(*a), static_cast<double>(*b)));
    }
  }
}

// Operators of two integers that need both.
Integer combine(const Node& node, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (node.op) {
    case Operator::add:
      if (__builtin_add_overflow(a, b, &result)) return overflow(node, a, "+", b);
      return result;
    case Operator::subtract:
      if (__builtin_sub_overflow(a, b, &result)) return overflow(node, a, "-", b);
      return result;
    case Operator::multiply:
      if (__builtin_mul_overflow(a, b, &result)) return overflow(node, a, "*", b);
      return result;
    case Operator::divide:
    case Operator::remainder:
      return divide(node, a, b);
    case Operator::ceil_div:
      return ceil_div(node, a, b);
    case Operator::minimum:
      return std::min(a, b);
    case Operator::maximum:
      return std::max(a, b);
    default:
      return std::int64_t{compare(node.op, a, b)};
  }
}

Integer evaluate_node(const Node& node, const Problem& problem) {
  const auto child = [&](std::size_t i) { return evaluate_node(*node.children[i], problem); };
  switch (node.op) {
    case Operator::constant:
      return node.value;
    case Operator::integer_field:
      return problem.integer(node.name);
    case Operator::derived: {
      Integer value = node.derived->value(problem);
      if (!value) return evaluation_error(node, value.error().message);
      return value;
    }
    case Operator::word_is:
      return std::int64_t{problem.word(node.name) == node.word};
    case Operator::real_compare:
      return compare_reals(node, problem);
    case Operator::logical_and:
    case Operator::logical_or: {
      const Integer left = child(0);
      if (!left) return left;
      const bool decided = (*left != 0) == (node.op == Operator::logical_or);
      if (decided) return std::int64_t{*left != 0};
      const Integer right = child(1);
      if (!right) return right;
      return std::int64_t{*right != 0};
    }
    case Operator::choose: {
      const Integer condition = child(0);
      if (!condition) return condition;
      return child(*condition != 0 ? 1 : 2);
    }
    case Operator::logical_not:
    case Operator::negate: {
      const Integer value = child(0);
      if (!value) return value;
      if (node.op == Operator::logical_not) return std::int64_t{*value == 0};
      if (*value == std::numeric_limits<std::int64_t>::min()) return overflow(node, 0, "-", *value);
      return -*value;
    }
    default: {
      const Integer a = child(0);
      if (!a) return a;
      const Integer b = child(1);
      if (!b) return b;
      return combine(node, *a, *b);
    }
  }
}

// The value of a tree without fields.
std::optional<std::int64_t> constant_value(const Node& node) {
  switch (node.op) {
    case Operator::integer_field:
    case Operator::derived:
    case Operator::real_compare:
    case Operator::real_field:
    case Operator::word_is:
      return std::nullopt;
    default:
      break;
  }
  if (node.real) return std::nullopt;
  for (const auto& child : node.children) {
    if (!constant_value(*child)) return std::nullopt;
  }
  const Integer value = evaluate_node(node, Problem());
  return value ? std::optional(*value) : std::nullopt;
}

constexpr std::int64_t kLargestConstant = std::int64_t{1} << 40;  // of what sizes are compared with

// What fields must be for this tree to be `wanted`, about.
void solve(const Node& node, std::int64_t wanted, bool exact, std::vector<FieldConstant>& found) {
  if (wanted < -kLargestConstant || wanted > kLargestConstant) return;
  if (node.op == Operator::integer_field) {
    found.push_back({node.name, wanted, exact});
    return;
  }
  if (node.children.size() != 2) return;
  const Node &a = *node.children[0], &b = *node.children[1];
  const std::optional<std::int64_t> left = constant_value(a), right = constant_value(b);
  if (node.op == Operator::minimum || node.op == Operator::maximum) {
    solve(a, wanted, exact, found);
    solve(b, wanted, exact, found);
    return;
  }
  if (left.has_value() == right.has_value()) return;
  const std::int64_t constant = left ? *left : *right;
  if (constant < -kLargestConstant || constant > kLargestConstant) return;
  const Node& rest = left ? b : a;
  std::int64_t scaled = 0;
  switch (node.op) {
    case Operator::add:
      return solve(rest, wanted - constant, exact, found);
    case Operator::subtract:
      return solve(rest, left ? constant - wanted : wanted + constant, exact, found);
    case Operator::multiply:
      if (constant != 0) solve(rest, wanted / constant, exact, found);
      return;
    case Operator::divide:
    case Operator::ceil_div:
      if (right && !__builtin_mul_overflow(wanted, constant, &scaled))
        solve(rest, scaled, exact, found);
      return;
    case Operator::remainder:
      if (right && constant > 0 && rest.op == Operator::integer_field)
        found.push_back({rest.name, constant, false, true, wanted});
      return;
    default:
      return;
  }
}

void collect(const Node& node, std::vector<FieldConstant>& found) {
  if (node.op >= Operator::equal && node.op <= Operator::greater_equal) {
    const bool exact = node.op == Operator::equal;
    const Node &a = *node.children[0], &b = *node.children[1];
    if (const auto constant = constant_value(b)) solve(a, *constant, exact, found);
    if (const auto constant = constant_value(a)) solve(b, *constant, exact, found);
  }
  for (const auto& child : node.children) collect(*child, found);
}

}  // namespace

std::vector<Expression> Expression::conjuncts() const {
  PLUMB_ASSERT(root_);
  if (root_->op != Operator::logical_and) return {*this};
  std::vector<Expression> all;
  for (const std::shared_ptr<const Node>& child : root_->children) {
    Expression one = *this;
    one.root_ = child;
    for (Expression& part : one.conjuncts()) all.push_back(std::move(part));
  }
  return all;
}

std::vector<FieldConstant> Expression::constants() const {
  PLUMB_ASSERT(root_);
  std::vector<FieldConstant> found;
  collect(*root_, found);
  return found;
}

Error Expression::located(const Error& error) const {
  Error whole = error;
  whole.where = advance_position(where_, static_cast<std::size_t>(std::stoull(error.where)));
  whole.message += fmt::format(", in \"{}\"", text_);
  return whole;
}

Result<std::int64_t> Expression::evaluate(const Problem& problem) const {
  PLUMB_ASSERT(root_ && !root_->real);
  Integer value = evaluate_node(*root_, problem);
  if (!value) return located(value.error());
  return value;
}

Result<double> Expression::evaluate_real(const Problem& problem) const {
  PLUMB_ASSERT(root_);
  const Real value = evaluate_real_node(*root_, problem);
  if (!value) return located(value.error());
  return static_cast<double>(*value);
}

}  // namespace plumbline
