// SPDX-License-Identifier: MIT
// Steps are taken from the last to the first. What a step hands to a tensor that it reads is a
// product (Weight), under the conditions and within the sums around the read (Use). The gradient of
// a tensor adds its uses up: there the subscripts of each read are solved for the indices of the
// step (Solver), and what they leave open is summed.
#include "oracles/text/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "oracles/text/lexer.h"
#include "oracles/text/nodes.h"
#include "oracles/text/program.h"
#include "oracles/text/words.h"

namespace plumbline::text {
namespace {

constexpr std::size_t kMostNodes = 100000, kMostFactors = 1000000, kColumns = 100;

// In names of indices, before they get the ones that are printed: no text can have it.
constexpr char kMark = '$';

using Names = std::map<std::string, NodePtr, std::less<>>;

// coefficient * factors / divisors
struct Weight {
  double coefficient = 1;
  std::vector<NodePtr> factors, divisors;

  Weight times(double number) const {
    Weight out = *this;
    out.coefficient *= number;
    return out;
  }

  Weight times(const NodePtr& factor) const {
    if (factor->kind == Kind::number) return times(factor->number);
    if (factor->kind == Kind::negate) return times(-1).times(factor->children[0]);
    if (factor->kind == Kind::multiply)
      return times(factor->children[0]).times(factor->children[1]);
    Weight out = *this;
    out.factors.push_back(factor);
    return out;
  }

  Weight over(const NodePtr& divisor) const {
    Weight out = *this;
    out.divisors.push_back(divisor);
    return out;
  }
};

// Makes nodes of others: each is replaced by what `replace` has for it, if anything.
template <typename Replace>
NodePtr rebuilt(const NodePtr& node, const Replace& replace) {
  if (!node) return nullptr;
  if (NodePtr other = replace(node)) return other;
  std::vector<NodePtr> children;
  for (const NodePtr& child : node->children) children.push_back(rebuilt(child, replace));
  auto out = std::make_shared<Node>(*with_children(*node, std::move(children)));
  for (Index& index : out->indices) {
    index.low = rebuilt(index.low, replace);
    index.high = rebuilt(index.high, replace);
  }
  out->condition = rebuilt(node->condition, replace);
  return out;
}

NodePtr substituted(const NodePtr& node, const Names& names) {
  if (names.empty()) return node;
  return rebuilt(node, [&](const NodePtr& one) -> NodePtr {
    const auto found = one->kind == Kind::name ? names.find(one->name) : names.end();
    return found == names.end() ? nullptr : found->second;
  });
}

// What is around an expression: the indices of the step and of sums, and the conditions under which
// it counts.
struct Surroundings {
  std::vector<Index> indices;
  std::vector<NodePtr> conditions;
};

struct Use {
  Surroundings around;
  std::vector<NodePtr> subscripts;
  Weight weight;
};

struct Signed {
  NodePtr node;
  bool negative = false;
};

bool mentions(const NodePtr& node, const std::set<std::string, std::less<>>& names) {
  if (!node) return false;
  if (node->kind == Kind::name && names.contains(node->name)) return true;
  const auto any = [&](const auto& nodes) {
    return std::ranges::any_of(nodes, [&](const NodePtr& one) { return mentions(one, names); });
  };
  return any(node->children) || mentions(node->condition, names) ||
         std::ranges::any_of(node->indices, [&](const Index& one) {
           return mentions(one.low, names) || mentions(one.high, names);
         });
}

NodePtr both(const NodePtr& a, const NodePtr& b) {
  return a ? binary_node(Kind::logical_and, a, b) : b;
}

NodePtr compared(const NodePtr& a, std::string_view op, const NodePtr& b) {
  auto out = std::make_shared<Node>(*binary_node(Kind::compare, a, b));
  out->name = op;
  return out;
}

// Whether it cannot be negative: the indices of an element are not.
bool is_natural(const Node& node) {
  switch (node.kind) {
    case Kind::number:
      return node.number >= 0;
    case Kind::name:
    case Kind::remainder:
      return true;
    case Kind::floor_divide:
      return is_natural(*node.children[0]);
    default:
      return false;
  }
}

// The indices of a use for which its subscripts are the element's that is asked for.
class Solver {
 public:
  explicit Solver(std::vector<Index> indices) : indices_(std::move(indices)) {
    for (const Index& one : indices_) open_.insert(one.name);
  }

  // `size`: of the dimension that `element` goes through, if it is known.
  void solve(const NodePtr& subscript, const NodePtr& element, const NodePtr& size) {
    const NodePtr now = substituted(subscript, found_);
    if (!mentions(now, open_)) {
      if (text_of(*now) != text_of(*element)) equal_.push_back(compared(element, "==", now));
      return;
    }
    const auto is_open = [&](const NodePtr& node) {
      return node->kind == Kind::name && open_.contains(node->name);
    };
    const auto is_known = [&](const NodePtr& node) { return !mentions(node, open_); };
    if (is_open(now)) return bind(now->name, element, size);
    if (now->children.size() == 2) {
      NodePtr a = now->children[0], b = now->children[1];
      if (now->kind == Kind::add) {
        if (is_known(a)) std::swap(a, b);
        if (is_known(b)) return solve(a, binary_node(Kind::subtract, element, b), nullptr);
        if (a->kind != Kind::multiply) std::swap(a, b);
        if (a->kind == Kind::multiply && is_open(b)) {  // row * width + column
          NodePtr row = a->children[0], width = a->children[1];
          if (is_known(row)) std::swap(row, width);
          if (is_known(width) && goes_to(b->name, width)) {
            bind(b->name, binary_node(Kind::remainder, element, width), width);
            const bool rows = size && size->kind == Kind::multiply &&
                              text_of(*size->children[1]) == text_of(*width);
            return solve(row, binary_node(Kind::floor_divide, element, width),
                         rows ? size->children[0] : nullptr);
          }
        }
        if (!is_open(b)) std::swap(a, b);
        if (is_open(b) && !mentions(a, {b->name}))
          return bind(b->name, binary_node(Kind::subtract, element, a), nullptr);
      } else if (now->kind == Kind::subtract) {
        if (is_known(b)) return solve(a, binary_node(Kind::add, element, b), nullptr);
        if (is_known(a)) return solve(b, binary_node(Kind::subtract, a, element), nullptr);
      } else if (now->kind == Kind::multiply) {
        if (is_known(b)) std::swap(a, b);
        if (is_known(a)) {
          guards_.push_back(compared(binary_node(Kind::remainder, element, a),
                                     "==", number_node(0, element->place)));
          return solve(b, binary_node(Kind::floor_divide, element, a), nullptr);
        }
      } else if (now->kind == Kind::floor_divide && is_open(a) && is_known(b)) {
        // a is element * b and what is less than b beyond it.
        const std::string rest = a->name + "r";
        indices_.push_back({rest, a->place, nullptr, b});
        open_.insert(rest);
        const NodePtr first = binary_node(Kind::multiply, element, b);
        return bind(a->name, binary_node(Kind::add, first, name_node(rest, a->place)),
                    size ? binary_node(Kind::multiply, size, b) : nullptr);
      }
    }
    equal_.push_back(compared(now, "==", element));
  }

