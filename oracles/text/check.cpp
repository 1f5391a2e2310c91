// SPDX-License-Identifier: MIT
// From the tree of a text to its Program: names, types, ranges of indices, shared errors.
#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "oracles/base/assert.h"
#include "oracles/base/suggest.h"
#include "oracles/text/instance.h"
#include "oracles/text/lexer.h"
#include "oracles/text/program.h"
#include "oracles/text/words.h"

namespace plumbline::text {
namespace {

using Made = std::shared_ptr<Expression>;

constexpr int kDeepest = 4000;  // steps read others by recursion
constexpr double kMostOperations = 100000;
// Far more than any kernel has; shapes are planned over all of them.
constexpr std::size_t kMostSizes = 64, kMostParameters = 256;

std::shared_ptr<Expression> made(Op op, Type type, Place place) {
  auto out = std::make_shared<Expression>();
  out->op = op;
  out->type = type;
  out->place = place;
  return out;
}

ExpressionPtr constant(double number, Type type, Place place, double rest = 0) {
  auto out = made(Op::constant, type, place);
  out->number = number;
  out->rest = rest;
  return out;
}

// What an integer expression reads, as text that is equal where the expressions are.
std::string key_of(const Expression& node) {
  switch (node.op) {
    case Op::constant:
      return fmt::format("{}", node.number);
    case Op::index:
      return fmt::format("${};", node.id);
    default:
      break;
  }
  std::string text = fmt::format("{}:{}(", static_cast<int>(node.op), node.id);
  for (const ExpressionPtr& child : node.children) text += key_of(*child) + ",";
  return text + ")";
}

std::string slot_key(int slot) { return fmt::format("${};", slot); }

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

bool mentions(const Symbol& symbol, int slot) {
  return std::ranges::any_of(symbol.subscripts, [&](const std::string& one) {
    return one.find(slot_key(slot)) != std::string::npos;
  });
}

class Checker {
 public:
  explicit Checker(OperationText text) : program_(std::make_shared<Program>()) {
    program_->text = std::move(text);
  }

  Result<std::shared_ptr<const Program>> check() {
    declare();
    for (const Step& step : program_->text.steps) {
      if (error_) break;
      take_step(step);
    }
    finish();
    if (error_) return *error_;
    return std::shared_ptr<const Program>(program_);
  }

 private:
  // An index that is in scope, and what uses of it say about its range.
  struct Bound {
    std::string name;
    int slot;
    std::vector<ExpressionPtr> implied;
  };

  void fail(Place place, std::string message, std::string hint = "") {
    if (!error_) error_ = error_at(program_->text.path, place, std::move(message), std::move(hint));
  }

  // Stands for what an error left unknown.
  static ExpressionPtr nothing(Place place) { return constant(0, Type::integer, place); }

  // --- what is between the parentheses

  void declare() {
    std::set<std::string> names;
    bool outputs = false;
    if (program_->text.parameters.size() > kMostParameters)
      return fail(program_->text.parameters[kMostParameters].place,
                  fmt::format("more than {} tensors and scalars", kMostParameters),
                  "split the operation into several");
    for (const Parameter& one : program_->text.parameters) {
      const bool twice = !names.insert(one.name).second;
      if (twice) fail(one.place, fmt::format("'{}' is there twice", one.name), "use another name");
      if (one.name.ends_with('\''))
        fail(one.place, fmt::format("{} is the value of an inout tensor at its exit", one.name),
             "name the tensor without '");
      if (!one.is_tensor) declare_scalar(one);
      outputs |= one.output || one.inout;
    }
    if (!outputs)
      fail(program_->text.place, "the operation has no output",
           "add -> y[m, n], or write inout behind an input");
    for (const Parameter& one : program_->text.parameters) {
      if (one.is_tensor) declare_sizes(one);
    }
    for (const Parameter& one : program_->text.parameters) {
      if (one.is_tensor) declare_tensor(one);
    }
  }

  void declare_scalar(const Parameter& one) {
    if (one.output)
      fail(one.place, fmt::format("the output '{}' has no sizes", one.name),
           fmt::format("write {}[m]", one.name));
    if (one.inout || one.optional || one.low)
      fail(one.place,
           fmt::format("'{}' is no tensor: 'inout', '?' and 'in' mean nothing here", one.name));
    if (!one.type.empty() && one.type != "int" && one.type != "f32")
      fail(one.place, fmt::format("the scalar '{}' cannot be {}", one.name, one.type),
           "scalars are int, or f32 without a type");
    if (!one.otherwise || !is_number(*one.otherwise))
      fail(one.place, fmt::format("the scalar '{}' has no default", one.name),
           fmt::format("write {} = 1, or what is usual", one.name));
    if (error_) return;
    program_->defaults[one.name] = expression(*one.otherwise);
    program_->scalars.push_back(&one);
  }

  static bool is_number(const Node& node) {
    return node.kind == Kind::number ||
           (node.kind == Kind::negate && node.children[0]->kind == Kind::number);
  }

  void declare_sizes(const Parameter& tensor) {
    if (tensor.sizes.size() > 8)
      fail(tensor.place, fmt::format("'{}' has more than 8 sizes", tensor.name));
    for (const NodePtr& size : tensor.sizes) name_sizes(*size);
  }

  void name_sizes(const Node& node) {
    if (node.kind == Kind::name && scalar(node.name) < 0 && program_->size(node.name) < 0) {
      if (program_->text.find(node.name))
        fail(node.place, fmt::format("'{}' is a tensor, and no size", node.name));
      program_->sizes.push_back(node.name);
      if (program_->sizes.size() > kMostSizes)
        fail(node.place, fmt::format("more than {} sizes", kMostSizes),
             "name each size once, or split the operation into several");
    }
    for (const NodePtr& child : node.children) name_sizes(*child);
  }

