// SPDX-License-Identifier: MIT
// The rules are in the order of docs/bounds/operation_texts.md, which derives them.
#include "oracles/reference/text/forms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/bounds/contract/f32_errors.h"
#include "oracles/bounds/contract/rows.h"
#include "oracles/formats/encode.h"

namespace plumbline::text {
namespace {

using bound::kSlack;

constexpr double kUnit = 0x1p-24, kDoubleUnit = 0x1p-53, kLibrary = 0x1p-50;
constexpr double kSmallest = 0x1p-126;

// n roundings: (1 + u)^n - 1 at most.
double gamma(std::int64_t roundings) {
  const double steps = static_cast<double>(roundings) * kUnit;
  return steps < 0.5 ? steps / (1 - steps) : kInfinity;
}

bool is_f32(double x) { return static_cast<double>(static_cast<float>(x)) == x; }

// A subnormal double counts as none: more roundings are allowed then, not fewer.
bool is_power_of_two(double x) { return std::bit_cast<std::uint64_t>(x) << 12 == 0; }

// The weight of the last bit that is set.
int lowest_bit(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t significand = (bits & 0xfffffffffffff) | (exponent > 0 ? 1ULL << 52 : 0);
  return std::max(exponent, 1) - 1075 + std::countr_zero(significand);
}

// x + distance, not rounded down: a small distance is not lost.
double above(double x, double distance) {
  const double sum = x + distance;
  return distance == 0 || std::isinf(sum) ? sum : sum + std::fabs(sum) * 0x1p-52;
}

double below(double x, double distance) { return -above(-x, distance); }

Span span_of(const Form& a) {
  if (a.special) return {a.low, a.high, a.nan};
  const double reach = (a.reach() + a.error) * kSlack;
  const double low = below(a.value, reach), high = above(a.value, reach);
  if (!a.bounded) return {low, high, false};
  return {std::max(low, a.low), std::min(high, a.high), false};
}

// A form of what is known to a range alone.
Form special(const Span& a, double value, double error) {
  Form out;
  out.value = value;
  // Infinite: not known, as where double overflows and the exact value does not.
  out.error = std::isfinite(value) || std::isinf(error) ? error : 0;
  const bool plain = !a.nan && a.numbers() && std::isfinite(a.low) && std::isfinite(a.high) &&
                     std::isfinite(value) && std::isfinite(error);
  if (plain) {
    out.own = std::max({a.high - value, value - a.low, 0.0}) * kSlack;
    if (a.low == value && a.high == value) out.own = 0;
    out.bounded = true;
    out.low = a.low;
    out.high = a.high;
    return out;
  }
  out.special = true;
  out.nan = a.nan;
  out.low = a.low;
  out.high = a.high;
  return out;
}

// What is known of the exact value of an operation on these. It is infinite where one of them is,
// or is 0 (1 / 0); else double has overflowed, and nothing is known.
double error_of(std::span<const Form> of, double value) {
  bool at_end = false, of_zero = false;
  for (const Form& one : of) {
    if (one.error != 0) return kInfinity;
    of_zero = of_zero || one.value == 0;
    at_end = at_end || one.value == 0 || std::isinf(one.value);
  }
  if (std::isinf(value)) return at_end ? 0 : kInfinity;
  return value == 0 && of_zero ? 0 : std::fabs(value) * kLibrary + 0x1p-1074;
}

// exact value: two_sum tells what was rounded away.
void add_exact(double& value, double& error, double term, double term_error) {
  const double sum = value + term;
  const double part = sum - value;
  const bool exact = (value - (sum - part)) + (term - part) == 0;
  error += term_error;
  if (!exact && std::isfinite(sum)) error = (error + std::fabs(sum) * kDoubleUnit) * kSlack;
  value = sum;
}

Form without_symbols(const Form& a) {
  Form out = a;
  out.own = a.reach();
  out.symbols = {};
  out.shares = false;
  return out;
}

// The child's symbols where the node has them; what has no place there joins the rest.
void place(const Expression& node, std::size_t child, const Form& a, Form& out) {
  out.value = a.value;
  out.error = a.error;
  out.own = a.own;
  out.bounded = a.bounded;
  out.low = a.low;
  out.high = a.high;
  const bool mapped = child < node.of_child.size();
  for (std::size_t i = 0; i < a.symbols.size(); ++i) {
    const int to = mapped ? node.of_child[child][i] : -1;
    if (to >= 0) {
      out.symbols[static_cast<std::size_t>(to)] += a.symbols[i];
      out.shares = true;
    } else {
      out.own += std::fabs(a.symbols[i]);
    }
  }
}

// An operand with its symbols where the node has them.
class InPlace {
 public:
  InPlace(const Expression& node, std::size_t child, const Form& a) : is_(&a) {
    if (!a.shares) return;
    place(node, child, a, room_.emplace());
    is_ = &*room_;
  }

  InPlace(const InPlace&) = delete;
  InPlace& operator=(const InPlace&) = delete;

  const Form& operator*() const { return *is_; }