  NodePtr applied(const NodePtr& node) const { return substituted(node, found_); }

  // In their order: what is left of the sum.
  std::vector<Index> left() const {
    std::vector<Index> out;
    for (const Index& one : indices_) {
      if (open_.contains(one.name))
        out.push_back({one.name, one.place, applied(one.low), applied(one.high)});
    }
    return out;
  }

  const std::vector<NodePtr>& guards() const { return guards_; }

  const std::vector<NodePtr>& equal() const { return equal_; }

 private:
  const Index& range(std::string_view name) const {
    return *std::ranges::find(indices_, name, &Index::name);
  }

  bool goes_to(std::string_view name, const NodePtr& size) const {
    const Index& index = range(name);
    return !index.low && text_of(*applied(index.high)) == text_of(*size);
  }

  void bind(const std::string& name, const NodePtr& value, const NodePtr& size) {
    const Index index = range(name);
    const bool certain = size && goes_to(name, size);
    const NodePtr low = applied(index.low), high = applied(index.high);
    open_.erase(open_.find(name));
    const Names one{{name, value}};
    for (auto& [other, known] : found_) known = substituted(known, one);
    for (NodePtr& guard : guards_) guard = substituted(guard, one);
    for (NodePtr& guard : equal_) guard = substituted(guard, one);
    found_[name] = value;
    if (certain) return;
    const bool minus = value->kind == Kind::subtract;
    if (!low && minus) {
      guards_.push_back(compared(value->children[0], ">=", value->children[1]));
    } else if (low || !is_natural(*value)) {
      guards_.push_back(compared(value, ">=", low ? low : number_node(0, value->place)));
    }
    if (minus && high->kind == Kind::subtract &&
        text_of(*value->children[1]) == text_of(*high->children[1])) {
      guards_.push_back(compared(value->children[0], "<", high->children[0]));
    } else {
      guards_.push_back(compared(value, "<", high));
    }
  }

  std::vector<Index> indices_;
  std::set<std::string, std::less<>> open_;
  Names found_;
  std::vector<NodePtr> guards_, equal_;
};

class Differentiator {
 public:
  Differentiator(const GradientStatement& statement, const OperationText& forward,
                 const std::string& path)
      : statement_(statement), forward_(forward), path_(path), extents_(forward) {
    for (const Parameter& one : forward.parameters) {
      taken_.insert(one.name);
      for (const NodePtr& size : one.sizes) take_names(size);
    }
    for (const Step& step : forward.steps) {
      taken_.insert(step.name);
      for (const NodePtr& subscript : step.subscripts) take_names(subscript);
      take_names(step.value);
    }
  }

  Result<std::string> text() {
    check_names();
    find_active();
    if (!error_) backward();
    if (!error_) gather_forward();
    if (error_) return *error_;
    return written();
  }

 private:
  void fail(Place place, std::string message, std::string hint = "") {
    if (!error_) error_ = error_at(path_, place, std::move(message), std::move(hint));
  }

  // --- names

  void take_names(const NodePtr& node) {
    if (!node) return;
    if (!node->name.empty()) taken_.insert(node->name);
    for (const NodePtr& child : node->children) take_names(child);
    for (const Index& index : node->indices) taken_.insert(index.name);
    take_names(node->condition);
  }

  // "x'" is residual_out in the gradient, which writes over nothing.
  static std::string plain(std::string_view name) {
    if (!name.ends_with('\'')) return std::string(name);
    return std::string(name.substr(0, name.size() - 1)) + "_out";
  }

  std::string free_name(std::string name) {
    if (taken_.contains(name)) name = "d_" + name.substr(1);
    while (taken_.contains(name)) name += "_";
    taken_.insert(name);
    return name;
  }

  // Of the gradient of a tensor.
  const std::string& gradient_of(const std::string& name) {
    std::string& out = gradients_[name];
    if (out.empty()) out = free_name("d" + plain(name));
    return out;
  }

  const Parameter* input(std::string_view name) const {
    const Parameter* found = forward_.find(name);
    return found && found->is_tensor && !found->output ? found : nullptr;
  }

  // As the steps name it on the right: an inout tensor with '.
  std::string step_name(const Step& step) const { return exit_name(step.name); }

  std::string exit_name(const std::string& name) const {
    const Parameter* parameter = forward_.find(name);
    return parameter && parameter->inout ? name + "'" : name;
  }

  bool has_step(std::string_view name) const {
    return std::ranges::any_of(forward_.steps,
                               [&](const Step& step) { return step_name(step) == name; });
  }