  int scalar(std::string_view name) const {
    const auto found = std::ranges::find(program_->scalars, name, &Parameter::name);
    return found == program_->scalars.end() ? -1
                                            : static_cast<int>(found - program_->scalars.begin());
  }

  void declare_tensor(const Parameter& one) {
    std::vector<ExpressionPtr> shape;
    for (const NodePtr& size : one.sizes) shape.push_back(extent(*size));
    if (!shape.empty()) program_->widths[one.name] = shape.back();
    if (!one.output) {
      if (one.optional)
        fail(one.place, fmt::format("'{}' is an input: '?' has no meaning", one.name),
             fmt::format("say what it is where a kernel has none: {}[...] = 0", one.name));
      const bool integer = is_integer_type(one.type);
      if (integer && one.type == "int")
        fail(one.place, fmt::format("the tensor '{}' has elements of some size", one.name),
             "write s64, s32, s8 or u8");
      if (integer && !one.low)
        fail(one.place, fmt::format("which integers can '{}' have?", one.name),
             fmt::format("write {}[...]: {} in 0 .. n, without n itself", one.name, one.type));
      if (one.inout && integer)
        fail(one.place,
             fmt::format("'{}' has integers, which nothing can be written over", one.name),
             fmt::format("give the result a name of its own behind ->, as {}_out[...]: {}",
                         one.name, one.type));
      Input input{&one, shape, integer, nullptr, nullptr, nullptr, {}};
      if (one.otherwise) input.otherwise = values_end(*one.otherwise);
      if (one.low) input.low = values_end(*one.low);
      if (one.high) input.high = values_end(*one.high);
      for (const NodePtr& other : one.others) input.others.push_back(values_end(*other));
      if (!error_ && input.low && is_number(*input.low) && is_number(*input.high)) {
        const double low = fixed_real(*input.low, {}, {}), high = fixed_real(*input.high, {}, {});
        if (!input.has_a_value(low, high))
          fail(one.low->place, fmt::format("there is no value from {} to {}", low, high));
      }
      program_->inputs.push_back(std::move(input));
    } else if (one.otherwise || one.low) {
      fail(one.place, fmt::format("'{}' is an output: '=' and 'in' have no meaning", one.name));
    }
    if (!one.output && !one.inout) return;
    StepTensor step;
    step.name = one.inout ? one.name + "'" : one.name;
    step.output = one.inout ? one.name + "_out" : one.name;
    step.parameter = &one;
    for (const ExpressionPtr& size : shape) step.shape.push_back({size});
    program_->steps.push_back(std::move(step));
  }

  // An end of a range: of sizes, scalars and numbers.
  ExpressionPtr values_end(const Node& node) {
    ExpressionPtr end = expression(node);
    if (!fixed(*end)) fail(node.place, "this must follow from sizes, scalars and numbers");
    return end;
  }

  static bool fixed(const Expression& node) {
    if (node.op == Op::index || node.op == Op::input || node.op == Op::step ||
        node.op == Op::reduce)
      return false;
    return std::ranges::all_of(node.children, [](const ExpressionPtr& one) { return fixed(*one); });
  }

  static bool is_number(const Expression& node) {
    return node.op != Op::size && node.op != Op::scalar &&
           std::ranges::all_of(node.children,
                               [](const ExpressionPtr& one) { return is_number(*one); });
  }

  // A number of elements: an integer that sizes and scalars give.
  ExpressionPtr extent(const Node& node) {
    ExpressionPtr out = integer(node, "a size");
    if (!error_ && !fixed(*out))
      fail(node.place, "a size must follow from other sizes, scalars and numbers");
    return out;
  }

  // --- steps

  StepTensor* declared(std::string_view name) {
    const auto found = std::ranges::find(program_->steps, name, &StepTensor::name);
    return found == program_->steps.end() ? nullptr : &*found;
  }