 private:
  std::optional<Form> room_;
  const Form* is_;
};

// x^2 is two factors, which others may come between: (c * x) * x.
std::int64_t factors_of(const Expression& node) {
  return node.op == Op::function && node.function == Function::square ? 2 : 1;
}

}  // namespace

std::int64_t Arithmetic::additions(std::int64_t terms) const {
  if (terms <= 1) return 0;
  std::int64_t most = terms - 1;
  if (any_order) return most;
  if (lanes > 0) {
    RowContract rows;
    rows.lanes = lanes;
    rows.vector = vector;
    return std::min(most, rows.row_additions(terms));
  }
  return std::min(most, ceil_div(terms, std::int64_t{32}) + 6);
}

Forms::Forms(const Arithmetic& arithmetic, const Instance& instance) : arithmetic_(arithmetic) {
  if (arithmetic.products.unit.unit != Unit::tensor_core) return;
  products_ = std::make_shared<ProductSums>(instance, arithmetic.products, arithmetic.flushed);
}

double Forms::tiny() const { return arithmetic_.flushed ? kSmallest : 0x1p-150; }

// Of one operation whose result has a magnitude from `least` to `most`.
double Forms::rounding(double least, double most) const {
  if (most == 0) return 0;
  return kUnit * most * kSlack + (least < kSmallest ? tiny() : 0);
}

double Forms::rounding_of_point(double exact) const {
  const bool lost = arithmetic_.flushed && exact != 0 && std::fabs(exact) < kSmallest;
  if (lost) return std::fabs(exact);
  return is_f32(exact) ? 0 : std::fabs(static_cast<double>(static_cast<float>(exact)) - exact);
}

Form Forms::real(double x, double rest) const {
  if (!std::isfinite(x)) return input(x);
  Form out;
  out.value = x;
  out.error = std::fabs(rest);
  out.own = rounding_of_point(x);
  return out;
}

Form Forms::whole(std::int64_t k) const { return real(static_cast<double>(k)); }

Form Forms::input(double x) const {
  Form out;
  out.value = x;
  if (std::isnan(x)) return special(nothing_but_nan(), kNan, 0);
  if (std::isinf(x)) return special({x, x, false}, x, 0);
  if (arithmetic_.flushed && x != 0 && std::fabs(x) < kSmallest) out.own = std::fabs(x);
  return out;
}

Form Forms::used(const Expression& node, const Form& a) const {
  Form out = a;
  if (a.special) return out;
  if (node.symbols.empty()) {
    if (a.shares) out = without_symbols(a);
  } else if (node.own_symbol >= 0 && a.own != 0) {
    out.symbols[static_cast<std::size_t>(node.own_symbol)] = a.own;
    out.shares = true;
    out.own = 0;
  }
  return out;
}

// A result that f32 may not hold becomes a range.
void Forms::check(Form& a) const {
  if (a.special) return;
  const double most = std::fabs(a.value) + a.error + a.reach();
  if (most <= kLargest) return;
  Span range = std::isfinite(most) ? span_of(a) : Span{-kInfinity, kInfinity, false};
  if (!std::isfinite(a.value)) range = {-kInfinity, kInfinity, true};
  a = special(widened(range, 0, 0), a.value, std::isfinite(a.value) ? a.error : kInfinity);
}

Form Forms::negate(const Expression& node, const Form& a) const {
  Form out = *InPlace(node, 0, a);
  out.value = -out.value;
  if (a.special || a.bounded) {
    const Span range = minus(span_of(a));
    out.low = range.low;
    out.high = range.high;
  }
  for (double& one : out.symbols) one = -one;
  return out;
}

Form Forms::special_sum(const Expression& node, std::span<const Form> of, double value,
                        double error) const {
  SpanSum total;
  for (std::size_t i = 0; i < of.size(); ++i)
    total.add(node.negative[i] ? minus(span_of(of[i])) : span_of(of[i]));
  const auto roundings = static_cast<std::int64_t>(of.size()) - 1;
  return special(total.total(gamma(roundings), static_cast<double>(roundings) * tiny()), value,
                 error);
}

Form Forms::placed(const Expression& node, std::size_t child, const Form& a) const {
  return *InPlace(node, child, a);
}

Form Forms::sum(const Expression& node, std::span<const Form> of) const {
  Form out;
  double magnitude = 0;
  std::int64_t terms = 0;
  bool points = true, any_special = false;
  int lattice = 1 << 20;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const double sign = node.negative[i] ? -1 : 1;
    if (of[i].special) {
      any_special = true;
      add_exact(out.value, out.error, sign * of[i].value, of[i].error);
      continue;
    }
    const InPlace placed(node, i, of[i]);
    const Form& one = *placed;
    const double reach = one.reach() + one.error;
    if (one.value == 0 && reach == 0) continue;
    ++terms;
    points = points && reach == 0;
    if (points && one.value != 0) lattice = std::min(lattice, lowest_bit(one.value));
    add_exact(out.value, out.error, sign * one.value, one.error);
    magnitude += std::fabs(one.value) + reach;
    out.own += one.own;
    if (!one.shares) continue;
    out.shares = true;
    for (std::size_t s = 0; s < out.symbols.size(); ++s) out.symbols[s] += sign * one.symbols[s];
  }
  if (any_special || magnitude * (1 + gamma(terms)) > kLargest)
    return special_sum(node, of, out.value, out.error);
  if (terms <= 1) return out;
  const double reach = out.reach() + out.error, size = std::fabs(out.value);
  if (points && out.error == 0 &&
      (terms == 2 || magnitude <= std::ldexp(1.0, std::min(lattice + 24, 1000)))) {
    out.own = rounding_of_point(out.value);
  } else if (terms == 2) {
    out.own += rounding(size - reach, size + reach);
  } else {
    out.own += (magnitude * gamma(terms - 1) + static_cast<double>(terms - 1) * tiny()) * kSlack;
  }
  check(out);
  return out;
}