  void check_names() {
    for (const GradientStatement::Name& one : statement_.wrt) {
      const Parameter* found = input(one.text);
      if (!found)
        fail(one.place, fmt::format("'{}' is no input of {}", one.text, forward_.name),
             "wrt takes tensors that the operation reads");
      else if (is_integer_type(found->type))
        fail(one.place, fmt::format("'{}' has integers, and no gradient", one.text));
      if (!wrt_.insert(one.text).second)
        fail(one.place, fmt::format("'{}' is there twice", one.text));
    }
    for (const GradientStatement::Name& one : statement_.saved) {
      const std::string name = exit_name(one.text);
      if (!has_step(name))
        fail(one.place, fmt::format("{} computes no '{}'", forward_.name, one.text),
             "saving takes steps and outputs; inputs are read where they are needed");
      else if (!extents_.of(name))
        fail(one.place, fmt::format("nothing says how large '{}' is", one.text),
             "say how far its indices go: " + one.text + "[i] = ... for i < m");
      saved_.insert(name);
    }
  }

  // --- what depends on the inputs of wrt

  // An index that a kernel chooses: no derivative goes through it.
  static bool is_choice(const Node& value) {
    return value.kind == Kind::reduce && value.name == "top";
  }

  void find_active() {
    for (const std::string& name : wrt_) active_.insert(name);
    for (const Step& step : forward_.steps) {
      if (!is_choice(*step.value) && depends(*step.value)) active_.insert(step_name(step));
    }
  }

  bool depends(const Node& node) const {
    const auto from = [&](std::size_t first) {
      return std::any_of(node.children.begin() + static_cast<std::ptrdiff_t>(first),
                         node.children.end(),
                         [&](const NodePtr& child) { return depends(*child); });
    };
    switch (node.kind) {
      case Kind::name:
      case Kind::reference:
        return active_.contains(node.name);
      case Kind::compare:
      case Kind::logical_and:
      case Kind::logical_or:
      case Kind::logical_not:
        return false;
      case Kind::call:
        if (is_constant(node.name)) return false;
        return from(node.name == "where" ? 1 : 0);
      default:
        return from(0);
    }
  }

  // Functions whose derivative is 0 wherever there is one.
  static bool is_constant(std::string_view function) {
    return function == "detach" || function == "floor" || function == "round" ||
           function == "sign" || function == "logb" || function == "largest";
  }

  // --- from the last step to the first

  void backward() {
    for (std::size_t i = forward_.steps.size(); i-- > 0 && !error_;) {
      const Step& step = forward_.steps[i];
      const std::string name = step_name(step);
      if (!active_.contains(name)) continue;
      const bool last_piece = std::none_of(
          forward_.steps.begin() + static_cast<std::ptrdiff_t>(i) + 1, forward_.steps.end(),
          [&](const Step& other) { return step_name(other) == name; });
      if (last_piece) add_gradient(name, step);
      const auto found = known_.find(name);
      if (found == known_.end()) continue;  // no output depends on it
      const NodePtr incoming = reference_node(found->second, step.subscripts, step.place);
      down(step.value, Weight{}.times(incoming), {indices_of(step), {}}, self_of(step));
    }
    for (const GradientStatement::Name& one : statement_.wrt) {
      if (error_) return;
      const Parameter& tensor = *input(one.text);
      if (uses_[one.text].empty()) {
        fail(one.place, fmt::format("no output of {} changes with '{}'", forward_.name, one.text),
             "remove it from wrt");
        return;
      }
      const std::vector<NodePtr> indices = element_names(uses_[one.text], tensor.sizes, nullptr);
      Parameter output;
      output.name = gradient_of(one.text);
      output.is_tensor = output.output = true;
      output.sizes = tensor.sizes;
      output.optional = tensor.otherwise != nullptr;
      outputs_.push_back(output);
      steps_.push_back({output.name,
                        tensor.place,
                        indices,
                        total(nullptr, uses_[one.text], indices, tensor.sizes),
                        {}});
    }
  }

  bool has_pieces(std::string_view name) const {
    return std::ranges::count_if(forward_.steps,
                                 [&](const Step& step) { return step_name(step) == name; }) > 1;
  }

  // Where the value of an expression is a step's, the step stands for it.
  NodePtr self_of(const Step& step) const {
    if (has_pieces(step_name(step))) return nullptr;
    return reference_node(step_name(step), step.subscripts, step.place);
  }

  std::vector<Index> indices_of(const Step& step) {
    const std::vector<NodePtr>* sizes =
        forward_.find(step.name) ? extents_.of(step.name) : nullptr;  // of an output
    std::vector<Index> out;
    for (std::size_t d = 0; d < step.subscripts.size(); ++d)
      collect_indices(step, step.subscripts[d], sizes ? (*sizes)[d] : nullptr, out);
    return out;
  }

  void collect_indices(const Step& step, const NodePtr& node, const NodePtr& size,
                       std::vector<Index>& out) {
    if (node->kind == Kind::name && is_index(node->name)) {
      if (std::ranges::count(out, node->name, &Index::name) > 0) return;
      const auto bound = std::ranges::find(step.bounds, node->name, &Index::name);
      if (bound != step.bounds.end()) {
        out.push_back(*bound);
      } else {
        out.push_back({node->name, node->place, nullptr,
                       size ? size : extents_.implied(*step.value, node->name)});
      }
      need_end(out.back());
    }
    for (const NodePtr& child : node->children) collect_indices(step, child, nullptr, out);
  }

  bool is_index(std::string_view name) const { return !forward_.find(name) && !is_size(name); }

