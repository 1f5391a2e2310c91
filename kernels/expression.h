// SPDX-License-Identifier: MIT
// Small integer expressions over a problem's fields, as manifests use them for grids, shared
// memory, parameters and the domain: + - * / % comparisons && || ! ?: parentheses, ceil_div(a, b),
// min, max, and field names. A word field compares with a quoted word (layout == "nt"), a real
// field with numbers (beta != 0). 64-bit; overflow and division by zero are errors; && || and ?:
// evaluate only what they need. docs/manifest.md is the manual.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/problem.h"
#include "oracles/base/result.h"

namespace plumbline {

// A name an operation offers beside its fields, computed from them: ld_a, the leading dimension in
// effect.
struct Derived {
  std::string_view name;
  Result<std::int64_t> (*value)(const Problem&);
  std::string_view help{};
};

class Expression {
 public:
  // `where` is "file:line:column" of the text's first character; errors point into it.
  static Result<Expression> parse(std::string_view text, std::span<const Field> schema,
                                  std::string_view where, std::span<const Derived> derived = {});
  Result<std::int64_t> evaluate(const Problem& problem) const;

  const std::string& text() const { return text_; }

  struct Node;

 private:
  std::string text_;
  std::string where_;
  std::shared_ptr<const Node> root_;
};

}  // namespace plumbline