// Of three factors and more some may be multiplied first: their product may overflow, or be lost
// below 2^-126, where that of all does not.
Form Forms::special_product(const Expression& node, std::span<const Form> of) const {
  Span out{1, 1, false};
  double value = 1, most = 1, least = 1;  // of any of them together
  for (const Form& one : of) {
    const Span range = span_of(one);
    out = times(out, range);
    value *= one.value;
    if (!range.numbers()) continue;
    most *= std::max({1.0, std::fabs(range.low), std::fabs(range.high)});
    least *= range.has(0) ? 0 : std::min({1.0, std::fabs(range.low), std::fabs(range.high)});
  }
  std::int64_t factors = 0;
  for (const ExpressionPtr& child : node.children) factors += factors_of(*child);
  const double roundings = gamma(factors - 1);
  double absolute = tiny();
  if (factors > 2 && out.numbers()) {
    const bool overflows = most > kLargest, lost = least < kSmallest;
    if (lost) {
      out = hull(out, {0, 0, false});
      absolute *= std::min(most, kLargest);
    }
    if (overflows && out.high > 0) out.high = kInfinity;
    if (overflows && out.low < 0) out.low = -kInfinity;
    out.nan = out.nan || (overflows && lost);
  }
  return special(widened(out, roundings, absolute), value, error_of(of, value));
}

Form Forms::product(const Expression& node, std::span<const Form> of) const {
  Form out;
  out.value = 1;
  std::int64_t factors = 0, not_powers = 0;
  bool points = true;
  double largest = 1;  // that some factors together may be
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of[i].special) return special_product(node, of);
    const InPlace placed(node, i, of[i]);
    const Form& b = *placed;
    const double value = out.value, error = out.error;  // of the factors before
    const double reach_a = out.reach(), reach_b = b.reach();
    const bool one = b.value == 1 && reach_b == 0 && b.error == 0;
    const std::int64_t as_factors = factors_of(*node.children[i]);
    factors += one ? 0 : as_factors;
    points = points && reach_b == 0 && b.error == 0;
    not_powers += b.value != 0 && !is_power_of_two(b.value) ? as_factors : 0;
    largest *= std::max(1.0, std::fabs(b.value) + reach_b + b.error);
    out.value = value * b.value;
    const bool exact = std::fma(value, b.value, -out.value) == 0 && std::fabs(out.value) > 0x1p-900;
    out.error = std::fabs(value) * b.error + std::fabs(b.value) * error + error * b.error;
    if (!exact && out.value != 0)
      out.error = (out.error + std::fabs(out.value) * kDoubleUnit + 0x1p-1074) * kSlack;
    out.own = std::fabs(value) * b.own + std::fabs(b.value) * out.own + reach_a * reach_b +
              reach_a * b.error + reach_b * error;
    if (!out.shares && !b.shares) continue;
    out.shares = true;
    for (std::size_t s = 0; s < out.symbols.size(); ++s)
      out.symbols[s] = value * b.symbols[s] + b.value * out.symbols[s];
  }
  if (largest > kLargest && factors > 1) return special_product(node, of);
  if (factors <= 1) return out;
  const double reach = out.reach() + out.error, size = std::fabs(out.value);
  const bool lost_between = factors > 2 && size + reach > 0 && size - reach < kSmallest * largest;
  if (points && out.error == 0 && !lost_between && (factors == 2 || not_powers <= 1)) {
    out.own = rounding_of_point(out.value);
  } else if (factors == 2) {
    out.own += rounding(size - reach, size + reach);
  } else {
    const double lost = lost_between ? tiny() * largest : 0;
    out.own += (gamma(factors - 1) * (size + reach) + lost * static_cast<double>(factors)) * kSlack;
  }
  check(out);
  return out;
}