  bool is_size(std::string_view name) const {
    const auto within = [&](const auto& self, const NodePtr& node) -> bool {
      return (node->kind == Kind::name && node->name == name) ||
             std::ranges::any_of(node->children,
                                 [&](const NodePtr& child) { return self(self, child); });
    };
    return std::ranges::any_of(forward_.parameters, [&](const Parameter& one) {
      return std::ranges::any_of(one.sizes,
                                 [&](const NodePtr& size) { return within(within, size); });
    });
  }

  void need_end(const Index& index) {
    if (!index.high)
      fail(index.place, fmt::format("the gradient has to know how far '{}' goes", index.name),
           fmt::format("write {} < n", index.name));
  }

  // The step that adds up what others hand to it.
  void add_gradient(const std::string& name, const Step& step) {
    const Parameter* parameter = forward_.find(step.name);
    const bool is_output = parameter && !is_integer_type(parameter->type);
    if (is_output) {
      Parameter incoming;
      incoming.name = gradient_of(name);
      incoming.is_tensor = true;
      incoming.sizes = parameter->sizes;
      if (parameter->optional) incoming.otherwise = number_node(0, parameter->place);
      inputs_.push_back(incoming);
      known_[name] = incoming.name;
    }
    const std::vector<Use>& uses = uses_[name];
    if (uses.empty()) return;
    const std::vector<NodePtr>* sizes = extents_.of(name);
    if (!sizes) {
      fail(step.place, fmt::format("nothing says how large '{}' is", step.name),
           "say how far its indices go: " + step.name + "[i] = ... for i < m");
      return;
    }
    const std::vector<NodePtr> indices = element_names(uses, *sizes, &step);
    const NodePtr first = is_output ? reference_node(known_[name], indices, step.place) : nullptr;
    const std::string own = is_output ? free_name(known_[name] + "_all") : gradient_of(name);
    std::vector<Index> bounds;
    for (std::size_t d = 0; d < indices.size(); ++d)
      bounds.push_back({indices[d]->name, step.place, nullptr, (*sizes)[d]});
    steps_.push_back({own, step.place, indices, total(first, uses, indices, *sizes), bounds});
    known_[name] = own;
  }

  // What an expression hands to all that it reads.
  void down(const NodePtr& node, const Weight& weight, const Surroundings& around,
            const NodePtr& self) {
    if (error_ || !depends(*node)) return;
    const auto child = [&](std::size_t i) -> const NodePtr& { return node->children[i]; };
    const NodePtr value = self ? self : as_step(node);
    switch (node->kind) {
      case Kind::name:
      case Kind::reference:
        uses_[node->name].push_back({around, node->children, weight});
        factors_ += weight.factors.size() + weight.divisors.size();
        if (factors_ > kMostFactors) too_long();
        return;
      case Kind::negate:
        return down(child(0), weight.times(-1), around, nullptr);
      case Kind::add:
      case Kind::subtract:
        if (const std::optional<LogSumExp> found = log_sum_exp(*node)) {
          const NodePtr share = call_node("exp", {binary_node(Kind::subtract, found->of, value)});
          return down(found->of, weight.times(as_step(share)), summed(around, *found->sum),
                      nullptr);
        }
        down(child(0), weight, around, nullptr);
        return down(child(1), weight.times(node->kind == Kind::add ? 1 : -1), around, nullptr);
      case Kind::multiply:
        down(child(0), weight.times(child(1)), around, nullptr);
        return down(child(1), weight.times(child(0)), around, nullptr);
      case Kind::divide:
        down(child(0), weight.over(child(1)), around, nullptr);
        return down(child(1), weight.times(-1).times(value).over(child(1)), around, nullptr);
      case Kind::square:
        return down(child(0), weight.times(2).times(child(0)), around, nullptr);
      case Kind::call:
        return call(node, weight, around, value);
      case Kind::reduce:
        return reduction(*node, weight, around);
      default:
        return;
    }
  }

  void too_long() {
    fail(statement_.name.place, "the gradient is too long",
         "give parts of long expressions names, as steps of their own");
  }

  static std::size_t nodes_of(const NodePtr& node) {
    std::size_t count = 1;
    if (node->condition) count += nodes_of(node->condition);
    for (const NodePtr& child : node->children) count += nodes_of(child);
    return count;
  }

  void call(const NodePtr& node, const Weight& weight, const Surroundings& around,
            const NodePtr& value) {
    const std::string& name = node->name;
    const std::vector<NodePtr>& of = node->children;
    if (name == "where") {
      const NodePtr not_so = unary_node(Kind::logical_not, of[0]);
      down(of[1], weight, under(around, of[0]), nullptr);
      return down(of[2], weight, under(around, not_so), nullptr);
    }
    if (name == "max" || name == "min") {
      NodePtr first = of[0];
      if (of.size() > 2) first = call_node(name, {of.begin(), of.end() - 1});
      const NodePtr& last = of.back();
      const NodePtr wins = compared(first, name == "max" ? ">" : "<", last);
      const NodePtr loses = unary_node(Kind::logical_not, wins);
      down(first, weight, under(around, wins), nullptr);
      return down(last, weight, under(around, loses), nullptr);
    }
    if (name == "clamp") {
      down(of[0], weight,
           under(under(around, compared(of[0], ">=", of[1])), compared(of[0], "<=", of[2])),
           nullptr);
      down(of[1], weight, under(around, compared(of[0], "<", of[1])), nullptr);
      return down(of[2], weight, under(around, compared(of[0], ">", of[2])), nullptr);
    }
    if (is_type(name)) return down(of[0], weight, around, nullptr);
    if (const std::optional<Weight> slope = derivative(name, of[0], value, weight))
      return down(of[0], *slope, around, nullptr);
    fail(node->place, fmt::format("the derivative of {} is not known", name));
  }

  static Surroundings under(Surroundings around, const NodePtr& condition) {
    around.conditions.push_back(condition);
    return around;
  }