  void take_step(const Step& step) {
    scope_.clear();
    reduced_.clear();
    add_reduced(*step.value);
    const Parameter* parameter = program_->text.find(step.name);
    std::string name = step.name;
    if (parameter && parameter->inout) name += "'";
    if (parameter && !parameter->inout && !parameter->output)
      return fail(step.place, fmt::format("'{}' is an input", step.name),
                  fmt::format("give the step another name, or write inout behind {}", step.name));
    if (program_->size(name) >= 0)
      return fail(step.place, fmt::format("'{}' is a size", name), "give the step another name");
    if (is_function(name) || is_reducer(name))
      return fail(step.place, fmt::format("'{}' is a function", name),
                  "give the step another name");
    if (name.ends_with('\'') && !(parameter && parameter->inout))
      return fail(step.place, fmt::format("there is no inout tensor '{}'", step.name),
                  "the left side is its name without '");
    StepTensor* tensor = declared(name);
    if (tensor && !tensor->parameter)
      return fail(step.place, fmt::format("there are two steps '{}'", name),
                  "only outputs are written in pieces");
    if (tensor && used_.contains(name))
      return fail(step.place, fmt::format("'{}' was read before this piece of it is written", name),
                  "write all pieces first");
    if (tensor && tensor->shape.size() != step.subscripts.size())
      return fail(step.place,
                  fmt::format("'{}' has {} size{}, and {} subscript{} here", step.name,
                              tensor->shape.size(), tensor->shape.size() == 1 ? "" : "s",
                              step.subscripts.size(), step.subscripts.size() == 1 ? "" : "s"));

    Piece piece;
    piece.place = step.place;
    for (const NodePtr& subscript : step.subscripts) open_left_indices(*subscript);
    std::map<std::string, ExpressionPtr> lows, highs;
    for (const Index& bound : step.bounds) {
      if (!find(bound.name)) {
        return fail(bound.place, fmt::format("'{}' is no index of the left side", bound.name));
      }
      if (!bound.high)
        return fail(bound.place, fmt::format("'{}' has no end here", bound.name),
                    fmt::format("write {} < n", bound.name));
      if (bound.low) lows[bound.name] = extent(*bound.low);
      highs[bound.name] = extent(*bound.high);
    }
    for (const NodePtr& subscript : step.subscripts)
      piece.subscripts.push_back(integer(*subscript, "a subscript"));
    if (error_) return;
    for (std::size_t d = 0; d < piece.subscripts.size(); ++d) check_left(*piece.subscripts[d]);
    piece.value = expression(*step.value);
    if (error_) return;
    const std::vector<Bound> indices = scope_;
    for (const Bound& one : indices) {
      Range range{one.slot, nullptr, {}};
      const auto high = highs.find(one.name);
      if (high != highs.end()) {
        if (lows.contains(one.name)) range.low = lows[one.name];
        range.high = {high->second};
      } else if (const auto size = declared_extent(tensor, piece, one.slot)) {
        range.high = {size};
      } else {
        range.high = one.implied;
      }
      if (range.high.empty())
        return fail(step.place, fmt::format("nothing says how far '{}' goes", one.name),
                    fmt::format("write {}[...] = ... for {} < n", step.name, one.name));
      piece.ranges.push_back(std::move(range));
    }
    check_choice(step, tensor, piece);
    if (error_) return;
    const int depth = depth_of(*piece.value);
    if (depth > kDeepest)
      return fail(step.place,
                  fmt::format("'{}' takes more than {} operations one after the other", step.name,
                              kDeepest),
                  "shorten the chain of steps that it needs");
    if (!tensor) {
      program_->steps.push_back(new_step(name, piece));
      program_->steps.back().depth = depth;
    } else {
      tensor->depth = std::max(tensor->depth, depth);
      const bool integer = is_integer_output(*tensor) && piece.value->type == Type::integer &&
                           (tensor->pieces.empty() || tensor->type == Type::integer);
      tensor->type = integer ? Type::integer : Type::real;
      if (piece.value->type == Type::boolean)
        return fail(step.place, fmt::format("'{}' is an output: a number, and no condition", name),
                    "write where(..., 1, 0)");
      tensor->pieces.push_back(std::move(piece));
      tensor->has_symbol = tensor->pieces.size() == 1 && all_plain(tensor->pieces[0]);
    }
  }

  static bool is_integer_output(const StepTensor& tensor) {
    return tensor.parameter->output &&
           (tensor.parameter->type == "s32" || tensor.parameter->type == "s64");
  }

  // What a kernel chooses among numbers that are nearly equal is known where it stores the choice.
  void check_choice(const Step& step, const StepTensor* tensor, const Piece& piece) {
    const auto count_tops = [](const auto& self, const Expression& node) -> int {
      int count = node.is_top() ? 1 : 0;
      for_each_child(node, [&](const Expression& child) { count += self(self, child); });
      return count;
    };
    const int tops = count_tops(count_tops, *piece.value);
    if (tops == 0) return;
    const Expression& value = *piece.value;
    if (tops != 1 || !value.is_top() || !tensor || !is_integer_output(*tensor) ||
        !tensor->pieces.empty() || tensor->parameter->optional || !all_plain(piece))
      return fail(step.place, "top[...] is the whole right side of an output that every kernel has",
                  "write id[i, s] = top[j, s] x[i, j] for an output id[m, k]: s32");
    const Expression& rank = *value.children[1];
    if (rank.op != Op::index && rank.op != Op::constant)
      fail(step.place, "a rank is a number, or an index of the left side", "as s in id[i, s]");
  }

  static bool all_plain(const Piece& piece) {
    return std::ranges::all_of(piece.subscripts,
                               [](const ExpressionPtr& one) { return one->op == Op::index; }) &&
           std::ranges::all_of(piece.ranges, [](const Range& one) { return one.low == nullptr; });
  }

  StepTensor new_step(const std::string& name, const Piece& piece) {
    StepTensor step;
    step.name = name;
    step.type = piece.value->type;
    for (const ExpressionPtr& subscript : piece.subscripts) {
      const auto range = std::ranges::find(piece.ranges, subscript->id, &Range::slot);
      if (subscript->op != Op::index || range == piece.ranges.end() || range->low) {
        fail(piece.place, fmt::format("'{}' is no output: its subscripts are indices from 0", name),
             "only outputs are written in pieces");
        return step;
      }
      step.shape.push_back(range->high);
    }
    step.pieces.push_back(piece);
    step.has_symbol = step.type == Type::real;
    return step;
  }

  // Of a declared output, the size that an index which is a subscript itself goes through.
  static ExpressionPtr declared_extent(const StepTensor* tensor, const Piece& piece, int slot) {
    if (!tensor) return nullptr;
    for (std::size_t d = 0; d < piece.subscripts.size(); ++d) {
      const Expression& subscript = *piece.subscripts[d];
      if (subscript.op == Op::index && subscript.id == slot) return tensor->shape[d][0];
    }
    return nullptr;
  }