Form Forms::quotient(const Expression& node, const Form& first, const Form& second) const {
  const bool fast = arithmetic_.functions != Arithmetic::Functions::precise;
  // To nearest: u. Compilers make of quotients by the same divisor one reciprocal, which div.full
  // or div.approx gives, and products with it.
  const double relative = fast ? 1.001 * (kDivFullError + kUnit) : 1.01 * kUnit;
  const InPlace placed_first(node, 0, first), placed_second(node, 1, second);
  const Form &a = *placed_first, &b = *placed_second;
  const double value = first.value / second.value;
  // Below this a divisor's reciprocal overflows, or is that of 0; above 2^126 it may be lost. That
  // matters where there is a reciprocal, or where a small divisor counts as 0.
  const bool by_reciprocal = fast || arithmetic_.flushed;
  const double reciprocal_overflows = arithmetic_.flushed ? kSmallest : 0x1.00001p-128;
  const auto by_ranges = [&] {
    const Span over = span_of(first), by = span_of(second);
    Span out = widened(divided(over, by), relative, tiny());
    if (by_reciprocal && over.numbers() && by.numbers()) {
      if (by.high > 0x1p126 || by.low < -0x1p126) {
        out = hull(out, {0, 0, false});
        out.nan = out.nan || std::isinf(over.low) || std::isinf(over.high);
      }
      const bool positive = by.high > 0 && by.low < reciprocal_overflows,
                 negative = by.low < 0 && by.high > -reciprocal_overflows;
      const auto take = [&](bool can, double infinity) {
        if (can) out = hull(out, {infinity, infinity, false});
      };
      take((positive && over.high > 0) || (negative && over.low < 0), kInfinity);
      take((positive && over.low < 0) || (negative && over.high > 0), -kInfinity);
      out.nan = out.nan || ((positive || negative) && over.has(0));
    }
    const std::array<Form, 2> of = {first, second};
    return special(out, value, error_of(of, value));
  };
  if (a.special || b.special) return by_ranges();
  const double reach_a = a.reach(), reach_b = b.reach();
  const double least = std::fabs(b.value) - reach_b - b.error;
  if (!(least >= reciprocal_overflows) || std::fabs(b.value) + reach_b > 0x1p126)
    return by_ranges();
  Form out;
  out.value = value;
  const double size = std::fabs(value);
  const bool exact = std::fma(value, b.value, -a.value) == 0 && size > 0x1p-900;
  if (a.error != 0 || b.error != 0 || (!exact && value != 0))
    out.error = ((a.error + size * b.error) / least + size * kDoubleUnit + 0x1p-1074) * kSlack;
  const double by = std::fabs(b.value);
  const double uncertain = reach_b + b.error;
  out.own = a.own + size * b.own;
  if (uncertain > 0)
    out.own += (reach_a + size * reach_b + a.error + size * b.error) * uncertain / least;
  out.own /= by;
  out.shares = a.shares || b.shares;
  if (out.shares) {
    for (std::size_t s = 0; s < out.symbols.size(); ++s)
      out.symbols[s] = (a.symbols[s] - value * b.symbols[s]) / b.value;
  }
  const bool points = reach_a == 0 && reach_b == 0 && a.error == 0 && b.error == 0;
  // Of two f32 a double rounds to the same f32 as the quotient itself (Figueroa: 53 >= 2 * 24 + 2).
  const bool known = exact || (is_f32(a.value) && is_f32(b.value) && size > kSmallest);
  if (points && (value == 0 || (known && !fast))) {
    out.own = rounding_of_point(value);
  } else {
    const double reach = out.reach() + out.error;
    out.own = out.own * kSlack + relative * (size + reach) * kSlack +
              (size - reach < kSmallest ? tiny() : 0);
  }
  check(out);
  return out;
}

