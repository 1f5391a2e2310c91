// SPDX-License-Identifier: MIT
// An operation as a text: the tree that the parser makes of it (docs/operation_texts.md is the
// reference of the language). Every node knows its place, so that an error found later names line
// and column.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/base/result.h"

namespace plumbline::text {

struct Place {
  int line = 0, column = 0;
};

enum class Kind : std::uint8_t {
  number,        // 2, 1e-6
  name,          // n, eps, i
  reference,     // x[i, j]; `name`, children: subscripts
  negate,        // -a
  add,           // a + b
  subtract,      // a - b
  multiply,      // a * b
  divide,        // a / b, always of real numbers
  floor_divide,  // a // b, of integers
  remainder,     // a % b, of integers, with the sign of b
  square,        // a^2
  call,          // exp(a); `name`
  reduce,   // sum[j if c] a; `name`, `indices`, `condition`, children: the body (none for count).
            // top[j, s] a: the body, and s
  compare,  // a < b; `name` is the operator
  logical_and,  // a and b
  logical_or,   // a or b
  logical_not,  // not a
};

struct Node;
using NodePtr = std::shared_ptr<const Node>;

// An index and the integers that it takes: low, low + 1, ..., high - 1. Either end may be missing:
// low is 0 then, and high what the text implies.
struct Index {
  std::string name;
  Place place;
  NodePtr low, high;
};

struct Node {
  Kind kind = Kind::number;
  Place place;
  double number = 0;
  bool whole = false;  // a number without point and exponent
  int depth = 1;       // of the tree below
  std::string name;
  std::vector<NodePtr> children;
  std::vector<Index> indices;
  NodePtr condition;
};

// A tensor or a scalar between the parentheses, or an output behind the arrow.
struct Parameter {
  std::string name;
  Place place;
  bool is_tensor = false;
  std::vector<NodePtr> sizes;
  std::string type;  // "s32", "int", "e4m3"; empty: real numbers of the format that a manifest says
  bool output = false;
  bool inout = false;     // an input that the kernel writes over
  bool optional = false;  // an output that a kernel need not have
  NodePtr otherwise;      // a scalar's default; what a tensor's elements are where there is none
  NodePtr low, high;      // `in low .. high`: the values of its elements. Of integers without high
  std::vector<NodePtr> others;  // `or value`: values beside them
};

// residual[i, j] = x[i, j] + residual[i, j] for j < n
struct Step {
  std::string name;
  Place place;
  std::vector<NodePtr> subscripts;
  NodePtr value;
  std::vector<Index> bounds;
};

struct OperationText {
  std::string name;
  Place place;
  std::string path;                   // where its lines are, as errors name it
  std::string about;                  // the comment above it
  std::string source;                 // its lines
  std::vector<Parameter> parameters;  // inputs and scalars, then outputs
  std::vector<Step> steps;

  const Parameter* find(std::string_view name) const;
};

// All operations of a text. `path` is where it is from; errors name path, line and column.
Result<std::vector<OperationText>> parse_operations(std::string_view text, std::string_view path);

// "path:line:column".
std::string position(std::string_view path, Place place);

// The node as it would be written.
std::string text_of(const Node& node);
std::string text_of(const Index& index);

}  // namespace plumbline::text