  void open_left_indices(const Node& node) {
    if (node.kind == Kind::name && program_->size(node.name) < 0 && scalar(node.name) < 0) {
      if (find(node.name)) return;
      open(node.name, node.place);
    }
    for (const NodePtr& child : node.children) open_left_indices(*child);
  }

  // Each subscript of a left side is a whole multiple of one index, if any, and something fixed.
  void check_left(const Expression& node) {
    if (count_indices(node) > 1)
      fail(node.place, "a subscript on the left side has at most one index",
           "as in y[i, 2 * c + 1]");
    if (!affine(node)) fail(node.place, "a subscript on the left side is a * i + b");
  }

  static int count_indices(const Expression& node) {
    int count = node.op == Op::index ? 1 : 0;
    for (const ExpressionPtr& child : node.children) count += count_indices(*child);
    return count;
  }

  static bool affine(const Expression& node) {
    if (count_indices(node) == 0) return fixed(node);
    switch (node.op) {
      case Op::index:
        return true;
      case Op::integer_add:
      case Op::integer_subtract:
        return affine(*node.children[0]) && affine(*node.children[1]);
      case Op::integer_multiply:
        return (count_indices(*node.children[0]) == 0) != (count_indices(*node.children[1]) == 0) &&
               affine(*node.children[0]) && affine(*node.children[1]);
      default:
        return false;
    }
  }

  const Bound* find(std::string_view name) const {
    const auto found = std::find_if(scope_.rbegin(), scope_.rend(),
                                    [&](const Bound& one) { return one.name == name; });
    return found == scope_.rend() ? nullptr : &*found;
  }

  int open(const std::string& name, Place place) {
    if (program_->size(name) >= 0 || scalar(name) >= 0 || program_->text.find(name) ||
        declared(name)) {
      fail(place, fmt::format("'{}' is a size, a scalar or a tensor, and cannot be an index", name),
           "use another letter");
    } else if (find(name)) {
      fail(place, fmt::format("the index '{}' is in use here", name), "use another letter");
    }
    scope_.push_back({name, program_->slots, {}});
    return program_->slots++;
  }

  // --- expressions

  ExpressionPtr integer(const Node& node, std::string_view what) {
    ExpressionPtr out = expression(node);
    if (!error_ && out->type != Type::integer)
      fail(node.place, fmt::format("{} must be an integer, and {} is not", what, text_of(node)),
           node.kind == Kind::divide ? "// divides integers" : "");
    return out;
  }

  ExpressionPtr condition(const Node& node) {
    ExpressionPtr out = expression(node);
    if (!error_ && out->type != Type::boolean)
      fail(node.place, fmt::format("{} is no condition", text_of(node)),
           "as in x[i] > 0, j <= i, a and b");
    return out;
  }

  ExpressionPtr number(const Node& node) {
    ExpressionPtr out = expression(node);
    if (!error_ && out->type == Type::boolean)
      fail(node.place, fmt::format("{} is a condition, and no number", text_of(node)),
           "write where(..., 1, 0)");
    return out;
  }

  // Functions that are written out, as silu is, have their argument more than once: 50 of them one
  // within another are 2^50 operations.
  ExpressionPtr expression(const Node& node) {
    ExpressionPtr out = written_out(node);
    if (!error_ && operations_of(*out) > kMostOperations)
      fail(node.place,
           fmt::format("this takes more than {} operations when its functions are written out",
                       kMostOperations),
           "give parts of the expression names, as steps of their own");
    return error_ ? nothing(node.place) : out;
  }

  static double operations_of(const Expression& node) {
    if (node.operations > 0) return node.operations;
    double count = node.condition ? 1 + operations_of(*node.condition) : 1;
    for (const ExpressionPtr& child : node.children) count += operations_of(*child);
    return node.operations = count;
  }

  ExpressionPtr written_out(const Node& node) {
    if (error_) return nothing(node.place);
    switch (node.kind) {
      case Kind::number:
        return constant(node.number, node.whole ? Type::integer : Type::real, node.place);
      case Kind::name:
        return name(node);
      case Kind::reference:
        return reference(node);
      case Kind::negate:
        return negated(number(*node.children[0]), node.place);
      case Kind::add:
      case Kind::subtract:
        return added(node);
      case Kind::multiply:
        return multiplied(number(*node.children[0]), number(*node.children[1]), node.place);
      case Kind::divide:
        return divided(number(*node.children[0]), number(*node.children[1]), node.place);
      case Kind::floor_divide:
      case Kind::remainder: {
        auto out = made(node.kind == Kind::remainder ? Op::remainder : Op::floor_divide,
                        Type::integer, node.place);
        const std::string what =
            node.kind == Kind::remainder ? "each side of %" : "each side of //";
        out->children = {integer(*node.children[0], what), integer(*node.children[1], what)};
        return out;
      }
      case Kind::square: {
        const ExpressionPtr a = number(*node.children[0]);
        if (a->type == Type::integer) return multiplied(a, a, node.place);
        return function(Function::square, a, node.place);
      }
      case Kind::call:
        return call(node);
      case Kind::reduce:
        return reduction(node);
      case Kind::compare:
        return comparison(node);
      case Kind::logical_and:
      case Kind::logical_or: {
        auto out = made(node.kind == Kind::logical_and ? Op::logical_and : Op::logical_or,
                        Type::boolean, node.place);
        out->children = {condition(*node.children[0]), condition(*node.children[1])};
        return out;
      }
      case Kind::logical_not: {
        auto out = made(Op::logical_not, Type::boolean, node.place);
        out->children = {condition(*node.children[0])};
        return out;
      }
    }
    return nothing(node.place);
  }