namespace {

double evaluated(Function f, double x) {
  switch (f) {
    case Function::exp:
      return std::exp(x);
    case Function::exp2:
      return std::exp2(x);
    case Function::log:
      return std::log(x);
    case Function::log2:
      return std::log2(x);
    case Function::sqrt:
      return std::sqrt(x);
    case Function::rsqrt:
      return 1 / std::sqrt(x);
    case Function::tanh:
      return std::tanh(x);
    case Function::erf:
      return std::erf(x);
    case Function::sin:
      return std::sin(x);
    case Function::cos:
      return std::cos(x);
    case Function::abs:
      return std::fabs(x);
    case Function::sign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case Function::floor:
      return std::floor(x);
    case Function::round:
      return std::nearbyint(x);
    case Function::logb:
      return std::logb(x);
    case Function::square:
      return x * x;
  }
  return kNan;
}

double slope(Function f, double x, double y) {
  switch (f) {
    case Function::exp:
      return y;
    case Function::exp2:
      return y * std::numbers::ln2;
    case Function::log:
      return 1 / x;
    case Function::log2:
      return std::numbers::log2e / x;
    case Function::sqrt:
      return 0.5 / y;
    case Function::rsqrt:
      return -0.5 * y / x;
    case Function::tanh:
      return 1 - y * y;
    case Function::erf:
      return 2 / std::sqrt(std::numbers::pi) * std::exp(-x * x);
    case Function::sin:
      return std::cos(x);
    case Function::cos:
      return -std::sin(x);
    case Function::abs:
      return x < 0 ? -1 : 1;
    case Function::square:
      return 2 * x;
    default:
      return 0;
  }
}

bool is_step(Function f) {
  return f == Function::sign || f == Function::floor || f == Function::round || f == Function::logb;
}

// The largest |f''| of what is neither convex nor concave; 0: it is.
double curve(Function f) {
  switch (f) {
    case Function::tanh:
      return 0.77;  // 4 / (3 sqrt 3)
    case Function::erf:
      return 0.97;  // sqrt(8 / (pi e))
    case Function::sin:
    case Function::cos:
      return 1;
    default:
      return 0;
  }
}

struct FunctionError {
  double relative = 0, absolute = 0;
};

// Of sin.approx and cos.approx for |x| <= most: PTX ISA, and an H100, whose cos errs by 2^-20.43.
// Beyond its ranges nothing is known.
double wave_error(double most) {
  if (most <= 2 * std::numbers::pi) return 0x1.85p-21;
  return most <= 100 * std::numbers::pi ? 0x1.3cp-15 : 2;
}

// Of a function in f32: CUDA C++ Programming Guide, mathematical functions, and PTX ISA.
// |x| <= most, and `x` is the argument that is nearest to 1.
FunctionError function_error(Function f, Arithmetic::Functions functions, double x, double most) {
  constexpr double kUlp = 0x1p-23;
  const bool fast = functions != Arithmetic::Functions::precise;
  switch (f) {
    case Function::exp:  // __expf, and what it is: ex2.approx of a rounded product with log2(e)
      if (fast) {
        const double documented = (2 + std::floor(1.173 * most)) * kUlp;
        return {std::max(documented, 2.5 * kUlp + 1.25 * most * kUnit) + kUnit, kSmallest};
      }
      return {2 * kUlp + kUnit, 0x1p-149};
    case Function::exp2:
      return {2.5 * kUlp + kUnit, fast ? kSmallest : 0x1p-149};
    case Function::log:
    case Function::log2:
      return {3 * kUlp + kUnit, fast && x > 0.4 && x < 2.1 ? 0x1.8p-22 : 0};
    case Function::sqrt:
      return {fast ? kUlp + kUnit : kUnit, 0};
    case Function::rsqrt:
      return {2 * kUlp + kUnit, 0};
    case Function::tanh:
      if (functions == Arithmetic::Functions::approx) return {0x1.01p-11, 0x1p-126};
      return {2 * kUlp + kUnit, 0};
    case Function::erf:
      return {2 * kUlp + kUnit, 0};
    case Function::sin:
    case Function::cos:
      if (fast) return {kUlp, wave_error(most)};
      return {2 * kUlp + kUnit, 0};
    default:
      return {};
  }
}

// What a function makes of a range: its ends, where it rises or falls throughout.
Span image(Function f, const Span& a) {
  if (!a.numbers()) return nothing_but_nan();
  Span out{kInfinity, -kInfinity, a.nan};
  const auto take = [&](double x) {
    const double y = evaluated(f, x);
    if (std::isnan(y)) {
      out.nan = true;
      return;
    }
    out.low = std::min(out.low, y);
    out.high = std::max(out.high, y);
  };
  double low = a.low, high = a.high;
  const bool needs_positive =
      f == Function::log || f == Function::log2 || f == Function::sqrt || f == Function::rsqrt;
  if (needs_positive && low < 0) {
    out.nan = true;
    if (high < 0) return nothing_but_nan();
    low = 0;
  }
  if (f == Function::sin || f == Function::cos) {
    if (std::isinf(low) || std::isinf(high)) out.nan = true;
    out.low = -1;
    out.high = 1;
    return out;
  }
  take(low);
  take(high);
  if (f == Function::rsqrt && a.has(0)) {  // of either sign, as in a quotient
    take(0.0);
    take(-0.0);
  }
  if ((f == Function::abs || f == Function::square || f == Function::logb) && a.has(0)) take(0);
  if (f == Function::sign && a.has(0)) take(0);
  return out;
}

}  // namespace

Form Forms::function(const Expression& node, const Form& argument) const {
  const Function f = node.function;
  const double x = argument.value, y = evaluated(f, x);
  const auto by_range = [&] {
    const Span range = span_of(argument);
    const double most = std::max(std::fabs(range.low), std::fabs(range.high));
    const FunctionError error = function_error(
        f, arithmetic_.functions, std::clamp(1.0, range.low, std::max(range.low, range.high)),
        std::isfinite(most) ? most : 1000);
    const double absolute = error.absolute + tiny();
    const bool exact = is_step(f) || f == Function::abs;
    Span out = image(f, range);
    if (f == Function::log || f == Function::log2) {  // of 1: 0 by the absolute error alone
      if (out.low == 0) out.low = -error.absolute;
      if (out.high == 0) out.high = error.absolute;
    }
    return special(exact ? out : widened(out, error.relative + kUnit, absolute), y,
                   error_of(std::span(&argument, 1), y));
  };
  if (argument.special || !std::isfinite(y)) return by_range();
  const InPlace placed(node, 0, argument);
  const Form& a = *placed;
  const double reach = a.reach(), all = reach + a.error;
  const bool needs_positive = f == Function::log || f == Function::log2 || f == Function::rsqrt ||
                              (f == Function::sqrt && all > 0);
  if (needs_positive && x - all <= 0) return by_range();
  if (f == Function::logb && std::fabs(x) <= all) return by_range();
  Form out;
  out.value = y;
  // The exact value: from that of the argument, and the library's error.
  const auto away = [&](double distance) {
    if (distance == 0) return 0.0;
    if (f == Function::sin || f == Function::cos) return std::min(2.0, distance);
    const double up = evaluated(f, above(x, distance)), down = evaluated(f, below(x, distance));
    double out_of = std::max(std::fabs(up - y), std::fabs(down - y));
    if (f == Function::abs) out_of = std::min(out_of, distance);
    return out_of;
  };
  const bool zero_is_exact = x == 0 && all == 0;
  out.error = away(a.error) * (1 + 0x1p-20);
  const bool exact = is_step(f) || f == Function::abs || zero_is_exact ||
                     (f == Function::square && std::fma(x, x, -y) == 0) ||
                     (f == Function::sqrt && std::fma(y, y, -x) == 0);
  if (!exact) out.error += std::fabs(y) * kLibrary + 0x1p-1074;
  if (is_step(f)) {
    out.own = away(all);
    return out;
  }
  if (f == Function::abs) {
    const bool sure = std::fabs(x) >= all;
    out.own = sure ? a.own : reach;
    out.shares = sure && a.shares;
    if (!out.shares) return out;
    for (std::size_t s = 0; s < out.symbols.size(); ++s)
      out.symbols[s] = a.symbols[s] * (x < 0 ? -1 : 1);
    return out;
  }
  if (reach > 0) {
    const double d = slope(f, x, y), most = away(reach) * (1 + 0x1p-20) + std::fabs(y) * kLibrary;
    double rest = 0;
    if (f == Function::square) {
      rest = reach * reach;
    } else if (curve(f) > 0) {
      rest = curve(f) / 2 * reach * reach;
    } else {
      const double up = evaluated(f, above(x, reach)), down = evaluated(f, below(x, reach));
      rest = std::max(std::fabs(up - y - d * reach), std::fabs(down - y + d * reach));
      if (std::isnan(rest)) return by_range();
    }
    out.own = std::fabs(d) * a.own * kSlack + rest * (1 + 0x1p-20) + std::fabs(y) * kLibrary;
    out.shares = a.shares;
    for (std::size_t s = 0; a.shares && s < out.symbols.size(); ++s)
      out.symbols[s] = d * a.symbols[s];
    if (f != Function::square && out.reach() > most) {  // the ends say more
      out.own = most;
      out.symbols = {};
      out.shares = false;
    }
  }
  if (reach == 0 && zero_is_exact) return out;  // f(0) of all of these: 0, 1 or -infinity
  if (f == Function::square && all == 0 && out.error == 0) {
    out.own = rounding_of_point(y);
    check(out);
    return out;
  }
  if (f == Function::sqrt && exact && all == 0 && is_f32(y) &&
      arithmetic_.functions == Arithmetic::Functions::precise)
    return out;
  const double wide = out.reach() + out.error, size = std::fabs(y);
  const FunctionError error = function_error(f, arithmetic_.functions,
                                             std::clamp(1.0, x - all, x + all), std::fabs(x) + all);
  if (f == Function::square) {
    out.own += rounding(size - wide, size + wide);
  } else {
    out.own += (error.relative * (size + wide) + error.absolute) * kSlack +
               (size - wide < kSmallest ? tiny() : 0);
  }
  check(out);
  return out;
}

