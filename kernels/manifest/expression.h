// SPDX-License-Identifier: MIT
// Small expressions over a problem's fields, as manifests use them for grids, shared memory,
// parameters and the domain: + - * / % comparisons && || ! ?: parentheses, ceil_div(a, b), min,
// max, and field names. A word field compares with a quoted word (layout == "nt"). Integers have 64
// bits; overflow and division by zero are errors; && || and ?: evaluate only what they need. Real
// fields and literals with a point are real numbers, and so is what is computed from one, in double
// as C would: f32 parameters take them (scale * 1.4426950408889634), everything else compares them
// (beta != 0). docs/manifest.md is the manual.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/manifest/problem.h"
#include "oracles/base/result.h"

namespace plumbline {

// A name an operation offers beside its fields, computed from them: ld_a, the leading dimension in
// effect.
class ComputedName {
 public:
  virtual ~ComputedName() = default;
  virtual Result<std::int64_t> value(const Problem& problem) const = 0;
};

struct Derived {
  std::string_view name;
  Result<std::int64_t> (*function)(const Problem&);  // null: `computed` says
  std::string_view help{};
  const ComputedName* computed = nullptr;

  Result<std::int64_t> value(const Problem& problem) const {
    return function ? function(problem) : computed->value(problem);
  }
};

// A number that an expression compares an integer field with, or divides it by: "k >= 256" is
// {k, 256}, "n % 64 == 0" is {n, 64, divides}. Where more than the field is compared
// ("k / 64 > 3"), the number is about what the field would have to be.
struct FieldConstant {
  std::string_view field;
  std::int64_t value = 0;
  bool exact = false;    // compared with ==
  bool divides = false;  // the field's remainder by it is compared with `remainder`
  std::int64_t remainder = 0;
};

class Expression {
 public:
  // `where` is "file:line:column" of the text's first character; errors point into it.
  static Result<Expression> parse(std::string_view text, std::span<const Field> schema,
                                  std::string_view where, std::span<const Derived> derived = {});
  // The same, where a real number is wanted; an integer is one too.
  static Result<Expression> parse_real(std::string_view text, std::span<const Field> schema,
                                       std::string_view where,
                                       std::span<const Derived> derived = {});
  // Of an expression from parse().
  Result<std::int64_t> evaluate(const Problem& problem) const;
  // Of any. Infinities and NaN are values.
  Result<double> evaluate_real(const Problem& problem) const;

  // What "a && b && c" asks for one by one: {a, b, c}, with the text and place of the whole; itself
  // where it is no conjunction.
  std::vector<Expression> conjuncts() const;

  // The numbers that say which fields are likely to satisfy the expression, as long as it lives.
  std::vector<FieldConstant> constants() const;

  const std::string& text() const { return text_; }

  // "file:line:column", as given to parse().
  const std::string& where() const { return where_; }

  struct Node;

 private:
  static Result<Expression> parse_as(bool real, std::string_view text,
                                     std::span<const Field> schema, std::string_view where,
                                     std::span<const Derived> derived);
  Error located(const Error& error) const;

  std::string text_;
  std::string where_;
  std::shared_ptr<const Node> root_;
};

}  // namespace plumbline