  ExpressionPtr name(const Node& node) {
    if (const Bound* bound = find(node.name)) {
      auto out = made(Op::index, Type::integer, node.place);
      out->id = bound->slot;
      return out;
    }
    if (const int size = program_->size(node.name); size >= 0) {
      auto out = made(Op::size, Type::integer, node.place);
      out->id = size;
      return out;
    }
    if (const int id = scalar(node.name); id >= 0) {
      const bool integer = program_->scalars[static_cast<std::size_t>(id)]->type == "int";
      auto out = made(Op::scalar, integer ? Type::integer : Type::real, node.place);
      out->id = id;
      return out;
    }
    if (node.name == "inf")
      return constant(std::numeric_limits<double>::infinity(), Type::real, node.place);
    if (is_tensor(node.name) && declared_or_input_rank(node.name) != 0) {
      fail(node.place, fmt::format("'{}' is a tensor", node.name),
           fmt::format("write its subscripts: {}[...]", node.name));
      return nothing(node.place);
    }
    if (declared(node.name) && declared(node.name)->shape.empty()) return step_value(node);
    unknown(node);
    return nothing(node.place);
  }

  bool is_tensor(std::string_view name) {
    return program_->input(name) >= 0 || declared(name) != nullptr;
  }

  std::size_t declared_or_input_rank(std::string_view name) {
    if (const int id = program_->input(name); id >= 0)
      return program_->inputs[static_cast<std::size_t>(id)].shape.size();
    const StepTensor* step = declared(name);
    return step ? step->shape.size() : 0;
  }

  void add_reduced(const Node& node) {
    for (const Index& index : node.indices) reduced_.insert(index.name);
    for (const NodePtr& child : node.children) add_reduced(*child);
  }

  void unknown(const Node& node) {
    std::vector<std::string> names = program_->sizes;
    for (const Parameter& one : program_->text.parameters) names.push_back(one.name);
    for (const StepTensor& one : program_->steps) names.push_back(one.name);
    for (const Bound& one : scope_) names.push_back(one.name);
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string meant = node.name.size() < 2 ? "" : did_you_mean(node.name, views);
    if (reduced_.contains(node.name))
      return fail(
          node.place,
          fmt::format("'{}' is the index of a reduction, and this is outside of it", node.name),
          "a sum takes one factor, or what is in parentheses: sum[j] ((1 - x[j]) * y[j])");
    fail(node.place, fmt::format("there is no '{}' here", node.name),
         meant.empty() ? "it is no size, scalar, tensor, index or step above" : meant);
  }

  ExpressionPtr reference(const Node& node) {
    const int input = program_->input(node.name);
    if (input < 0) return step_value(node);
    const Input& tensor = program_->inputs[static_cast<std::size_t>(input)];
    auto out = made(Op::input, tensor.integer ? Type::integer : Type::real, node.place);
    out->id = input;
    std::vector<std::vector<ExpressionPtr>> shape;
    for (const ExpressionPtr& size : tensor.shape) shape.push_back({size});
    read_subscripts(node, shape, *out);
    return out;
  }

  ExpressionPtr step_value(const Node& node) {
    const StepTensor* step = declared(node.name);
    if (!step) {
      unknown(node);
      return nothing(node.place);
    }
    if (step->pieces.empty()) {
      fail(node.place, fmt::format("'{}' is read before a step computes it", node.name),
           "steps come in the order in which they are computed");
      return nothing(node.place);
    }
    used_.insert(node.name);
    auto out = made(Op::step, step->type, node.place);
    out->id = static_cast<int>(step - program_->steps.data());
    read_subscripts(node, step->shape, *out);
    if (error_ || step->type != Type::real || !step->has_symbol) return out;
    // The step's symbols, its indices replaced by what stands for them here.
    const Piece& piece = step->pieces[0];
    std::vector<std::string> keys;
    for (const ExpressionPtr& one : out->children) keys.push_back(key_of(*one));
    for (const Symbol& inner : piece.value->symbols) {
      Symbol renamed{inner.step, {}};
      for (std::string text : inner.subscripts) {
        for (std::size_t d = 0; d < keys.size(); ++d)
          replace_all(text, slot_key(piece.subscripts[d]->id), fmt::format("<{}>", d));
        for (std::size_t d = 0; d < keys.size(); ++d)
          replace_all(text, fmt::format("<{}>", d), keys[d]);
        renamed.subscripts.push_back(text);
      }
      out->symbols.push_back(renamed);
    }
    if (out->symbols.size() < kMostSymbols) {
      out->own_symbol = static_cast<int>(out->symbols.size());
      out->symbols.push_back({out->id, keys});
    }
    return out;
  }

  // Of sizes: expressions of sizes, scalars and numbers.
  static bool is_same(const Expression& a, const Expression& b) {
    return &a == &b || (a.op == b.op && a.id == b.id && a.number == b.number &&
                        std::ranges::equal(a.children, b.children,
                                           [](const ExpressionPtr& x, const ExpressionPtr& y) {
                                             return is_same(*x, *y);
                                           }));
  }

  void read_subscripts(const Node& node, const std::vector<std::vector<ExpressionPtr>>& shape,
                       Expression& out) {
    if (shape.size() != node.children.size()) {
      fail(node.place, fmt::format("'{}' has {} size{}, and {} subscript{} here", node.name,
                                   shape.size(), shape.size() == 1 ? "" : "s", node.children.size(),
                                   node.children.size() == 1 ? "" : "s"));
      return;
    }
    for (std::size_t d = 0; d < shape.size() && !error_; ++d) {
      out.children.push_back(integer(*node.children[d], "a subscript"));
      const Expression& subscript = *out.children.back();
      if (subscript.op != Op::index) continue;
      for (Bound& bound : scope_) {
        if (bound.slot != subscript.id) continue;
        // Each once: what a step implies is implied by all that reads it.
        for (const ExpressionPtr& size : shape[d])
          if (std::ranges::none_of(bound.implied,
                                   [&](const auto& a) { return is_same(*a, *size); }))
            bound.implied.push_back(size);
      }
    }
  }