Form Forms::extreme(bool maximum, const Form& a, const Form& b) const {
  if (!maximum) {
    const auto turned = [](Form x) {
      if (x.special || x.bounded) {
        const Span range = minus(span_of(x));
        x.low = range.low;
        x.high = range.high;
      }
      x.value = -x.value;
      return x;
    };
    return turned(extreme(true, turned(a), turned(b)));
  }
  const double value = std::isnan(a.value)   ? b.value
                       : std::isnan(b.value) ? a.value
                                             : std::max(a.value, b.value);
  if (!a.special && !b.special) {
    Form out;
    out.value = value;
    out.error = std::max(a.error, b.error);
    if (below(a.value, a.error) > above(b.value, b.error)) out.error = a.error;
    if (below(b.value, b.error) > above(a.value, a.error)) out.error = b.error;
    const double low = std::max(a.value - a.reach(), b.value - b.reach());
    const double high = std::max(a.value + a.reach(), b.value + b.reach());
    const bool points = a.reach() == 0 && b.reach() == 0;
    out.own = points ? 0 : std::max(value - low, high - value) * kSlack;
    // Its ends, of which one is lost where terms reach as far on either side of the value.
    const Span x = span_of(a), y = span_of(b);
    out.bounded = true;
    out.low = std::max(x.low, y.low);
    out.high = std::max(x.high, y.high);
    return out;
  }
  const Span x = span_of(a), y = span_of(b);
  Span out{std::max(x.low, y.low), std::max(x.high, y.high), x.nan || y.nan};
  // A NaN may win, or lose to every value of the other.
  if (x.nan) out = hull(out, y);
  if (y.nan) out = hull(out, x);
  if (!x.numbers()) out = y;
  if (!y.numbers()) out = x;
  out.nan = x.nan || y.nan;
  return special(out, value, std::max(a.error, b.error));
}

Form Forms::chosen(const Expression& node, std::size_t child, const Form& a) const {
  return *InPlace(node, child, a);
}

Form Forms::either(const Truth& first, const Form& a, const Form& b) const {
  const Form& exact = first.holds ? a : b;
  double error = exact.error;
  if (first.how == Truth::Open::of_exact) {
    error = std::fabs(a.value - b.value) + a.error + b.error;
    if (std::isnan(error)) error = kInfinity;
  }
  return special(hull(span_of(a), span_of(b)), exact.value, error);
}

Form Forms::round_to(FormatId to, const Form& a) const {
  const Format& f = plumbline::format(to);
  const auto rounded = [&](double x) { return to_double(f, encode(f, x)); };
  const double value = rounded(a.value);
  double error = 0;
  if (a.error != 0) {
    const double up = rounded(above(a.value, a.error)), down = rounded(below(a.value, a.error));
    error =
        up == value && down == value ? 0 : std::max(std::fabs(up - value), std::fabs(value - down));
    if (std::isnan(error)) error = kInfinity;
  }
  const Span range = span_of(a);
  if (!range.numbers()) return special(range, value, error);
  const double low = rounded(range.low), high = rounded(range.high);
  if (std::isnan(low) || std::isnan(high) || std::isnan(value))
    return special({-kInfinity, kInfinity, true}, value, error);
  if (a.special || std::isinf(error) || std::isinf(low) || std::isinf(high) || std::isinf(value))
    return special({low, high, range.nan}, value, error);
  Form out;
  out.value = value;
  out.error = error;
  out.own = std::max({high - value, value - low, 0.0});
  return out;
}