  // weight * f'(x), where f(x) is `value`.
  static std::optional<Weight> derivative(std::string_view name, const NodePtr& x,
                                          const NodePtr& value, const Weight& weight) {
    const auto number = [&](double v) { return number_node(v, x->place); };
    const auto plus = [](const NodePtr& a, const NodePtr& b) {
      return binary_node(Kind::add, a, b);
    };
    const auto minus = [](const NodePtr& a, const NodePtr& b) {
      return binary_node(Kind::subtract, a, b);
    };
    const auto times = [](const NodePtr& a, const NodePtr& b) {
      return binary_node(Kind::multiply, a, b);
    };
    using std::numbers::inv_sqrtpi, std::numbers::ln2, std::numbers::log2e;
    if (name == "exp") return weight.times(value);
    if (name == "exp2") return weight.times(ln2).times(value);
    if (name == "log") return weight.over(x);
    if (name == "log2") return weight.times(log2e).over(x);
    if (name == "sqrt") return weight.times(0.5).over(value);
    if (name == "rsqrt")
      return weight.times(-0.5).times(value).times(unary_node(Kind::square, value));
    if (name == "tanh") return weight.times(minus(number(1), unary_node(Kind::square, value)));
    if (name == "erf")
      return weight.times(2 * inv_sqrtpi)
          .times(call_node("exp", {unary_node(Kind::negate, unary_node(Kind::square, x))}));
    if (name == "sin") return weight.times(call_node("cos", {x}));
    if (name == "cos") return weight.times(-1).times(call_node("sin", {x}));
    if (name == "abs") return weight.times(call_node("sign", {x}));
    if (name == "sigmoid") return weight.times(value).times(minus(number(1), value));
    if (name == "silu") {
      const NodePtr s = call_node("sigmoid", {x});
      return weight.times(s).times(plus(number(1), times(x, minus(number(1), s))));
    }
    if (name == "gelu") {  // Phi(x) + x phi(x)
      const NodePtr erf = call_node("erf", {times(number(std::numbers::sqrt2 / 2), x)});
      const NodePtr density = call_node("exp", {times(number(-0.5), unary_node(Kind::square, x))});
      return weight.times(plus(times(number(0.5), plus(number(1), erf)),
                               times(times(number(inv_sqrtpi / std::numbers::sqrt2), x), density)));
    }
    if (name == "gelu_tanh") {
      constexpr double kRoot = 0.7978845608028654, kCubic = 0.044715;  // sqrt(2 / pi)
      const NodePtr cubed = times(times(number(kCubic), x), unary_node(Kind::square, x));
      const NodePtr t = call_node("tanh", {times(number(kRoot), plus(x, cubed))});
      const NodePtr inner = plus(number(1), times(number(3 * kCubic), unary_node(Kind::square, x)));
      return weight.times(plus(
          times(number(0.5), plus(number(1), t)),
          times(times(times(number(kRoot / 2), x), minus(number(1), unary_node(Kind::square, t))),
                inner)));
    }
    return std::nullopt;
  }

  void reduction(const Node& node, const Weight& weight, Surroundings around) {
    if (node.name != "sum") {
      fail(node.place, fmt::format("{}[...] has no derivative where elements are equal", node.name),
           fmt::format("write detach({}) if the operation does not depend on it, as softmax does "
                       "not on the maximum, or write the gradient as a text of its own",
                       text_of(node)));
      return;
    }
    down(node.children[0], weight, summed(std::move(around), node), nullptr);
  }

  Surroundings summed(Surroundings around, const Node& sum) {
    for (Index index : sum.indices) {
      if (!index.high) index.high = extents_.implied(sum, index.name);
      need_end(index);
      around.indices.push_back(std::move(index));
    }
    if (sum.condition) around.conditions.push_back(sum.condition);
    return around;
  }

  // c + log(sum[j] exp(of - c)), whose derivative is exp(of - all of it): it does not depend on c.
  struct LogSumExp {
    NodePtr sum, of;
  };

  static std::optional<LogSumExp> log_sum_exp(const Node& node) {
    if (node.kind != Kind::add) return std::nullopt;
    for (const std::size_t side : {0, 1}) {
      const Node& log = *node.children[side];
      if (log.kind != Kind::call || log.name != "log") continue;
      const NodePtr& sum = log.children[0];
      if (sum->kind != Kind::reduce || sum->name != "sum") continue;
      const Node& exp = *sum->children[0];
      if (exp.kind != Kind::call || exp.name != "exp") continue;
      const Node& inner = *exp.children[0];
      if (inner.kind == Kind::subtract &&
          text_of(*inner.children[1]) == text_of(*node.children[1 - side]))
        return LogSumExp{sum, inner.children[0]};
    }
    return std::nullopt;
  }

  // The step whose value the expression is, if there is one.
  NodePtr as_step(const NodePtr& node) const {
    for (const Step& step : forward_.steps) {
      if (step.value->kind != node->kind || has_pieces(step_name(step))) continue;
      Names indices;
      for (const NodePtr& one : step.subscripts) indices[one->name] = nullptr;
      if (!matches(*step.value, node, indices)) continue;
      std::vector<NodePtr> subscripts;
      for (const NodePtr& one : step.subscripts) subscripts.push_back(indices.at(one->name));
      if (std::ranges::count(subscripts, nullptr) == 0)
        return reference_node(step_name(step), subscripts, node->place);
    }
    return node;
  }

  // Whether the node is the pattern with expressions for these indices, which it finds.
  static bool matches(const Node& pattern, const NodePtr& node, Names& indices) {
    if (pattern.kind == Kind::name) {
      const auto index = indices.find(pattern.name);
      if (index != indices.end()) {
        if (!index->second) index->second = node;
        return text_of(*index->second) == text_of(*node);
      }
    }
    const bool alike = pattern.kind == node->kind && pattern.name == node->name &&
                       pattern.number == node->number && pattern.kind != Kind::reduce &&
                       pattern.children.size() == node->children.size();
    for (std::size_t i = 0; alike && i < pattern.children.size(); ++i) {
      if (!matches(*pattern.children[i], node->children[i], indices)) return false;
    }
    return alike;
  }