  ExpressionPtr negated(const ExpressionPtr& a, Place place) {
    auto out = made(Op::negate, a->type, place);
    out->children = {a};
    return with_symbols(out);
  }

  ExpressionPtr added(const Node& node) {
    const ExpressionPtr a = number(*node.children[0]), b = number(*node.children[1]);
    const bool minus = node.kind == Kind::subtract;
    if (a->type == Type::integer && b->type == Type::integer) {
      auto out = made(minus ? Op::integer_subtract : Op::integer_add, Type::integer, node.place);
      out->children = {a, b};
      return out;
    }
    auto out = made(Op::sum, Type::real, node.place);
    add_terms(a, false, *out);
    add_terms(b, minus, *out);
    return with_symbols(out);
  }

  // A sum within a sum is part of it: nothing says what is added first.
  static void add_terms(const ExpressionPtr& a, bool negative, Expression& sum) {
    if (a->op != Op::sum) {
      sum.children.push_back(a);
      sum.negative.push_back(negative);
      return;
    }
    for (std::size_t i = 0; i < a->children.size(); ++i) {
      sum.children.push_back(a->children[i]);
      sum.negative.push_back(a->negative[i] != negative);
    }
  }

  ExpressionPtr added(const ExpressionPtr& a, const ExpressionPtr& b, Place place) {
    auto out = made(Op::sum, Type::real, place);
    add_terms(a, false, *out);
    add_terms(b, false, *out);
    return with_symbols(out);
  }

  ExpressionPtr multiplied(const ExpressionPtr& a, const ExpressionPtr& b, Place place) {
    if (a->type == Type::integer && b->type == Type::integer) {
      auto out = made(Op::integer_multiply, Type::integer, place);
      out->children = {a, b};
      return out;
    }
    auto out = made(Op::product, Type::real, place);
    for (const ExpressionPtr& one : {a, b}) {
      if (one->op == Op::product) {
        out->children.insert(out->children.end(), one->children.begin(), one->children.end());
      } else {
        out->children.push_back(one);
      }
    }
    return with_symbols(out);
  }

  ExpressionPtr divided(const ExpressionPtr& a, const ExpressionPtr& b, Place place) {
    auto out = made(Op::quotient, Type::real, place);
    out->children = {a, b};
    return with_symbols(out);
  }

  ExpressionPtr function(Function which, const ExpressionPtr& a, Place place) {
    auto out = made(Op::function, Type::real, place);
    out->function = which;
    out->children = {a};
    return with_symbols(out);
  }

  ExpressionPtr extreme(Op op, std::vector<ExpressionPtr> of, Place place) {
    const bool integer =
        std::ranges::all_of(of, [](const auto& one) { return one->type == Type::integer; });
    auto out = made(op, integer ? Type::integer : Type::real, place);
    out->children = std::move(of);
    return with_symbols(out);
  }

  ExpressionPtr call(const Node& node) {
    static const std::map<std::string_view, Function> kPlain = {
        {"exp", Function::exp},     {"exp2", Function::exp2},   {"log", Function::log},
        {"log2", Function::log2},   {"sqrt", Function::sqrt},   {"rsqrt", Function::rsqrt},
        {"tanh", Function::tanh},   {"erf", Function::erf},     {"sin", Function::sin},
        {"cos", Function::cos},     {"abs", Function::abs},     {"sign", Function::sign},
        {"floor", Function::floor}, {"round", Function::round}, {"logb", Function::logb}};
    if (node.name == "largest") return largest(node);
    if (node.name == "where") return chosen(node);
    std::vector<ExpressionPtr> of;
    for (const NodePtr& child : node.children) of.push_back(number(*child));
    if (error_) return nothing(node.place);
    if (node.name == "detach") return of[0];
    if (node.name == "max") return extreme(Op::maximum, of, node.place);
    if (node.name == "min") return extreme(Op::minimum, of, node.place);
    if (node.name == "clamp")
      return extreme(Op::minimum, {extreme(Op::maximum, {of[0], of[1]}, node.place), of[2]},
                     node.place);
    if (const auto format = format_by_name(node.name)) {
      auto out = made(Op::round_to, Type::real, node.place);
      out->format = *format;
      out->children = of;
      return with_symbols(out);
    }
    if (const auto plain = kPlain.find(node.name); plain != kPlain.end())
      return function(plain->second, of[0], node.place);
    return activation(node, of[0]);
  }

  // The functions that are written out: an author of kernels computes them in these steps too.
  ExpressionPtr activation(const Node& node, const ExpressionPtr& x) {
    const Place place = node.place;
    const auto real = [&](double number, double rest = 0) {
      return constant(number, Type::real, place, rest);
    };
    const ExpressionPtr half_x = multiplied(real(0.5), x, place);
    if (node.name == "gelu") {  // x (1 + erf(x / sqrt 2)) / 2
      const ExpressionPtr inner =
          multiplied(x, real(0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55), place);
      return multiplied(half_x, added(real(1), function(Function::erf, inner, place), place),
                        place);
    }
    if (node.name == "gelu_tanh") {  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
      const ExpressionPtr cube = multiplied(
          real(0.044715), multiplied(x, function(Function::square, x, place), place), place);
      const ExpressionPtr inner = multiplied(real(0x1.9884533d43651p-1, -0x1.cbc0d30ebfd15p-55),
                                             added(x, cube, place), place);
      return multiplied(half_x, added(real(1), function(Function::tanh, inner, place), place),
                        place);
    }
    const ExpressionPtr grown =
        added(real(1), function(Function::exp, negated(x, place), place), place);
    PLUMB_ASSERT(node.name == "silu" || node.name == "sigmoid");
    return divided(node.name == "silu" ? x : real(1), grown, place);
  }