Truth Forms::compare(Comparison op, const Form& a, const Form& b) const {
  const bool holds = Evaluator<Forms>::compared(op, a.value, b.value);
  const double error = a.error + b.error;
  if (error != 0 && !(std::fabs(a.value - b.value) > error * kSlack))
    return {holds, Truth::Open::of_exact};
  const auto answer = [&](bool open) {
    return Truth{holds, open ? Truth::Open::to_kernels : Truth::Open::no};
  };
  const Span x = span_of(a), y = span_of(b);
  if (!x.numbers() || !y.numbers()) return answer(false);
  const auto of_numbers = [&] {  // whether some of them differ in the answer
    switch (op) {
      case Comparison::less:
      case Comparison::greater_equal:
        return x.low < y.high && !(x.high < y.low);
      case Comparison::less_equal:
      case Comparison::greater:
        return x.low <= y.high && !(x.high <= y.low);
      case Comparison::equal:
      case Comparison::not_equal:
        break;
    }
    const bool same_points = x.low == x.high && y.low == y.high && x.low == y.low;
    const bool apart = x.high < y.low || y.high < x.low;
    return !same_points && !apart;
  };
  // Where one may be NaN, too: of NaN the answer is always the same.
  const bool of_nan = op == Comparison::not_equal;
  const bool nan_differs =
      (x.nan || y.nan) && Evaluator<Forms>::compared(op, x.low, y.low) != of_nan;
  return answer(of_numbers() || nan_differs);
}

Forms::Total::Total(const Forms& forms, const Expression& node)
    : forms_(forms), node_(node), kind_(static_cast<Reduction>(node.id)) {}

// `first` may begin any one of the partial sums, which has an addition more then.
void Forms::Total::begin(const Form& first) {
  begun_ = true;
  add(without_symbols(first), {true});
}

void Forms::Total::add(const Form& term, const Truth& counts) {
  if (kind_ != Reduction::sum) {
    // A kernel begins with this, and keeps it where all terms are NaN and lose.
    const bool maximum = kind_ == Reduction::max;
    if (terms_ == 0) total_ = forms_.input(maximum ? -kInfinity : kInfinity);
    const bool first = terms_ == 0 && !term.special;
    ++terms_;
    if (term.nan) {  // a kernel passes over all NaN among the terms, or keeps one as the result
      nan_ = true;
      if (term.low > term.high) return;
      Form number = term;
      number.nan = false;
      const Truth counted = counts.open() ? counts : Truth{true, Truth::Open::to_kernels};
      total_ = forms_.either(counted, forms_.extreme(maximum, total_, number), total_);
      return;
    }
    const Form with = first ? term : forms_.extreme(maximum, total_, term);
    total_ = counts.open() ? forms_.either(counts, with, total_) : without_symbols(with);
    return;
  }
  if (counts.open()) return add(forms_.either(counts, term, forms_.real(0)), {true});
  const InPlace placed(node_, 0, term);
  const Form& one = *placed;
  ++terms_;
  const Span range = span_of(one);
  spans_.add(range);
  add_exact(total_.value, total_.error, one.value, one.error);
  if (one.special) {
    special_ = true;
    return;
  }
  magnitude_ += std::max(std::fabs(range.low), std::fabs(range.high));
  const bool point = one.error == 0 && one.reach() == 0;
  points_ = points_ && point;
  if (points_ && one.value != 0) lattice_ = std::min(lattice_, lowest_bit(one.value));
  total_.own += one.own;
  if (!one.shares) return;
  total_.shares = true;
  for (std::size_t s = 0; s < total_.symbols.size(); ++s) total_.symbols[s] += one.symbols[s];
}

Form Forms::Total::sum() const {
  const std::int64_t additions =
      begun_ ? forms_.arithmetic_.additions(terms_ - 1) + 1 : forms_.arithmetic_.additions(terms_);
  const double lost = static_cast<double>(terms_) * forms_.tiny();
  if (special_ || magnitude_ * (1 + gamma(additions)) > kLargest)
    return special(spans_.total(gamma(additions), lost), total_.value, total_.error);
  Form out = total_;
  const bool exact = points_ && out.error == 0 &&
                     magnitude_ <= std::ldexp(1.0, std::min(lattice_ + 24, 1000)) &&
                     (!forms_.arithmetic_.flushed || lattice_ >= -126);
  if (exact) return out;
  out.own = out.own * kSlack + magnitude_ * gamma(additions) * kSlack + lost;
  forms_.check(out);
  return out;
}

Form Forms::Total::value() const {
  if (kind_ == Reduction::sum) return terms_ == 0 ? forms_.real(0) : sum();
  if (terms_ == 0) return forms_.input(kind_ == Reduction::max ? -kInfinity : kInfinity);
  if (!nan_) return total_;
  Span range = span_of(total_);
  range.nan = true;
  return special(range, total_.value, total_.error);
}

