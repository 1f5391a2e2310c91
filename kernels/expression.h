// SPDX-License-Identifier: MIT
// Small integer expressions over a problem's fields, as manifests use them for grids, shared memory, parameters and the
// domain: + - * / % comparisons && || ! ?: parentheses, ceil_div(a, b), min, max, and field names. A word field compares
// with a quoted word (layout == "nt"). 64-bit; overflow and division by zero are errors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/problem.h"
#include "oracles/base/result.h"

namespace plumbline {

class Expression {
 public:
  // `where` is "file:line:column" of the text's first character; errors point into it.
  static Result<Expression> parse(std::string_view text, std::span<const Field> schema, std::string_view where);
  Result<std::int64_t> evaluate(const Problem& problem) const;

  const std::string& text() const { return text_; }

  struct Node;

 private:
  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace plumbline