  // --- the sum of all uses

  // How the gradient's element is called: as its step does, or its first use.
  std::vector<NodePtr> element_names(const std::vector<Use>& uses,
                                     const std::vector<NodePtr>& sizes, const Step* step) {
    const auto fits = [&](const std::vector<NodePtr>& names) {
      std::set<std::string> different;
      for (const NodePtr& one : names) {
        if (one->kind != Kind::name || !is_index(one->name)) return false;
        different.insert(one->name);
      }
      return different.size() == sizes.size();
    };
    if (step && fits(step->subscripts)) return step->subscripts;
    for (const Use& use : uses) {
      if (fits(use.subscripts)) return use.subscripts;
    }
    std::vector<NodePtr> names;
    std::set<std::string, std::less<>> used;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      // That of the subscript, if it has one: q[i, 2 * c].
      std::string base;
      for (const Use& use : uses) {
        if (base.empty()) base = only_index(use.subscripts[d]);
      }
      names.push_back(name_node(fresh(base, used), sizes[d]->place));
      used.insert(names.back()->name);
    }
    return names;
  }

  std::string only_index(const NodePtr& node) const {
    if (node->kind == Kind::name) return is_index(node->name) ? node->name : "";
    if (node->kind == Kind::reference) return "";
    std::string found;
    for (const NodePtr& child : node->children) {
      const std::string one = only_index(child);
      if (!one.empty() && !found.empty() && one != found) return "";
      if (!one.empty()) found = one;
    }
    return found;
  }

  bool has_index(const NodePtr& node) const {
    return (node->kind == Kind::name && is_index(node->name)) ||
           std::ranges::any_of(node->children,
                               [&](const NodePtr& child) { return has_index(child); });
  }

  // A name for an index: this one, if it is free, or some letter.
  std::string fresh(std::string_view base, const std::set<std::string, std::less<>>& used) const {
    const auto is_free = [&](std::string_view name) {
      return !used.contains(name) && is_index(name) && !has_step(name) && !is_function(name) &&
             !is_reducer(name) && !is_word(name) &&
             std::ranges::none_of(gradients_, [&](const auto& one) { return one.second == name; });
    };
    if (!base.empty() && is_free(base)) return std::string(base);
    constexpr std::string_view kLetters = "ijklpqrstuabcefgh";
    for (const char letter : kLetters) {
      if (is_free(std::string_view(&letter, 1))) return std::string(1, letter);
    }
    for (int number = 2;; ++number) {
      std::string name = fmt::format("{}{}", base.empty() ? "i" : base, number);
      if (is_free(name)) return name;
    }
  }

  NodePtr total(NodePtr sum, const std::vector<Use>& uses, const std::vector<NodePtr>& element,
                const std::vector<NodePtr>& sizes) {
    for (const Use& use : uses) {
      const Signed one = contribution(use, element, sizes);
      nodes_ += nodes_of(one.node);
      if (nodes_ > kMostNodes) too_long();
      if (error_) return nullptr;
      if (!sum) {
        sum = one.negative ? unary_node(Kind::negate, one.node) : one.node;
      } else {
        sum = binary_node(one.negative ? Kind::subtract : Kind::add, sum, one.node);
      }
    }
    std::set<std::string, std::less<>> used;
    for (const NodePtr& one : element) used.insert(one->name);
    return printable(sum, {}, used);
  }

  Signed contribution(const Use& use, const std::vector<NodePtr>& element,
                      const std::vector<NodePtr>& sizes) {
    // Its indices under names that nothing else has.
    Names marked;
    std::vector<Index> indices;
    for (const Index& one : use.around.indices) {
      const std::string name = fmt::format("{}{}{}", one.name, kMark, ++marks_);
      indices.push_back(
          {name, one.place, marked_inside(one.low, marked), marked_inside(one.high, marked)});
      marked[one.name] = name_node(name, one.place);
    }
    const auto own = [&](const NodePtr& node) { return marked_inside(node, marked); };

    // A subscript of the read that occurs elsewhere, too, is the element's.
    struct Same {
      int depth;
      std::string text;
      NodePtr element;
    };

    std::vector<Same> same;
    const auto remember = [&](const NodePtr& node, const NodePtr& element_node) {
      const NodePtr here = own(node);
      same.push_back({here->depth, text_of(*here), element_node});
    };
    Names elements;
    for (std::size_t d = 0; d < element.size(); ++d) {
      const NodePtr& subscript = use.subscripts[d];
      if (subscript->children.size() != 2 || !has_index(subscript)) continue;
      const std::string name = fmt::format("{}{}", kMark, d);
      const NodePtr read = name_node(name, element[d]->place);
      elements[name] = element[d];
      remember(subscript, read);
      const NodePtr &a = subscript->children[0], &b = subscript->children[1];
      if (subscript->kind == Kind::add && !has_index(b))
        remember(a, binary_node(Kind::subtract, read, b));
    }
    Solver solver(indices);
    const auto known = [&](const NodePtr& node) {
      const NodePtr read = rebuilt(own(node), [&](const NodePtr& one) -> NodePtr {
        for (const Same& other : same) {
          if (one->depth == other.depth && text_of(*one) == other.text) return other.element;
        }
        return nullptr;
      });
      return substituted(solver.applied(read), elements);
    };
    for (const bool bare : {true, false}) {
      for (std::size_t d = 0; d < element.size(); ++d) {
        if ((use.subscripts[d]->kind == Kind::name) != bare) continue;
        solver.solve(own(use.subscripts[d]), element[d], sizes[d]);
      }
    }
    std::vector<NodePtr> conditions = solver.guards();
    for (const NodePtr& one : use.around.conditions) conditions.push_back(known(one));
    conditions.insert(conditions.end(), solver.equal().begin(), solver.equal().end());
    Weight weight{use.weight.coefficient, {}, {}};
    for (const NodePtr& one : use.weight.factors) weight.factors.push_back(known(one));
    for (const NodePtr& one : use.weight.divisors) weight.divisors.push_back(known(one));
    return summed(solver.left(), conditions, weight);
  }

