// SPDX-License-Identifier: MIT
// Program: an operation's text, checked: every name is resolved, every expression has a type, every
// index its range. It knows no sizes yet; an Instance has those of one problem.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/formats/format.h"
#include "oracles/text/syntax.h"

namespace plumbline::text {

enum class Type : std::uint8_t { integer, boolean, real };

enum class Op : std::uint8_t {
  constant,  // number
  size,      // id
  scalar,    // id
  index,     // id: a slot
  input,     // id, children: subscripts
  step,      // id, children: subscripts
  largest,   // the largest finite number of a tensor's format; id
  // Of integers.
  integer_add,
  integer_subtract,
  integer_multiply,
  floor_divide,
  remainder,
  // Of real numbers (children of any type).
  sum,      // of all children, in any order; negated where `negative` says
  product,  // of all children, in any order
  quotient,
  function,  // `function` of one child
  round_to,  // `format`: the operation itself rounds
  // Of either.
  negate,
  maximum,
  minimum,
  where,   // condition, value, other value
  reduce,  // over `ranges` where `condition`, if any; id: a Reduction. child: the body
  // Conditions.
  compare,  // id: a Comparison
  logical_and,
  logical_or,
  logical_not,
};

// top: the index of the largest, next to largest ... of the body; the second child says which, from
// 0. Of equal ones the lower index comes first. -1: there are not so many.
enum class Reduction : std::uint8_t { sum, max, min, count, top };
enum class Comparison : std::uint8_t { less, less_equal, greater, greater_equal, equal, not_equal };
enum class Function : std::uint8_t {
  exp,
  exp2,
  log,
  log2,
  sqrt,
  rsqrt,
  tanh,
  erf,
  sin,
  cos,
  abs,
  sign,
  floor,
  round,
  logb,  // floor(log2 |x|); of 0 -infinity
  square
};

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

// A slot takes low, low + 1, ..., high - 1.
struct Range {
  int slot = 0;
  ExpressionPtr low;                // null: 0
  std::vector<ExpressionPtr> high;  // all must be the same number
};

// An error of a step that several uses share (first-order forms): the step, and its subscripts as
// text, in which $s is slot s.
struct Symbol {
  int step = 0;
  std::vector<std::string> subscripts;

  bool operator==(const Symbol&) const = default;
};

constexpr int kMostSymbols = 4;
using Slots = std::array<std::int8_t, kMostSymbols>;  // where a child's symbols are; -1: nowhere

struct Expression {
  Op op = Op::constant;
  Type type = Type::real;
  Place place;
  int id = 0;
  double number = 0, rest = 0;  // of a constant: the number, and what double leaves of it
  Function function = Function::exp;
  FormatId format = FormatId::f32;
  std::vector<ExpressionPtr> children;
  std::vector<bool> negative;
  std::vector<Range> ranges;
  ExpressionPtr condition;
  // What errors of earlier steps the value is known to depend on, and where each child's are among
  // them.
  std::vector<Symbol> symbols;
  std::vector<Slots> of_child;
  // Of a reduction that does not depend on all indices around it: those it does depend on, and its
  // number among such reductions. -1: it depends on all.
  std::vector<int> depends_on;
  int memo = -1;
  // Of a reduction of which only the end depends on some of these indices, as a cumulative sum has
  // it: those that its terms depend on, and its number among such reductions. -1: of no such one.
  std::vector<int> terms_depend_on;
  int cumulative = -1;
  int own_symbol = -1;  // of a step's reference: the one that stands for the step's own error
  mutable double operations = 0;  // each as often as it occurs; 0: not counted yet

  bool is_top() const { return op == Op::reduce && id == static_cast<int>(Reduction::top); }
};

// Calls visit for each expression that a node is made of.
template <typename Visit>
void for_each_child(const Expression& node, const Visit& visit) {
  if (node.condition) visit(*node.condition);
  for (const ExpressionPtr& child : node.children) visit(*child);
  for (const Range& range : node.ranges) {
    if (range.low) visit(*range.low);
    for (const ExpressionPtr& high : range.high) visit(*high);
  }
}

struct Input {
  const Parameter* parameter = nullptr;
  std::vector<ExpressionPtr> shape;
  bool integer = false;
  // As the parameter's, of sizes, scalars and numbers.
  ExpressionPtr otherwise, low, high;
  std::vector<ExpressionPtr> others;

  // Where its range is this: of integers the high end does not count.
  bool has_a_value(double from, double to) const {
    return !others.empty() || (integer ? from < to : from <= to);
  }
};

// One line of a step: most steps have one, those written in pieces several.
struct Piece {
  std::vector<Range> ranges;              // slots of the left side
  std::vector<ExpressionPtr> subscripts;  // in these slots, affine
  ExpressionPtr value;
  Place place;
};

struct StepTensor {
  std::string name;
  std::string output;                    // its name as an output; empty: none
  const Parameter* parameter = nullptr;  // what declares it; null: nothing does
  Type type = Type::real;
  std::vector<std::vector<ExpressionPtr>> shape;  // of each dimension: what its extent must be
  std::vector<Piece> pieces;
  bool has_symbol = false;  // uses of it share its error
  int depth = 0;            // of its expressions and those of the steps that they read

  bool plain() const { return pieces.size() == 1; }

  // An output that is chosen by real numbers: a kernel may choose another of those that its
  // roundings do not tell apart, and what reads it is computed from what the kernel stored.
  bool is_choice() const { return pieces.front().value->is_top(); }
};

struct Program {
  OperationText text;
  std::vector<std::string> sizes;
  std::vector<const Parameter*> scalars;
  std::map<std::string, ExpressionPtr> defaults;  // of scalars
  std::map<std::string, ExpressionPtr> widths;    // of tensors: their last size
  std::vector<Input> inputs;
  std::vector<StepTensor> steps;
  std::vector<int> outputs;  // steps, in the order of a case's tensors
  int slots = 0;
  int memos = 0;
  int cumulatives = 0;

  int input(std::string_view name) const;  // -1: none
  int size(std::string_view name) const;
};

// Errors name path, line and column.
Result<std::shared_ptr<const Program>> check_operation(OperationText text);

}  // namespace plumbline::text
