// SPDX-License-Identifier: MIT
#include "oracles/text/edits.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "oracles/text/nodes.h"
#include "oracles/text/words.h"

namespace plumbline::text {
namespace {

struct Variant {
  std::string name;
  NodePtr node;
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kAlike = {{
    {"exp", "exp2"},
    {"log", "log2"},
    {"sqrt", "rsqrt"},
    {"sin", "cos"},
    {"gelu", "gelu_tanh"},
    {"gelu", "silu"},
    {"silu", "sigmoid"},
    {"floor", "round"},
    {"max", "min"},
    {"tanh", "erf"},
}};

// What values may be rounded to on their way.
constexpr std::array<std::string_view, 2> kNarrow = {"bf16", "f16"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kComparisons = {{
    {"<", "<="},
    {">", ">="},
    {"==", "!="},
}};

class Editor {
 public:
  Editor(const OperationText& text, const Extents& extents, const Step& step)
      : text_(text), extents_(extents) {
    for (const NodePtr& subscript : step.subscripts) remember(subscript, subscripts_);
    collect(*step.value);
  }

  // Those of a whole right side.
  std::vector<Variant> all(const NodePtr& value) const {
    std::vector<Variant> out = variants(value);
    for (std::size_t a = 0; a < references_.size(); ++a) {
      for (std::size_t b = a + 1; b < references_.size(); ++b) {
        const std::string first = text_of(*references_[a]), second = text_of(*references_[b]);
        if (references_[a]->name == references_[b]->name)
          out.push_back({fmt::format("with {} and {} exchanged", first, second),
                         exchanged(value, first, second, references_[a], references_[b])});
      }
    }
    out.push_back(
        {"the reciprocal", binary_node(Kind::divide, number_node(1, value->place), value)});
    out.push_back({"the other sign", unary_node(Kind::negate, value)});
    out.push_back(
        {"twice as much", binary_node(Kind::multiply, number_node(2, value->place), value)});
    out.push_back({"half as much", binary_node(Kind::divide, value, number_node(2, value->place))});
    for (const std::string_view format : kNarrow) {
      if (value->kind != Kind::call || value->name != format)
        out.push_back({fmt::format("rounded to {}", format), call_node(format, {value})});
    }
    return out;
  }

  // All variants of a node: those of itself, then those of what it is made of.
  std::vector<Variant> variants(const NodePtr& node) const {
    std::vector<Variant> out = own(*node);
    for (std::size_t i = 0; i < node->children.size(); ++i) {
      rounded(*node, i, out);
      // A number in a subscript is no constant of the computation.
      const bool is_place =
          node->kind == Kind::reference && node->children[i]->kind == Kind::number;
      if (is_place) continue;
      for (Variant& one : variants(node->children[i])) {
        auto copy = std::make_shared<Node>(*node);
        copy->children[i] = std::move(one.node);
        if (node->kind == Kind::reference) one.name += " in " + text_of(*node);
        out.push_back({std::move(one.name), std::move(copy)});
      }
    }
    if (node->condition) {
      for (Variant& one : variants(node->condition)) {
        auto copy = std::make_shared<Node>(*node);
        copy->condition = std::move(one.node);
        out.push_back({std::move(one.name), std::move(copy)});
      }
    }
    return out;
  }

 private:
  // A sum, a product or a quotient on the way, rounded to a narrower format. (Of reductions and of
  // whole lines there are such variants, too.)
  static void rounded(const Node& node, std::size_t i, std::vector<Variant>& out) {
    const Node& part = *node.children[i];
    const bool computes = part.kind == Kind::add || part.kind == Kind::subtract ||
                          part.kind == Kind::multiply || part.kind == Kind::divide;
    const bool of_numbers = node.kind != Kind::reference && node.kind != Kind::compare &&
                            node.kind != Kind::floor_divide && node.kind != Kind::remainder;
    if (!computes || !of_numbers) return;
    for (const std::string_view format : kNarrow) {
      auto copy = std::make_shared<Node>(node);
      copy->children[i] = call_node(format, {node.children[i]});
      out.push_back({fmt::format("with {} rounded to {}", text_of(part), format), std::move(copy)});
    }
  }

  void collect(const Node& node) {
    for (const NodePtr& child : node.children) {
      if (node.kind == Kind::reference) remember(child, subscripts_);
      if (child->kind == Kind::reference) remember(child, references_);
      collect(*child);
    }
  }

  // Each once: whether it is new.
  static bool remember(const NodePtr& node, std::vector<NodePtr>& nodes) {
    const std::string text = text_of(*node);
    if (std::ranges::any_of(nodes, [&](const NodePtr& one) { return text_of(*one) == text; }))
      return false;
    nodes.push_back(node);
    return true;
  }

  static NodePtr exchanged(const NodePtr& node, std::string_view first, std::string_view second,
                           const NodePtr& a, const NodePtr& b) {
    if (node->kind == Kind::reference) {
      const std::string text = text_of(*node);
      if (text == first) return b;
      if (text == second) return a;
    }
    auto copy = std::make_shared<Node>(*node);
    for (NodePtr& child : copy->children) child = exchanged(child, first, second, a, b);
    return copy;
  }

  static NodePtr renamed(const Node& node, std::string_view name) {
    auto out = std::make_shared<Node>(node);
    out->name = name;
    return out;
  }

  std::vector<Variant> own(const Node& node) const {
    std::vector<Variant> out;
    const auto add = [&](std::string name, NodePtr made) {
      out.push_back({std::move(name), std::move(made)});
    };
    const auto text = [&](std::size_t i) { return text_of(*node.children[i]); };
    const auto child = [&](std::size_t i) { return node.children[i]; };
    switch (node.kind) {
      case Kind::add:
        before_the_term(node, add);
        before(node, add);
        add("without the term " + text(1), child(0));
        add("without the term " + text(0), child(1));
        add("with - for + before " + text(1), binary_node(Kind::subtract, child(0), child(1)));
        break;
      case Kind::subtract:
        before_the_term(node, add);
        add("without the term -" + text(1), child(0));
        add("without the term " + text(0), unary_node(Kind::negate, child(1)));
        add("with + for - before " + text(1), binary_node(Kind::add, child(0), child(1)));
        break;
      case Kind::multiply:
        after_the_factor(node, add);
        add("without the factor " + text(1), child(0));
        add("without the factor " + text(0), child(1));
        add("divided by " + text(1) + ", not multiplied",
            binary_node(Kind::divide, child(0), child(1)));
        break;
      case Kind::divide:
        after_the_factor(node, add);
        add("without the divisor " + text(1), child(0));
        add("multiplied by " + text(1) + ", not divided",
            binary_node(Kind::multiply, child(0), child(1)));
        break;
      case Kind::floor_divide:
        add("without the divisor " + text(1), child(0));
        add("with % for // before " + text(1), binary_node(Kind::remainder, child(0), child(1)));
        divisions(node, Kind::remainder, "%", add);
        break;
      case Kind::remainder:
        add("without % " + text(1), child(0));
        add("with // for % before " + text(1), binary_node(Kind::floor_divide, child(0), child(1)));
        divisions(node, Kind::floor_divide, "//", add);
        break;
      case Kind::square:
        add("without the square of " + text(0), child(0));
        break;
      case Kind::negate:
        add("without the sign of -" + text(0), child(0));
        break;
      case Kind::number:
        constants(node, add);
        break;
      case Kind::call:
        calls(node, add);
        break;
      case Kind::reduce:
        reductions(node, add);
        break;
      case Kind::compare:
        for (const auto& [a, b] : kComparisons) {
          if (node.name == a) add(fmt::format("with {} for {}", b, a), renamed(node, b));
          if (node.name == b) add(fmt::format("with {} for {}", a, b), renamed(node, a));
        }
        break;
      case Kind::logical_and:
      case Kind::logical_or:
        add("without the condition " + text(1), child(0));
        add("without the condition " + text(0), child(1));
        break;
      case Kind::logical_not:
        add("without not", child(0));
        break;
      case Kind::name:
      case Kind::reference:
        names(node, add);
        break;
      default:
        break;
    }
    return out;
  }

  template <typename Add>
  static void calls(const Node& node, const Add& add) {
    for (const auto& [a, b] : kAlike) {
      if (node.name == a) add(fmt::format("with {} for {}", b, a), renamed(node, b));
      if (node.name == b) add(fmt::format("with {} for {}", a, b), renamed(node, a));
    }
    if (node.name == "s8" || node.name == "round") conversions(node, add);
    if (node.name == "where") {
      const std::string condition = text_of(*node.children[0]);
      add("as if never " + condition, node.children[2]);
      add("as if always " + condition, node.children[1]);
    } else if (node.name == "clamp") {
      add("without clamp", node.children[0]);
    } else if (node.children.size() == 1 && node.name != "largest" && node.name != "detach") {
      add("without " + node.name, node.children[0]);
      after(node, add);
    } else if (node.name == "max" || node.name == "min") {
      for (const NodePtr& child : node.children)
        add(fmt::format("with {} for {}", text_of(*child), text_of(node)), child);
    }
  }

  // To an integer in other ways than to the nearest, ties to even.
  template <typename Add>
  static void conversions(const Node& node, const Add& add) {
    const NodePtr &value = node.children[0], size = call_node("abs", {value}),
                  sign = call_node("sign", {value});
    const auto with_sign = [&](NodePtr integer) {
      return binary_node(Kind::multiply, sign, std::move(integer));
    };
    const auto half = number_node(0.5, node.place);
    const auto as = [&](std::string_view how, const NodePtr& integer) {
      add(fmt::format("with {} {}", text_of(*value), how),
          node.name == "round" ? integer : call_node(node.name, {integer}));
    };
    as("truncated, not rounded to nearest", with_sign(call_node("floor", {size})));
    if (node.name != "round")  // else it is floor for round
      as("rounded down, not to nearest", call_node("floor", {value}));
    as("rounded with ties away from zero, not to even",
       with_sign(call_node("floor", {binary_node(Kind::add, size, half)})));
  }

  template <typename Add>
  static void constants(const Node& node, const Add& add) {
    const NodePtr right = std::make_shared<Node>(node);
    for (const NodePtr& wrong : {binary_node(Kind::multiply, number_node(2, node.place), right),
                                 binary_node(Kind::divide, right, number_node(2, node.place)),
                                 unary_node(Kind::negate, right)})
      add(fmt::format("with {} for {}", text_of(*wrong), text_of(node)), wrong);
  }

  // h % kv for h // group, and the other way round: with each size of the text.
  template <typename Add>
  void divisions(const Node& node, Kind other, std::string_view sign, const Add& add) const {
    std::vector<std::string> sizes;
    for (const Parameter& parameter : text_.parameters)
      for (const NodePtr& size : parameter.sizes) add_names(*size, sizes);
    const std::string now = text_of(*node.children[1]);
    for (const std::string& size : sizes) {
      if (size == now) continue;
      add(fmt::format("with {} {} {} for {}", text_of(*node.children[0]), sign, size,
                      text_of(node)),
          binary_node(other, node.children[0], name_node(size, node.place)));
    }
  }

  static void add_names(const Node& node, std::vector<std::string>& names) {
    if (node.kind == Kind::name && std::ranges::count(names, node.name) == 0)
      names.push_back(node.name);
    for (const NodePtr& child : node.children) add_names(*child, names);
  }

  // (a - b) * c as a * c - b, and c * (a - b); likewise of sums and quotients.
  template <typename Add>
  static void after_the_factor(const Node& node, const Add& add) {
    for (const auto& [at, by] : {std::pair{0, 1}, {1, 0}}) {
      const NodePtr &inner = node.children[static_cast<std::size_t>(at)],
                    &factor = node.children[static_cast<std::size_t>(by)];
      const bool is_sum = inner->kind == Kind::add || inner->kind == Kind::subtract;
      if (!is_sum || (node.kind == Kind::divide && at == 1)) continue;
      add(fmt::format("with {} {} after the {} {}", text_of(*inner->children[1]),
                      inner->kind == Kind::add ? "added" : "subtracted",
                      node.kind == Kind::divide ? "divisor" : "factor", text_of(*factor)),
          binary_node(inner->kind, binary_node(node.kind, inner->children[0], factor),
                      inner->children[1]));
    }
  }

  // a * c - b as (a - b) * c; likewise of sums and quotients.
  template <typename Add>
  static void before_the_term(const Node& node, const Add& add) {
    const NodePtr &inner = node.children[0], &term = node.children[1];
    if (inner->kind != Kind::multiply && inner->kind != Kind::divide) return;
    add(fmt::format("with {} {} before the {} {}", text_of(*term),
                    node.kind == Kind::add ? "added" : "subtracted",
                    inner->kind == Kind::divide ? "divisor" : "factor",
                    text_of(*inner->children[1])),
        binary_node(inner->kind, binary_node(node.kind, inner->children[0], term),
                    inner->children[1]));
  }

  // f(a) + b as f(a + b).
  template <typename Add>
  static void before(const Node& node, const Add& add) {
    for (const auto& [of, term] : {std::pair{0, 1}, {1, 0}}) {
      const NodePtr &call = node.children[static_cast<std::size_t>(of)],
                    &moved = node.children[static_cast<std::size_t>(term)];
      const bool is_function = call->kind == Kind::call && call->children.size() == 1 &&
                               call->name != "largest" && call->name != "detach";
      if (!is_function) continue;
      add(fmt::format("with {} added before {}", text_of(*moved), call->name),
          call_node(call->name, {binary_node(Kind::add, call->children[0], moved)}));
    }
  }

  // f(a + b) as f(a) + b; of rsqrt also as 1 / (sqrt(a) + b).
  template <typename Add>
  static void after(const Node& node, const Add& add) {
    const Node& inner = *node.children[0];
    if (inner.kind != Kind::add) return;
    for (const auto& [a, b] : {std::pair{0, 1}, {1, 0}}) {
      const NodePtr &stays = inner.children[static_cast<std::size_t>(a)],
                    &leaves = inner.children[static_cast<std::size_t>(b)];
      const auto of = [&](std::string_view name) {
        auto out = std::make_shared<Node>(node);
        out->name = name;
        out->children = {stays};
        return out;
      };
      add(fmt::format("with {} added after {}", text_of(*leaves), node.name),
          binary_node(Kind::add, of(node.name), leaves));
      if (node.name == "rsqrt")
        add(fmt::format("with {} added after the root", text_of(*leaves)),
            binary_node(Kind::divide, number_node(1, node.place),
                        binary_node(Kind::add, of("sqrt"), leaves)));
    }
  }

  template <typename Add>
  void reductions(const Node& node, const Add& add) const {
    for (const std::string_view format : kNarrow)
      add(fmt::format("with {} rounded to {}", text_of(node), format),
          call_node(format, {std::make_shared<Node>(node)}));
    if (node.name == "max" || node.name == "min") {
      const std::string_view other = node.name == "max" ? "min" : "max";
      add(fmt::format("with {} for {}", other, node.name), renamed(node, other));
    }
    if (node.condition) {
      auto all = std::make_shared<Node>(node);
      all->condition = nullptr;
      add("without the condition " + text_of(*node.condition), std::move(all));
    }
    for (std::size_t i = 0; i < node.indices.size(); ++i) {
      const Index& index = node.indices[i];
      auto later = std::make_shared<Node>(node);
      later->indices[i].low = index.low
                                  ? binary_node(Kind::add, index.low, number_node(1, node.place))
                                  : number_node(1, node.place);
      add("without the first " + index.name, std::move(later));
      NodePtr high = index.high;
      if (!high && !node.children.empty()) high = extents_.implied(*node.children[0], index.name);
      if (!high) continue;
      auto earlier = std::make_shared<Node>(node);
      earlier->indices[i].high = binary_node(Kind::subtract, high, number_node(1, node.place));
      add("without the last " + index.name, std::move(earlier));
    }
  }

  // Of tensors and steps of codes: one off, or with a sign.
  template <typename Add>
  void integers(const Node& node, const Add& add) const {
    const NodePtr right = std::make_shared<Node>(node);
    const Parameter* parameter = text_.find(node.name);
    const bool is_input = parameter && is_integer_type(parameter->type);
    for (const Kind kind : {Kind::add, Kind::subtract}) {
      const NodePtr moved = binary_node(kind, right, number_node(1, node.place));
      if (is_input) add(fmt::format("with {} for {}", text_of(*moved), node.name), moved);
    }
    const auto signed_bits = [&](int bits) {
      const NodePtr half = number_node(1 << (bits - 1), node.place);
      auto below = std::make_shared<Node>(*binary_node(Kind::compare, right, half));
      below->name = "<";
      const NodePtr wrapped =
          binary_node(Kind::subtract, right, number_node(1 << bits, node.place));
      add(fmt::format("with {} taken for signed integers of {} bits", node.name, bits),
          call_node("where", {below, right, wrapped}));
    };
    if (is_input && parameter->type == "u8") signed_bits(8);
    const bool is_nibble = std::ranges::any_of(text_.steps, [&](const Step& step) {
      return step.name == node.name && has_nibbles(*step.value);
    });
    if (is_nibble) signed_bits(4);
  }

  static bool has_nibbles(const Node& node) {
    const bool splits = node.kind == Kind::floor_divide || node.kind == Kind::remainder;
    if (splits && node.children[1]->kind == Kind::number && node.children[1]->number == 16)
      return true;
    return std::ranges::any_of(node.children, [](const NodePtr& one) { return has_nibbles(*one); });
  }

  template <typename Add>
  void names(const Node& node, const Add& add) const {
    const auto shared = [&] { return std::make_shared<Node>(node); };
    if (node.kind == Kind::reference) {
      if (node.name.ends_with('\'')) {
        const std::string before = node.name.substr(0, node.name.size() - 1);
        add(fmt::format("with {} as it was before", before), renamed(node, before));
      }
      for (const Parameter& other : text_.parameters) {
        if (other.is_tensor && !other.output && other.name != node.name &&
            other.sizes.size() == node.children.size())
          add(fmt::format("with {} for {}", other.name, node.name), renamed(node, other.name));
      }
      for (std::size_t d = 0; d < node.children.size(); ++d) {
        const std::string now = text_of(*node.children[d]);
        for (const NodePtr& other : subscripts_) {
          const std::string then = text_of(*other);
          if (then == now) continue;
          auto elsewhere = shared();
          elsewhere->children[d] = other;
          add(fmt::format("with {} for {} in {}", then, now, text_of(node)), std::move(elsewhere));
        }
      }
      integers(node, add);
      if (node.children.size() == 2) {
        auto turned = shared();
        std::swap(turned->children[0], turned->children[1]);
        add(fmt::format("with the subscripts of {} exchanged", text_of(node)), std::move(turned));
      }
      return;
    }
    const Parameter* parameter = text_.find(node.name);
    if (parameter && parameter->otherwise) {
      add(fmt::format("with {} for {}", text_of(*parameter->otherwise), node.name),
          parameter->otherwise);
    } else if (!parameter) {
      for (const Kind kind : {Kind::add, Kind::subtract}) {
        const NodePtr moved = binary_node(kind, shared(), number_node(1, node.place));
        add(fmt::format("with {} for {}", text_of(*moved), node.name), moved);
      }
      add(fmt::format("with 0 for {}", node.name), number_node(0, node.place));
    }
  }

  const OperationText& text_;
  const Extents& extents_;
  std::vector<NodePtr> subscripts_, references_;  // of the step, each subscript once
};

// A reference, a subscript or a condition that a text has in several places may be wrong in all of
// them.
class Repeated {
 public:
  explicit Repeated(const OperationText& text) : text_(text) {
    for (std::size_t s = 0; s < text.steps.size(); ++s) collect(text.steps[s].value, s, false);
  }

  void add(const Extents& extents, std::size_t most, std::vector<Edit>& edits) const {
    constexpr std::size_t kMostNodes = 2000;  // each is looked at for every edit
    if (nodes_ > kMostNodes) return;
    for (const Found& one : found_) {
      if (one.count < 2) continue;
      const Editor editor(text_, extents, text_.steps[one.step]);
      std::vector<Variant> variants = editor.variants(one.node);
      if (one.is_condition) {
        const auto never = [&](const char* op) {
          auto out = std::make_shared<Node>(*binary_node(
              Kind::compare, number_node(0, one.node->place), number_node(0, one.node->place)));
          out->name = op;
          return out;
        };
        variants.push_back({"never", never("!=")});
        variants.push_back({"always", never("==")});
      }
      for (Variant& variant : variants) {
        if (edits.size() == most) return;
        Edit edit{fmt::format("line {} and wherever {} is: {}", text_.steps[one.step].place.line,
                              one.text, variant.name),
                  text_};
        for (Step& step : edit.text.steps)
          step.value = replaced(step.value, one.text, variant.node);
        edits.push_back(std::move(edit));
      }
    }
  }

 private:
  struct Found {
    NodePtr node;
    std::string text;
    std::size_t step = 0;  // the first that has it
    int count = 0;
    bool is_condition = false;
  };

  void collect(const NodePtr& node, std::size_t step, bool is_condition) {
    ++nodes_;
    const bool is_reference = node->kind == Kind::reference;
    if (is_reference || is_condition) note(node, step, is_condition);
    for (std::size_t i = 0; i < node->children.size(); ++i) {
      const NodePtr& child = node->children[i];
      const bool compound = is_reference && !child->children.empty();
      if (compound && child->kind != Kind::reference) note(child, step, false);
      collect(child, step, node->kind == Kind::call && node->name == "where" && i == 0);
    }
    if (node->condition) collect(node->condition, step, true);
  }

  void note(const NodePtr& node, std::size_t step, bool is_condition) {
    const std::string text = text_of(*node);
    const auto known = std::ranges::find(found_, text, &Found::text);
    if (known == found_.end()) {
      found_.push_back({node, text, step, 1, is_condition});
    } else {
      ++known->count;
    }
  }

  static NodePtr replaced(const NodePtr& node, std::string_view text, const NodePtr& other) {
    if (text_of(*node) == text) return other;
    auto copy = std::make_shared<Node>(*node);
    for (NodePtr& child : copy->children) child = replaced(child, text, other);
    if (copy->condition) copy->condition = replaced(copy->condition, text, other);
    return copy;
  }

  const OperationText& text_;
  std::vector<Found> found_;
  std::size_t nodes_ = 0;
};

// The pieces of an output exchanged.
void add_exchanged_pieces(const OperationText& text, std::size_t most, std::vector<Edit>& edits) {
  for (std::size_t a = 0; a < text.steps.size(); ++a) {
    for (std::size_t b = a + 1; b < text.steps.size() && edits.size() < most; ++b) {
      if (text.steps[a].name != text.steps[b].name) continue;
      Edit edit{fmt::format("lines {} and {}: with their right sides exchanged",
                            text.steps[a].place.line, text.steps[b].place.line),
                text};
      std::swap(edit.text.steps[a].value, edit.text.steps[b].value);
      edits.push_back(std::move(edit));
    }
  }
}

}  // namespace

std::vector<Edit> single_edits(const OperationText& text, std::size_t most) {
  std::vector<Edit> edits;
  const Extents extents(text);
  for (std::size_t s = 0; s < text.steps.size(); ++s) {
    for (Variant& one : Editor(text, extents, text.steps[s]).all(text.steps[s].value)) {
      if (edits.size() == most) return edits;
      Edit edit{fmt::format("line {}: {}", text.steps[s].place.line, one.name), text};
      edit.text.steps[s].value = std::move(one.node);
      edits.push_back(std::move(edit));
    }
  }
  add_exchanged_pieces(text, most, edits);
  Repeated(text).add(extents, most, edits);
  return edits;
}

}  // namespace plumbline::text