  // where(conditions, weight * sum[left if conditions] weight, 0): what does not depend on the
  // indices of the sum stands before it.
  static Signed summed(const std::vector<Index>& left, const std::vector<NodePtr>& conditions,
                       const Weight& weight) {
    std::set<std::string, std::less<>> names;
    for (const Index& one : left) names.insert(one.name);
    NodePtr outside, inside;
    for (const NodePtr& one : conditions) {
      const bool within = inside || mentions(one, names);
      NodePtr& to = within ? inside : outside;
      to = both(to, one);
    }
    Weight outer{std::fabs(weight.coefficient), {}, {}}, inner;
    // What is read may be there only under the condition of the sum.
    const auto stays = [&](const NodePtr& node) {
      return mentions(node, names) || (inside && !reads_by_indices(*node));
    };
    for (const NodePtr& one : weight.factors) (stays(one) ? inner : outer).factors.push_back(one);
    for (const NodePtr& one : weight.divisors) (stays(one) ? inner : outer).divisors.push_back(one);
    if (!left.empty()) {
      auto sum = std::make_shared<Node>();
      sum->kind = Kind::reduce;
      sum->indices = left;
      sum->condition = inside;
      const bool counts = inner.factors.empty() && inner.divisors.empty();
      sum->name = counts ? "count" : "sum";
      outer.factors.push_back(counts ? sum : with_children(*sum, {product(inner)}));
    }
    NodePtr node = product(outer);
    if (outside) node = call_node("where", {outside, node, number_node(0, node->place)});
    return {node, weight.coefficient < 0};
  }

  static bool reads_by_indices(const Node& node) {
    if (node.kind == Kind::reference)
      return std::ranges::all_of(node.children,
                                 [](const NodePtr& one) { return one->kind == Kind::name; });
    return std::ranges::all_of(node.children,
                               [](const NodePtr& one) { return reads_by_indices(*one); });
  }

  static NodePtr product(const Weight& weight) {
    NodePtr out;
    if (weight.coefficient != 1 || weight.factors.empty())
      out = number_node(weight.coefficient, Place{});
    for (const NodePtr& one : weight.factors)
      out = out ? binary_node(Kind::multiply, out, one) : one;
    for (const NodePtr& one : weight.divisors) out = binary_node(Kind::divide, out, one);
    return out;
  }

  // Indices of inner sums under names that nothing else has, those of `names` replaced.
  NodePtr marked_inside(const NodePtr& node, const Names& names) {
    if (!node) return nullptr;
    if (node->kind == Kind::name) return substituted(node, names);
    auto out = std::make_shared<Node>(*node);
    Names inner = names;
    for (Index& index : out->indices) {
      index.low = marked_inside(index.low, inner);
      if (!index.high) index.high = extents_.implied(*node, index.name);
      index.high = marked_inside(index.high, inner);
      const std::string name = fmt::format("{}{}{}", index.name, kMark, ++marks_);
      inner[index.name] = name_node(name, index.place);
      index.name = name;
    }
    out->condition = marked_inside(node->condition, inner);
    for (NodePtr& child : out->children) child = marked_inside(child, inner);
    return out;
  }

  // With names of indices that can be printed.
  NodePtr printable(const NodePtr& node, const Names& names,
                    const std::set<std::string, std::less<>>& used) {
    if (!node) return nullptr;
    if (node->kind == Kind::name) return substituted(node, names);
    auto out = std::make_shared<Node>(*node);
    if (out->kind == Kind::reference) out->name = plain(out->name);
    Names inner = names;
    std::set<std::string, std::less<>> inner_used = used;
    for (Index& index : out->indices) {
      index.low = printable(index.low, inner, used);
      index.high = printable(index.high, inner, used);
      const std::string name = fresh(index.name.substr(0, index.name.find(kMark)), inner_used);
      inner_used.insert(name);
      inner[index.name] = name_node(name, index.place);
      index.name = name;
    }
    out->condition = printable(out->condition, inner, inner_used);
    for (NodePtr& child : out->children) child = printable(child, inner, inner_used);
    return out;
  }

  // --- what has to be computed again

  void gather_forward() {
    for (const Step& step : steps_) need(step.value);
    for (std::size_t i = forward_.steps.size(); i-- > 0 && !error_;) {
      const Step& step = forward_.steps[i];
      const std::string name = step_name(step);
      if (saved_.contains(name) || !needed_.contains(plain(name))) continue;
      const bool whole = std::ranges::all_of(step.subscripts, [&](const NodePtr& one) {
        return one->kind == Kind::name && is_index(one->name);
      });
      if (has_pieces(name) || !whole) {
        fail(step.place,
             fmt::format("the gradient reads '{}', which is written in pieces", step.name),
             fmt::format("save it: ... saving {}", step.name));
        return;
      }
      if (is_choice(*step.value)) {
        fail(step.place,
             fmt::format("the gradient reads '{}', which the forward pass chose", step.name),
             fmt::format("save it: ... saving {}", step.name));
        return;
      }
      Step copy = step;
      copy.name = plain(name);
      if (forward_.find(step.name)) copy.bounds = indices_of(step);
      copy.value = renamed(step.value);
      need(copy.value);
      for (const Index& bound : copy.bounds) {
        need(bound.low);
        need(bound.high);
      }
      steps_.insert(steps_.begin(), std::move(copy));
    }
    for (const GradientStatement::Name& one : statement_.saved) {
      if (!error_ && !needed_.contains(plain(exit_name(one.text))))
        fail(one.place, fmt::format("the gradient does not read '{}'", one.text),
             "remove it from saving");
    }
  }