  ExpressionPtr largest(const Node& node) {
    const Node& child = *node.children[0];
    auto out = made(Op::largest, Type::real, node.place);
    out->id = -1;
    for (std::size_t i = 0; i < program_->text.parameters.size(); ++i) {
      const Parameter& one = program_->text.parameters[i];
      if (child.kind == Kind::name && one.is_tensor && one.name == child.name)
        out->id = static_cast<int>(i);
    }
    if (out->id < 0)
      fail(child.place, "largest(q) is the largest number of a tensor's format: name the tensor");
    return out;
  }

  ExpressionPtr chosen(const Node& node) {
    const ExpressionPtr test = condition(*node.children[0]);
    ExpressionPtr a = expression(*node.children[1]), b = expression(*node.children[2]);
    if (error_) return nothing(node.place);
    if ((a->type == Type::boolean) != (b->type == Type::boolean)) {
      fail(node.place, "one value of where is a condition, and the other a number");
      return nothing(node.place);
    }
    const bool same = a->type == b->type && (a->type == Type::boolean || is_certain(*test));
    auto out = made(Op::where, same ? a->type : Type::real, node.place);
    out->children = {test, a, b};
    return with_symbols(out);
  }

  ExpressionPtr comparison(const Node& node) {
    static const std::map<std::string_view, Comparison> kWords = {
        {"<", Comparison::less},    {"<=", Comparison::less_equal},
        {">", Comparison::greater}, {">=", Comparison::greater_equal},
        {"==", Comparison::equal},  {"!=", Comparison::not_equal}};
    auto out = made(Op::compare, Type::boolean, node.place);
    out->id = static_cast<int>(kWords.at(node.name));
    out->children = {number(*node.children[0]), number(*node.children[1])};
    return out;
  }

  // Whether roundings cannot change a condition: it compares integers. What is chosen or counted by
  // another one is a real number, which may be one or the other.
  bool is_certain(const Expression& condition) const {
    if (condition.op == Op::step)
      return std::ranges::all_of(program_->steps[static_cast<std::size_t>(condition.id)].pieces,
                                 [&](const Piece& piece) { return is_certain(*piece.value); });
    if (condition.op == Op::compare)
      return std::ranges::all_of(condition.children, [](const ExpressionPtr& one) {
        return one->type == Type::integer || fixed(*one);
      });
    return std::ranges::all_of(condition.children,
                               [&](const ExpressionPtr& one) { return is_certain(*one); });
  }

  ExpressionPtr reduction(const Node& node) {
    const std::size_t before = scope_.size();
    for (const Index& index : node.indices) open(index.name, index.place);
    if (error_) return nothing(node.place);
    auto out = made(Op::reduce, Type::real, node.place);
    // An end may be an index outside, or one further left.
    std::vector<Range> ranges;
    for (std::size_t i = 0; i < node.indices.size(); ++i) {
      const Index& index = node.indices[i];
      Range range{scope_[before + i].slot, nullptr, {}};
      if (index.low) range.low = integer(*index.low, "an index's end");
      if (index.high) range.high = {integer(*index.high, "an index's end")};
      ranges.push_back(std::move(range));
    }
    if (node.condition) out->condition = condition(*node.condition);
    if (node.name == "top") return top(node, before, out, std::move(ranges));
    const bool sure = !out->condition || is_certain(*out->condition);
    if (node.name == "count" && sure) {
      out->id = static_cast<int>(Reduction::count);
      out->type = Type::integer;
    } else if (node.name == "count") {
      out->id = static_cast<int>(Reduction::sum);
      out->children = {constant(1, Type::real, node.place)};
    } else {
      out->id = static_cast<int>(node.name == "sum"   ? Reduction::sum
                                 : node.name == "max" ? Reduction::max
                                                      : Reduction::min);
      out->children = {number(*node.children[0])};
      // Of nothing a maximum is -inf, which no integer is.
      const bool sums = node.name == "sum";
      out->type = sure && sums ? out->children[0]->type : Type::real;
    }
    return closed(node, before, out, std::move(ranges));
  }

  // Which of these is the largest, the next, ...: the rank is said outside of the index.
  ExpressionPtr top(const Node& node, std::size_t before, const Made& out,
                    std::vector<Range> ranges) {
    out->id = static_cast<int>(Reduction::top);
    out->type = Type::integer;
    const ExpressionPtr body = number(*node.children[0]);
    if (!error_ && out->condition && !is_certain(*out->condition))
      fail(node.place, "the condition of top compares real numbers",
           "put -inf for what does not count: top[j, 0] where(c, x[j], -inf)");
    std::vector<Bound> inner(scope_.begin() + static_cast<std::ptrdiff_t>(before), scope_.end());
    scope_.resize(before);
    const ExpressionPtr rank = integer(*node.children[1], "a rank");
    scope_.insert(scope_.end(), inner.begin(), inner.end());
    out->children = {body, rank};
    return closed(node, before, out, std::move(ranges));
  }