bool Forms::Products::is_known(const Form& x) {
  return !x.special && x.reach() == 0 && x.error == 0;
}

// A product of a step of its own: the steps behind it begin with the sum that it leaves.
void Forms::Products::begin(const Form& first) {
  add(without_symbols(first), stored(1), {true});
  const std::int64_t elements =
      bound::NodePlan(how_.model).instruction_length * how_.model.node.group;
  for (std::int64_t k = 1; k < elements; ++k) skip();
}

void Forms::Products::add(const Form& a, const Form& b, const Truth& counts) {
  a_.push_back(counts.open() ? forms_.either(counts, a, Form{}) : a);
  b_.push_back(b);
  for (const Form* one : {&a_.back(), &b_.back()}) {
    special_ |= one->special;
    known_ = known_ && is_known(*one);
  }
}

// What the unit may lose of these products in any order: of factors that are not known the largest
// ones, and of products whose sign is not known both signs. What need not be finite counts as 0.
Forms::Products::InAnyOrder Forms::Products::in_any_order() const {
  std::vector<double> value, exponent, lowest;
  InAnyOrder out;
  const auto most = [](const Form& x) {
    const double size = std::fabs(x.value) + x.reach() + x.error;
    const auto nearest = static_cast<float>(size);
    return nearest < size ? std::nextafterf(nearest, kFloatInfinity) : nearest;
  };
  const auto sign_is_known = [](const Form& x) { return x.reach() + x.error < std::fabs(x.value); };
  for (std::size_t p = 0; p < a_.size(); ++p) {
    const Form &a = a_[p], &b = b_[p];
    if (a.special || b.special) continue;
    const PreparedElement x = prepare(most(a), how_.model.a_minimum_exponent),
                          y = prepare(most(b), how_.model.b_minimum_exponent);
    if (x.value == 0 || y.value == 0) continue;
    const double size = static_cast<double>(x.value) * y.value;
    const bool known = is_known(a) && is_known(b), signs = sign_is_known(a) && sign_is_known(b);
    const double sign = (a.value < 0) == (b.value < 0) ? 1 : -1;
    for (const double one : {sign * size, -sign * size}) {
      value.push_back(one);
      out.magnitude += size;
      exponent.push_back(static_cast<double>(x.exponent) * y.exponent);
      lowest.push_back(known ? static_cast<double>(x.lowest) * y.lowest : 0);
      if (signs) break;
    }
  }
  BoundModel any = how_.model;
  any.schedule = Schedule::any;
  any.parts = 0;
  out.bound = bound::any_order_bound(any, {value, exponent, lowest});
  return out;
}

Form Forms::Products::value() const {
  if (special_) return special_sum();
  const auto count = static_cast<std::int64_t>(a_.size());
  Form out;
  RunningBound bound;
  if (known_) {
    std::vector<float> a, b;
    for (const Form& one : a_) a.push_back(static_cast<float>(one.value));
    for (const Form& one : b_) b.push_back(static_cast<float>(one.value));
    bound = running_bound(how_.model, a.data(), b.data(), count);
    out.value = bound.sum;
    out.error = bound.sum_error;
  } else {
    bound = in_any_order().bound;
    for (std::size_t p = 0; p < a_.size(); ++p) {
      const double a = a_[p].value, b = b_[p].value;
      const double reach_a = a_[p].reach() + a_[p].error, reach_b = b_[p].reach() + b_[p].error;
      const double error =
          std::fabs(a) * b_[p].error + std::fabs(b) * a_[p].error + a_[p].error * b_[p].error;
      add_exact(out.value, out.error, a * b, error * kSlack);
      out.own += std::fabs(a) * reach_b + std::fabs(b) * reach_a + reach_a * reach_b;
    }
  }
  if (!bound.classes.is_only(ResultClass::finite)) return special_sum();
  out.own = (out.own + bound.error) * kSlack;
  forms_.check(out);
  return out;
}

// The sum of what the products' ranges are, where it need not be finite.
Form Forms::Products::special_sum() const {
  const auto [bound, magnitude] = in_any_order();
  const double lost = bound.error;
  SpanSum total;
  double sum = 0, error = 0;
  for (std::size_t p = 0; p < a_.size(); ++p) {
    total.add(times(span_of(a_[p]), span_of(b_[p])));
    add_exact(sum, error, a_[p].value * b_[p].value,
              a_[p].error != 0 || b_[p].error != 0 ? kInfinity : 0);
  }
  return special(total.total(magnitude > 0 ? lost / magnitude : 0, lost), sum, error);
}

RangedElement ranged(const Form& a) {
  RangedElement out;
  out.exact = {a.value, a.error};
  const Span range = span_of(a);
  if (!range.numbers()) {
    out.range = F32Range::only_nan();
    return out;
  }
  const auto least = [](double x) {
    const auto nearest = static_cast<float>(x);
    return static_cast<double>(nearest) < x ? std::nextafterf(nearest, kFloatInfinity) : nearest;
  };
  if (std::isinf(range.low) || std::isinf(range.high)) {
    out.range = {least(range.low), -least(-range.high), range.nan};
    return out;
  }
  out.range = f32_within(range.low, range.high);
  out.range.nan = range.nan;
  return out;
}

}  // namespace plumbline::text
