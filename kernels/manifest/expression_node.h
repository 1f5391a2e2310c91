// SPDX-License-Identifier: MIT
// The tree of a parsed expression. Types were settled by the parser: arithmetic only ever sees
// numbers, and a node with no real number below it is an integer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/manifest/expression.h"

namespace plumbline {

enum class Operator : std::uint8_t {
  constant,       // value, or real_value where the node is real
  integer_field,  // name
  derived,        // derived
  real_compare,   // children: two numbers, not both integers; comparison
  real_field,     // name
  word_is,        // name == word
  add,
  subtract,
  multiply,
  divide,
  remainder,
  negate,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  logical_not,
  choose,  // c ? a : b
  ceil_div,
  minimum,
  maximum,
};

struct Expression::Node {
  Operator op = Operator::constant;
  bool real = false;       // else the value is an integer
  std::size_t column = 0;  // offset of the operator or name in the text, for errors
  std::int64_t value = 0;
  double real_value = 0;
  Operator comparison = Operator::equal;  // of real_compare
  std::string name;                       // field
  std::string word;
  const Derived* derived = nullptr;
  std::vector<std::shared_ptr<const Node>> children;
};

}  // namespace plumbline
