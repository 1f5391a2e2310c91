// SPDX-License-Identifier: MIT
// Evaluator: the elements of a program's steps over a domain of numbers: MPFR (the definition),
// double (pictures and hypotheses), or forms (what a conforming kernel may have). A domain has
//
//   Value                         a number of it
//   real(x), whole(k)             of a constant or scalar, of an integer
//   input(x)                      of a tensor's element
//   sum, product, quotient, function, negate, extreme, either, round_to
//   Total                         a sum, maximum or minimum that grows term by term
//   compare(op, a, b)             a Truth
//
// A domain that tells sums on tensor cores from others also has Products, a sum of products that
// grows pair by pair, and product_sum(node), which is null for any other sum.
// A domain that has begins_with_addend() may tell that of c + sum[...] the sum begins with c: then
// Total and Products have begin(c), and placed(node, child, a) is the sum's value as that of
// c + sum.
// A domain that computes each step in its own way has enter(step), which tells the step before, and
// finished(step, value).
//
// Elements are computed when they are asked for, and kept: all of them, or those of one row where
// rows do not need each other and have several. Where the text has no value (a subscript leaves its
// tensor, an integer is divided by 0 or leaves 64 bits) the evaluator throws Undefined.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "oracles/exact/parallel.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/tensor.h"
#include "oracles/reference/oracle.h"
#include "oracles/text/instance.h"
#include "oracles/text/lexer.h"

namespace plumbline::text {

// A condition on numbers that are known to ranges may be open: to a kernel, or even of exact
// values, if double does not tell them apart.
struct Truth {
  enum class Open : std::uint8_t { no, to_kernels, of_exact };

  bool holds = false;
  Open how = Open::no;

  bool open() const { return how != Open::no; }
};

// The inputs of a problem as numbers; null: not there.
class Inputs {
 public:
  Inputs() = default;

  explicit Inputs(std::span<const Tensor* const> tensors) {
    for (const Tensor* tensor : tensors) {
      std::vector<double> values;
      if (tensor) {
        const Format& f = plumbline::format(tensor->layout.format);
        const std::int64_t count = tensor->layout.count();
        values.reserve(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i) values.push_back(to_double(f, tensor->bits(i)));
      }
      values_.push_back(std::move(values));
    }
  }

  double at(int input, std::int64_t element) const {
    return values_[static_cast<std::size_t>(input)][static_cast<std::size_t>(element)];
  }

 private:
  std::vector<std::vector<double>> values_;
};

template <typename Domain>
class Evaluator {
 public:
  using Value = typename Domain::Value;

  Evaluator(const Instance& instance, const Inputs& inputs, Domain domain)
      : instance_(instance),
        inputs_(inputs),
        domain_(std::move(domain)),
        slots_(static_cast<std::size_t>(instance.program().slots)),
        kept_(instance.program().steps.size()),
        reals_(static_cast<std::size_t>(instance.program().memos)),
        integers_(static_cast<std::size_t>(instance.program().memos)),
        cumulative_(static_cast<std::size_t>(instance.program().cumulatives)) {}

  // Of a step, by row-major index.
  Value element(int step, std::int64_t index) {
    tick();
    const StepTensor& tensor = instance_.program().steps[static_cast<std::size_t>(step)];
    const Piece& piece = instance_.locate(step, index, slots_);
    if (tensor.type == Type::integer) return domain_.whole(integer(*piece.value));
    return real(*piece.value);
  }

  // Of a step that rounds what it computes to a format (Op::round_to): what it rounds.
  Value before_rounding(int step, std::int64_t index) {
    tick();
    return real(*instance_.locate(step, index, slots_).value->children[0]);
  }

  // The same of a step of real numbers, computed once.
  const Value& kept_element(int step, std::int64_t index) {
    tick();
    return kept(step, index, &Kept::reals,
                [&](const Piece& piece) { return computed(step, *piece.value); });
  }