  static NodePtr renamed(const NodePtr& node) {
    if (!node) return nullptr;
    auto out = std::make_shared<Node>(*node);
    if (out->kind == Kind::reference) out->name = plain(out->name);
    for (NodePtr& child : out->children) child = renamed(child);
    out->condition = renamed(out->condition);
    return out;
  }

  void need(const NodePtr& node) {
    if (!node) return;
    if (!node->name.empty()) needed_.insert(node->name);
    for (const NodePtr& child : node->children) need(child);
    need(node->condition);
    for (const Index& index : node->indices) {
      need(index.low);
      need(index.high);
    }
  }

  // --- the text

  Result<std::string> written() {
    for (const Parameter& one : forward_.parameters) {
      if (one.is_tensor && !one.output && needed_.contains(one.name)) {
        inputs_.push_back(one);
        inputs_.back().inout = false;
      }
    }
    for (const GradientStatement::Name& one : statement_.saved) {
      const Parameter* parameter = forward_.find(one.text);
      Parameter saved;
      saved.name = plain(exit_name(one.text));
      saved.is_tensor = true;
      saved.sizes = *extents_.of(one.text);
      if (parameter && !is_integer_type(parameter->type)) saved.type = parameter->type;
      for (const Step& step : forward_.steps) {
        if (step.name != one.text || !is_choice(*step.value)) continue;
        const Index& index = step.value->indices.front();
        saved.type = parameter->type;
        saved.low = number_node(0, index.place);
        saved.high =
            index.high ? index.high : extents_.implied(*step.value->children[0], index.name);
      }
      inputs_.push_back(saved);
    }
    for (const Parameter& one : inputs_) {
      for (const NodePtr& size : one.sizes) need(size);
      need(one.low);
      need(one.high);
      for (const NodePtr& other : one.others) need(other);
    }
    for (const Parameter& one : outputs_) {
      for (const NodePtr& size : one.sizes) need(size);
    }
    for (const Parameter& one : forward_.parameters) {
      if (!one.is_tensor && needed_.contains(one.name)) inputs_.push_back(one);
    }
    const auto list = [](const std::vector<Parameter>& parameters) {
      std::string text;
      for (const Parameter& one : parameters) text += (text.empty() ? "" : ", ") + written(one);
      return text;
    };
    std::string out = wrapped(
        fmt::format("operation {}({}) -> {}", statement_.name.text, list(inputs_), list(outputs_)));
    for (const Step& step : steps_) out += wrapped(written(step));
    return out;
  }

  static std::string written(const Parameter& one) {
    std::string text = one.name;
    std::string sizes;
    for (const NodePtr& size : one.sizes) sizes += (sizes.empty() ? "" : ", ") + text_of(*size);
    if (one.is_tensor) text += "[" + sizes + "]";
    if (one.optional) text += "?";
    if (!one.type.empty()) text += ": " + one.type;
    if (one.low) text += fmt::format(" in {} .. {}", text_of(*one.low), text_of(*one.high));
    for (const NodePtr& other : one.others) text += " or " + text_of(*other);
    if (one.otherwise) text += " = " + text_of(*one.otherwise);
    return text;
  }

  static std::string written(const Step& step) {
    std::string subscripts, bounds;
    for (const NodePtr& one : step.subscripts)
      subscripts += (subscripts.empty() ? "" : ", ") + text_of(*one);
    for (const Index& one : step.bounds) bounds += (bounds.empty() ? "" : ", ") + text_of(one);
    return fmt::format("  {}{} = {}{}", step.name, subscripts.empty() ? "" : "[" + subscripts + "]",
                       text_of(*step.value), bounds.empty() ? "" : " for " + bounds);
  }

  // Broken behind operators and commas, where a step goes on.
  static std::string wrapped(std::string line) {
    std::string out;
    while (line.size() > kColumns) {
      std::size_t at = std::string::npos;
      int brackets = 0, fewest = 0;  // where few are open, in the second half of the line
      for (std::size_t i = 8; i < kColumns; ++i) {
        brackets += line[i] == '[' || line[i] == '('   ? 1
                    : line[i] == ']' || line[i] == ')' ? -1
                                                       : 0;
        const bool ends = std::string_view("+-*/,=").find(line[i - 1]) != std::string::npos;
        const bool better = at < kColumns / 2 || at == std::string::npos || brackets <= fewest;
        if (line[i] != ' ' || !ends || !better) continue;
        at = i;
        fewest = brackets;
      }
      if (at == std::string::npos) break;
      out += line.substr(0, at) + "\n";
      line = "      " + line.substr(at + 1);
    }
    return out + line + "\n";
  }

  const GradientStatement& statement_;
  const OperationText& forward_;
  const std::string& path_;
  Extents extents_;
  std::set<std::string, std::less<>> taken_, wrt_, saved_, active_, needed_;
  std::map<std::string, std::string, std::less<>> gradients_;  // of tensors: what theirs is called
  std::map<std::string, std::string, std::less<>> known_;      // of steps, where it is complete
  std::map<std::string, std::vector<Use>, std::less<>> uses_;
  std::vector<Parameter> inputs_, outputs_;
  std::vector<Step> steps_;
  int marks_ = 0;
  std::size_t factors_ = 0, nodes_ = 0;  // that were made
  std::optional<Error> error_;
};

}  // namespace

Result<std::string> gradient_text(const GradientStatement& statement, const OperationText& forward,
                                  const std::string& path) {
  if (const auto checked = check_operation(forward); !checked) return checked.error();
  return Differentiator(statement, forward, path).text();
}

}  // namespace plumbline::text