  // The ends of a reduction's indices, which are not in scope any more.
  ExpressionPtr closed(const Node& node, std::size_t before, const Made& out,
                       std::vector<Range> ranges) {
    for (std::size_t i = 0; i < ranges.size() && !error_; ++i) {
      if (ranges[i].high.empty()) ranges[i].high = scope_[before + i].implied;
      if (ranges[i].high.empty())
        fail(node.indices[i].place,
             fmt::format("nothing says how far '{}' goes", node.indices[i].name),
             fmt::format("write {}[{} < n], or put what is added up in parentheses", node.name,
                         node.indices[i].name));
    }
    out->ranges = std::move(ranges);
    scope_.resize(before);
    std::set<int> slots;
    add_slots(*out, slots);
    for (const Bound& one : scope_) {
      if (slots.contains(one.slot)) out->depends_on.push_back(one.slot);
    }
    if (out->depends_on.size() < before) out->memo = program_->memos++;
    if (!error_ && out->type == Type::real && out->ranges.size() == 1) find_cumulative(*out);
    return with_symbols(out);
  }

  // Its terms are those that it has for a smaller index, and more, where its end grows with it.
  void find_cumulative(Expression& out) {
    const ExpressionPtr& end = out.ranges[0].high[0];
    if (reads_tensors(*end)) return;
    std::set<int> slots;
    for (const ExpressionPtr& child : out.children) add_slots(*child, slots);
    if (out.condition) add_slots(*out.condition, slots);
    if (out.ranges[0].low) add_slots(*out.ranges[0].low, slots);
    std::ranges::copy_if(out.depends_on, std::back_inserter(out.terms_depend_on),
                         [&](int slot) { return slots.contains(slot); });
    if (out.terms_depend_on.size() < out.depends_on.size())
      out.cumulative = program_->cumulatives++;
  }

  static bool reads_tensors(const Expression& node) {
    bool reads = node.op == Op::input || node.op == Op::step;
    for_each_child(node, [&](const Expression& child) { reads = reads || reads_tensors(child); });
    return reads;
  }

  // The indices that a value depends on.
  static void add_slots(const Expression& node, std::set<int>& slots) {
    if (node.op == Op::index) slots.insert(node.id);
    for_each_child(node, [&](const Expression& child) { add_slots(child, slots); });
  }

  // The errors of earlier steps that a value is known to depend on: those of its children, as many
  // as there is room for. A maximum, a rounding and a comparison do not say how.
  static ExpressionPtr with_symbols(const Made& out) {
    if (out->type != Type::real) return out;
    const bool keeps = out->op == Op::sum || out->op == Op::product || out->op == Op::quotient ||
                       out->op == Op::function || out->op == Op::negate || out->op == Op::where ||
                       (out->op == Op::reduce && out->id == static_cast<int>(Reduction::sum));
    for (const ExpressionPtr& child : out->children) {
      Slots slots;
      slots.fill(-1);
      for (std::size_t i = 0; keeps && i < child->symbols.size(); ++i) {
        const Symbol& symbol = child->symbols[i];
        const bool summed = std::ranges::any_of(
            out->ranges, [&](const Range& range) { return mentions(symbol, range.slot); });
        if (summed) continue;
        auto found = std::ranges::find(out->symbols, symbol);
        if (found == out->symbols.end()) {
          if (out->symbols.size() == kMostSymbols) continue;
          found = out->symbols.insert(out->symbols.end(), symbol);
        }
        slots[i] = static_cast<std::int8_t>(found - out->symbols.begin());
      }
      out->of_child.push_back(slots);
    }
    return out;
  }

  // How deep the evaluation of a step goes: through the steps that it reads, too.
  int depth_of(const Expression& node) const {
    int depth = node.condition ? depth_of(*node.condition) : 0;
    for (const ExpressionPtr& child : node.children) depth = std::max(depth, depth_of(*child));
    for (const Range& range : node.ranges) {
      if (range.low) depth = std::max(depth, depth_of(*range.low));
      depth = std::max(depth, depth_of(*range.high.front()));
    }
    if (node.op == Op::step) depth += program_->steps[static_cast<std::size_t>(node.id)].depth;
    return depth + 1;
  }

  void finish() {
    for (std::size_t i = 0; i < program_->steps.size() && !error_; ++i) {
      const StepTensor& step = program_->steps[i];
      if (step.pieces.empty()) {
        const Place place = step.parameter ? step.parameter->place : program_->text.place;
        fail(place, fmt::format("no step computes '{}'", step.name),
             fmt::format("add {}[...] = ...", step.parameter->name));
      }
      if (!step.output.empty()) program_->outputs.push_back(static_cast<int>(i));
    }
    for (const Parameter& one : program_->text.parameters) {
      if (one.output && (one.type == "int" || one.type == "u8"))
        fail(one.place, fmt::format("the output '{}' cannot be {}", one.name, one.type),
             "outputs are s64, s32, s8, or real numbers");
    }
  }

  std::shared_ptr<Program> program_;
  std::vector<Bound> scope_;
  std::set<std::string> reduced_;  // indices of reductions of this step
  std::set<std::string> used_;
  std::optional<Error> error_;
};

}  // namespace

int Program::input(std::string_view name) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].parameter->name == name) return static_cast<int>(i);
  }
  return -1;
}

int Program::size(std::string_view name) const {
  const auto found = std::ranges::find(sizes, name);
  return found == sizes.end() ? -1 : static_cast<int>(found - sizes.begin());
}

Result<std::shared_ptr<const Program>> check_operation(OperationText text) {
  return Checker(std::move(text)).check();
}

}  // namespace plumbline::text