  // Of a step of integers.
  std::int64_t integer_element(int step, std::int64_t index) {
    return integer(*instance_.locate(step, index, slots_).value);
  }

  // What a choice is made from (StepTensor::is_choice).
  struct Candidates {
    std::int64_t rank = 0;
    std::vector<std::pair<std::int64_t, Value>> of;  // by index
  };

  Candidates candidates(int step, std::int64_t index) {
    return candidates(*instance_.locate(step, index, slots_).value);
  }

  // The candidate of this rank; -1: there are not so many. NaN is the least. Only as many as the
  // rank says have to be in order.
  std::int64_t chosen(Candidates from) const {
    const auto is_nan = [&](const Value& x) {
      return !domain_.compare(Comparison::equal, x, x).holds;
    };
    const auto before = [&](const auto& a, const auto& b) {
      if (domain_.compare(Comparison::greater, a.second, b.second).holds) return true;
      if (domain_.compare(Comparison::greater, b.second, a.second).holds) return false;
      const bool a_nan = is_nan(a.second), b_nan = is_nan(b.second);
      return a_nan == b_nan ? a.first < b.first : b_nan;
    };
    if (from.rank < 0 || from.rank >= std::ssize(from.of)) return -1;
    const auto place = from.of.begin() + static_cast<std::ptrdiff_t>(from.rank);
    std::nth_element(from.of.begin(), place, from.of.end(), before);
    return place->first;
  }

  // Steps whose elements are not computed: a kernel stored them. Empty: computed.
  void give(std::vector<std::vector<std::int64_t>> steps) { given_ = std::move(steps); }

 private:
  static constexpr Truth kAlways{true};

  // Large tensors take minutes: who does not want them any more need not wait.
  void tick() {
    if ((++ticks_ & 1023) == 0) stop_if_given_up();
  }

  // What was computed of one step. An element of integers is one thing as an integer, which other
  // steps read, and another as a number, which is judged: each is known by itself.
  template <typename Kind>
  struct KeptAs {
    std::vector<std::uint8_t> known;
    std::vector<Kind> values;
  };

  struct Kept {
    std::int64_t row = -1;
    KeptAs<Value> reals;
    KeptAs<std::int64_t> integers;
    KeptAs<Truth> truths;
  };

  // What a reduction was for some indices: those before, and the last ones again, as they often are.
  template <typename Kind>
  struct Memo {
    std::vector<std::int64_t> last;
    std::optional<Kind> value;
    std::map<std::vector<std::int64_t>, Kind> others;
  };

  // A reduction with the terms before `next`: those of the next element go on from there.
  struct Cumulative {
    std::vector<std::int64_t> of;
    std::int64_t low = 0, next = 0;
    typename Domain::Total total;
  };

  template <typename Kind, typename Compute>
  Kind remembered(const Expression& node, std::vector<Memo<Kind>>& memos, Compute compute) {
    if (node.memo < 0) return compute();
    Memo<Kind>& memo = memos[static_cast<std::size_t>(node.memo)];
    const auto at = [&](int slot) { return slots_[static_cast<std::size_t>(slot)]; };
    const bool same = memo.value && std::ranges::equal(memo.last, node.depends_on, {}, {}, at);
    if (same) return *memo.value;
    std::vector<std::int64_t> key;
    for (const int slot : node.depends_on) key.push_back(at(slot));
    auto found = memo.others.find(key);
    if (found == memo.others.end()) found = memo.others.emplace(key, compute()).first;
    memo.last = std::move(key);
    memo.value = found->second;
    return found->second;
  }

  [[noreturn]] void fail(Place place, std::string message) const {
    throw Undefined(error_at(instance_.program().text.path, place, std::move(message),
                             "correct the text, or exclude such sizes from the domain"));
  }

  [[noreturn]] void overflow(const Expression& node) const {
    fail(node.place, "an integer that 64 bits cannot hold");
  }

  // The row-major index of an element that is read.
  std::int64_t place_of(const Expression& node, std::span<const std::int64_t> shape) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Expression& child = *node.children[d];
      const std::int64_t subscript =
          child.op == Op::index ? slots_[static_cast<std::size_t>(child.id)] : integer(child);
      if (subscript < 0 || subscript >= shape[d])
        fail(node.place, fmt::format("subscript {} of a dimension of {}", subscript, shape[d]));
      at = at * shape[d] + subscript;
    }
    return at;
  }

  // Where the element is kept: `compute` says what it is where it is not known yet.
  template <typename Kind, typename Compute>
  const Kind& kept(int step, std::int64_t index, KeptAs<Kind> Kept::* as, Compute compute) {
    Kept& kept = kept_[static_cast<std::size_t>(step)];
    const std::span<const std::int64_t> shape = instance_.step_shape(step);
    std::int64_t at = index, size = instance_.step_elements(step);
    if (instance_.rows_are_independent() && size > shape[0]) {
      size /= shape[0];
      const std::int64_t row = index / size;
      at = index % size;
      if (row != kept.row) {
        kept.row = row;
        kept.reals.known.clear();
        kept.integers.known.clear();
        kept.truths.known.clear();
      }
    }
    auto& [known, values] = kept.*as;
    if (known.empty()) {
      known.assign(static_cast<std::size_t>(size), 0);
      values.resize(static_cast<std::size_t>(size));
    }
    const auto i = static_cast<std::size_t>(at);
    Kind& value = values[i];
    if (known[i] != 0) return value;
    value = compute(instance_.locate(step, index, slots_));
    known[i] = 1;
    return value;
  }

  std::int64_t integer(const Expression& node) {
    const auto child = [&](std::size_t i) { return integer(*node.children[i]); };
    std::int64_t out = 0;
    switch (node.op) {
      case Op::constant:
        return static_cast<std::int64_t>(node.number);
      case Op::size:
        return instance_.setting().sizes[static_cast<std::size_t>(node.id)];
      case Op::scalar:
        return static_cast<std::int64_t>(
            instance_.setting().scalars[static_cast<std::size_t>(node.id)]);
      case Op::index:
        return slots_[static_cast<std::size_t>(node.id)];
      case Op::input: {
        if (!instance_.setting().present[static_cast<std::size_t>(node.id)])
          return static_cast<std::int64_t>(instance_.absent_value(node.id));
        return static_cast<std::int64_t>(
            inputs_.at(node.id, place_of(node, instance_.input_shape(node.id))));
      }
      case Op::step: {
        const std::int64_t at = place_of(node, instance_.step_shape(node.id));
        const auto step = static_cast<std::size_t>(node.id);
        if (step < given_.size() && !given_[step].empty())
          return given_[step][static_cast<std::size_t>(at)];
        return kept(node.id, at, &Kept::integers,
                    [&](const Piece& piece) { return integer(*piece.value); });
      }
      case Op::negate:
        if (__builtin_sub_overflow(std::int64_t{0}, child(0), &out)) overflow(node);
        return out;
      case Op::integer_add:
        if (__builtin_add_overflow(child(0), child(1), &out)) overflow(node);
        return out;
      case Op::integer_subtract:
        if (__builtin_sub_overflow(child(0), child(1), &out)) overflow(node);
        return out;
      case Op::integer_multiply:
        if (__builtin_mul_overflow(child(0), child(1), &out)) overflow(node);
        return out;
      case Op::floor_divide:
      case Op::remainder: {
        const std::int64_t a = child(0), b = child(1);
        if (b == 0) fail(node.place, "a division by 0");
        if (b == -1) {
          if (__builtin_sub_overflow(std::int64_t{0}, a, &out)) overflow(node);
          return node.op == Op::floor_divide ? out : 0;
        }
        return node.op == Op::floor_divide ? floor_divided(a, b) : a - b * floor_divided(a, b);
      }
      case Op::maximum:
      case Op::minimum:
        out = child(0);
        for (std::size_t i = 1; i < node.children.size(); ++i)
          out = node.op == Op::maximum ? std::max(out, child(i)) : std::min(out, child(i));
        return out;
      case Op::where:
        return truth(*node.children[0]).holds ? child(1) : child(2);
      case Op::reduce:
        return remembered(node, integers_,
                          [&] { return node.is_top() ? chosen(candidates(node)) : reduced(node); });
      default:
        fail(node.place, "no integer");
    }
  }

  Candidates candidates(const Expression& node) {
    Candidates out;
    out.rank = integer(*node.children[1]);
    const auto slot = static_cast<std::size_t>(node.ranges[0].slot);
    reduce(node, 0, [&](const Truth& counts) {
      if (!counts.holds) return;
      const std::int64_t index = slots_[slot];
      out.of.emplace_back(index, real(*node.children[0]));
    });
    return out;
  }

  // A sum or a count.
  std::int64_t reduced(const Expression& node) {
    const bool counts = node.id == static_cast<int>(Reduction::count);
    std::int64_t out = 0;
    reduce(node, 0, [&](const Truth& truth) {
      if (!truth.holds) return;
      const std::int64_t one = counts ? 1 : integer(*node.children[0]);
      if (__builtin_add_overflow(out, one, &out)) overflow(node);
    });
    return out;
  }

  // Calls body(whether the condition holds) for all values of the ranges' indices.
  template <typename Body>
  void reduce(const Expression& node, std::size_t depth, const Body& body) {
    if (depth == node.ranges.size()) return body(node.condition ? truth(*node.condition) : kAlways);
    const Range& range = node.ranges[depth];
    const std::int64_t low = range.low ? integer(*range.low) : 0;
    const std::int64_t high = integer(*range.high[0]);
    for (std::int64_t i = low; i < high; ++i) {
      tick();
      slots_[static_cast<std::size_t>(range.slot)] = i;
      reduce(node, depth + 1, body);
    }
  }

  Truth truth(const Expression& node) {
    switch (node.op) {
      case Op::logical_not: {
        const Truth a = truth(*node.children[0]);
        return {!a.holds, a.how};
      }
      case Op::logical_and: {
        const Truth a = truth(*node.children[0]);
        if (!a.holds && !a.open()) return a;
        const Truth b = truth(*node.children[1]);
        if (!b.holds && !b.open()) return b;
        return {a.holds && b.holds, std::max(a.how, b.how)};
      }
      case Op::logical_or: {
        const Truth a = truth(*node.children[0]);
        if (a.holds && !a.open()) return a;
        const Truth b = truth(*node.children[1]);
        if (b.holds && !b.open()) return b;
        return {a.holds || b.holds, std::max(a.how, b.how)};
      }
      case Op::where: {
        const Truth chosen = truth(*node.children[0]);
        if (!chosen.open()) return truth(*node.children[chosen.holds ? 1 : 2]);
        const Truth a = truth(*node.children[1]), b = truth(*node.children[2]);
        if (a.holds == b.holds && !a.open() && !b.open()) return a;
        return {chosen.holds ? a.holds : b.holds, std::max({chosen.how, a.how, b.how})};
      }
      case Op::step: {
        const std::int64_t at = place_of(node, instance_.step_shape(node.id));
        return kept(node.id, at, &Kept::truths,
                    [&](const Piece& piece) { return truth(*piece.value); });
      }
      case Op::compare: {
        const auto op = static_cast<Comparison>(node.id);
        const Expression &a = *node.children[0], &b = *node.children[1];
        if (a.type == Type::integer && b.type == Type::integer)
          return {compared(op, integer(a), integer(b))};
        return domain_.compare(op, real(a), real(b));
      }
      default:
        fail(node.place, "no condition");
    }
  }

  // c + sum[...] as a sum that begins with c; nullopt where it is none, or where many have the sum
  // in common.
  std::optional<Value> begun_sum(const Expression& node) {
    if (!domain_.begins_with_addend() || node.children.size() != 2) return std::nullopt;
    const auto is_sum = [&](std::size_t i) {
      const Expression& one = *node.children[i];
      return one.op == Op::reduce && one.type == Type::real && one.memo < 0 && !node.negative[i] &&
             one.id == static_cast<int>(Reduction::sum);
    };
    const std::size_t which = is_sum(0) ? 0 : 1;
    if (!is_sum(which)) return std::nullopt;
    const Expression& other = *node.children[1 - which];
    Value first = real(other);
    if (node.negative[1 - which]) first = domain_.negate(other, first);
    return domain_.placed(node, which, reduction(*node.children[which], &first));
  }

  // Of a reduction of real numbers; `first`: what it begins with.
  Value reduction(const Expression& node, const Value* first) {
    if constexpr (requires { typename Domain::Products; }) {
      if (const auto* sum = domain_.product_sum(node)) return products(node, *sum, first);
    }
    if (node.cumulative >= 0 && first == nullptr) return cumulative(node);
    typename Domain::Total total(domain_, node);
    if constexpr (requires { domain_.begins_with_addend(); }) {
      if (first != nullptr) total.begin(*first);
    }
    reduce(node, 0, [&](const Truth& counts) {
      if (counts.holds || counts.open()) total.add(real(*node.children[0]), counts);
    });
    return total.value();
  }

  Value cumulative(const Expression& node) {
    const Range& range = node.ranges[0];
    const std::int64_t low = range.low ? integer(*range.low) : 0;
    const std::int64_t high = std::max(low, integer(*range.high[0]));
    std::optional<Cumulative>& so_far = cumulative_[static_cast<std::size_t>(node.cumulative)];
    const auto at = [&](int slot) { return slots_[static_cast<std::size_t>(slot)]; };
    if (!so_far || so_far->low != low || so_far->next > high ||
        !std::ranges::equal(so_far->of, node.terms_depend_on, {}, {}, at)) {
      so_far.emplace(Cumulative{{}, low, low, typename Domain::Total(domain_, node)});
      std::ranges::transform(node.terms_depend_on, std::back_inserter(so_far->of), at);
    }
    for (std::int64_t& i = so_far->next; i < high; ++i) {
      tick();
      slots_[static_cast<std::size_t>(range.slot)] = i;
      const Truth counts = node.condition ? truth(*node.condition) : kAlways;
      if (counts.holds || counts.open()) so_far->total.add(real(*node.children[0]), counts);
    }
    return so_far->total.value();
  }

  // A term whose condition does not hold may be 0 to a kernel, which multiplies whole tiles.
  template <typename Sum>
  Value products(const Expression& node, const Sum& sum, const Value* first) {
    typename Domain::Products total(domain_, sum);
    if constexpr (requires { domain_.begins_with_addend(); }) {
      if (first != nullptr) total.begin(*first);
    }
    const Expression& body = *node.children[0];
    reduce(node, 0, [&](const Truth& counts) {
      if (!counts.holds && !counts.open()) return total.skip();
      const Value a = factor<typename Domain::Products>(*body.children[0]);
      total.add(a, factor<typename Domain::Products>(*body.children[1]), counts);
    });
    return total.value();
  }

  // An element of a tensor reaches a tensor core as it is stored.
  template <typename Products>
  Value factor(const Expression& node) {
    if (node.op != Op::input) return real(node);
    return Products::stored(inputs_.at(node.id, place_of(node, instance_.input_shape(node.id))));
  }

  // A domain may compute each step in its own way.
  Value computed(int step, const Expression& value) {
    if constexpr (requires { domain_.enter(step); }) {
      const int before = domain_.enter(step);
      Value out = domain_.finished(step, real(value));
      domain_.enter(before);
      return out;
    } else {
      return real(value);
    }
  }

  Value real(const Expression& node) {
    if (node.type == Type::integer) return domain_.whole(integer(node));
    const auto child = [&](std::size_t i) { return real(*node.children[i]); };
    switch (node.op) {
      case Op::constant:
        return domain_.real(node.number, node.rest);
      case Op::scalar:
        return domain_.real(instance_.setting().scalars[static_cast<std::size_t>(node.id)]);
      case Op::largest: {
        const Format& f = plumbline::format(instance_.format_of(node.id));
        return domain_.real(to_double(f, f.max_finite()));
      }
      case Op::input: {
        if (!instance_.setting().present[static_cast<std::size_t>(node.id)])
          return domain_.real(instance_.absent_value(node.id));
        return domain_.input(inputs_.at(node.id, place_of(node, instance_.input_shape(node.id))));
      }
      case Op::step: {
        const std::int64_t at = place_of(node, instance_.step_shape(node.id));
        return domain_.used(node, kept_element(node.id, at));
      }
      case Op::sum:
        if constexpr (requires { domain_.begins_with_addend(); }) {
          if (const std::optional<Value> begun = begun_sum(node)) return *begun;
        }
        [[fallthrough]];
      case Op::product: {
        const auto combined = [&](std::span<const Value> of) {
          return node.op == Op::sum ? domain_.sum(node, of) : domain_.product(node, of);
        };
        // Most have few: those are made where they are used, and not copied.
        if (node.children.size() == 2) return combined(std::array{child(0), child(1)});
        if (node.children.size() == 3) return combined(std::array{child(0), child(1), child(2)});
        const std::size_t before = operands_.size();
        for (std::size_t i = 0; i < node.children.size(); ++i) operands_.push_back(child(i));
        Value out = combined(std::span(operands_).subspan(before));
        operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(before), operands_.end());
        return out;
      }
      case Op::quotient: {
        const Value a = child(0);
        return domain_.quotient(node, a, child(1));
      }
      case Op::function:
        return domain_.function(node, child(0));
      case Op::round_to:
        return domain_.round_to(node.format, child(0));
      case Op::negate:
        return domain_.negate(node, child(0));
      case Op::maximum:
      case Op::minimum: {
        Value out = child(0);
        for (std::size_t i = 1; i < node.children.size(); ++i)
          out = domain_.extreme(node.op == Op::maximum, out, child(i));
        return out;
      }
      case Op::where: {
        const Truth chosen = truth(*node.children[0]);
        if (!chosen.open()) {
          const std::size_t which = chosen.holds ? 1 : 2;
          return domain_.chosen(node, which, child(which));
        }
        const Value a = child(1), b = child(2);
        return domain_.either(chosen, a, b);
      }
      case Op::reduce:
        return remembered(node, reals_, [&] { return reduction(node, nullptr); });
      default:
        fail(node.place, "no number");
    }
  }

 public:
  template <typename Number>
  static bool compared(Comparison op, const Number& a, const Number& b) {
    switch (op) {
      case Comparison::less:
        return a < b;
      case Comparison::less_equal:
        return a <= b;
      case Comparison::greater:
        return a > b;
      case Comparison::greater_equal:
        return a >= b;
      case Comparison::equal:
        return a == b;
      case Comparison::not_equal:
        break;
    }
    return a != b;
  }

 private:
  const Instance& instance_;
  const Inputs& inputs_;
  Domain domain_;
  std::vector<std::int64_t> slots_;
  std::vector<Kept> kept_;
  std::vector<Memo<Value>> reals_;
  std::vector<Memo<std::int64_t>> integers_;
  std::vector<std::optional<Cumulative>> cumulative_;
  std::vector<std::vector<std::int64_t>> given_;
  std::uint32_t ticks_ = 0;
  std::vector<Value> operands_;  // of the sums and products that are being computed
};

}  // namespace plumbline::text
