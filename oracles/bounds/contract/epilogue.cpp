// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/base/assert.h"
#include "oracles/bounds/contract/epilogue_steps.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

// What stands for an activation among the steps a problem needs.
EpilogueStep step_for(Activation function) {
  return function == Activation::relu        ? EpilogueStep::relu
         : function == Activation::gelu      ? EpilogueStep::gelu_erff
         : function == Activation::gelu_tanh ? EpilogueStep::gelu_tanh_tanhf
                                             : EpilogueStep::silu_expf;
}

// The steps a problem needs, in their usual order.
std::vector<EpilogueStep> needed_steps(const EpilogueScalars& scalars) {
  std::vector<EpilogueStep> steps;
  if (scalars.has_scale_a) steps.push_back(EpilogueStep::scale_a);
  if (scalars.has_scale_b) steps.push_back(EpilogueStep::scale_b);
  if (scalars.alpha != 1) steps.push_back(EpilogueStep::alpha);
  if (scalars.beta != 0) steps.push_back(EpilogueStep::beta_c);
  if (scalars.has_bias) steps.push_back(EpilogueStep::bias);
  if (scalars.activation != Activation::none) steps.push_back(step_for(scalars.activation));
  if (scalars.has_scale_d) steps.push_back(EpilogueStep::scale_d);
  if (scalars.zero_d != 0) steps.push_back(EpilogueStep::zero_d);
  return steps;
}

// Whether a step of a contract does what a problem needs.
bool does(EpilogueStep step, EpilogueStep needed) {
  const EpilogueStepRow &has = row_of(step), &need = row_of(needed);
  if (need.function != Activation::none) return has.function == need.function;
  if (need.addend != StepAddend::none) return has.addend == need.addend;
  const bool is_of_both =
      has.factor == StepFactor::scale_ab &&
      (need.factor == StepFactor::scale_a || need.factor == StepFactor::scale_b);
  return is_of_both || has.factor == need.factor;
}

// Whether a step is a product and nothing else, so that an addition may be fused with it.
bool multiplies(EpilogueStep step) {
  return row_of(step).factor != StepFactor::none && row_of(step).addend == StepAddend::none;
}

// The contract's steps that the problem needs, in the contract's order, with the unnamed ones put
// where they usually are.
std::vector<EpilogueStep> effective_steps(const Contract& contract,
                                          const EpilogueScalars& scalars) {
  const std::vector<EpilogueStep> needed = needed_steps(scalars);
  std::vector<EpilogueStep> steps;
  for (const EpilogueStep step : contract.epilogue) {
    if (std::any_of(needed.begin(), needed.end(),
                    [step](EpilogueStep need) { return does(step, need); })) {
      steps.push_back(step);
    }
  }
  for (const EpilogueStep need : needed) {
    if (std::any_of(steps.begin(), steps.end(),
                    [need](EpilogueStep step) { return does(step, need); })) {
      continue;
    }
    const auto later = std::find_if(steps.begin(), steps.end(),
                                    [need](EpilogueStep other) { return other > need; });
    steps.insert(later, need);
  }
  return steps;
}

struct ExactSum {
  double sum, error;
};

ExactSum two_sum(double a, double b) {
  const double sum = a + b, b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

TwoDoubles add(TwoDoubles x, TwoDoubles y) {
  const ExactSum high = two_sum(x.hi, y.hi), low = two_sum(x.lo, y.lo);
  ExactSum first = two_sum(high.sum, high.error + low.sum);
  first = two_sum(first.sum, first.error + low.error);
  return {first.sum, first.error};
}

TwoDoubles times(double factor, TwoDoubles y) {
  const double high = factor * y.hi;
  return add({high, std::fma(factor, y.hi, -high)}, {factor * y.lo, 0});
}

// NaN, -Inf, negative, zero, positive, +Inf.
std::uint64_t class_number(float x) {
  if (std::isnan(x)) return 0;
  if (std::isinf(x)) return x < 0 ? 1 : 5;
  return x < 0 ? 2 : x == 0 ? 3 : 4;
}

}  // namespace

Epilogue::Epilogue(const Contract& contract, const EpilogueScalars& scalars, FormatId output)
    : scalars_(scalars),
      options_(contract.output),
      low_options_(contract.output),
      high_options_(contract.output),
      flushes_(contract.subnormals_flushed),
      output_(format(output)) {
  for (EpilogueStep step : effective_steps(contract, scalars)) {
    PLUMB_ASSERT(step_count_ < steps_.size());
    if (step == EpilogueStep::bias_fma &&
        (step_count_ == 0 || !multiplies(steps_[step_count_ - 1])))
      step = EpilogueStep::bias;
    steps_[step_count_++] = step;
  }
  if (stochastic()) {
    low_options_.rounding = Rounding::down;
    high_options_.rounding = Rounding::up;
  }
  largest_ = to_double(output_, output_.max_finite());
  lowest_ = !output_.has_sign ? 0 : output_.is_integer ? -largest_ - 1 : -largest_;
  const int bits = output_.is_integer
                       ? output_.storage_bits - 1
                       : output_.exponent_bits + output_.mantissa_bits + output_.padding_bits;
  sign_mask_ = output_.has_sign ? std::uint64_t{1} << bits : 0;
  magnitude_mask_ = output_.has_sign || !output_.is_integer ? (std::uint64_t{1} << bits) - 1
                                                            : (std::uint64_t{2} << bits) - 1;
  // Padding says nothing; integers are all numbers.
  const std::uint64_t padding = (std::uint64_t{1} << output_.padding_bits) - 1;
  largest_finite_ =
      output_.specials == Specials::none ? ~std::uint64_t{0} : output_.max_finite() | padding;
  largest_number_ =
      largest_finite_ + (output_.has_infinity() ? std::uint64_t{1} << output_.padding_bits : 0);
}

bool Epilogue::saturates() const {
  return options_.overflow == Overflow::saturate || output_.is_integer ||
         output_.specials == Specials::none;
}

std::optional<float> Epilogue::factor(EpilogueStep step, const EpilogueOperands& operands) const {
  switch (row_of(step).factor) {
    case StepFactor::none:
      break;
    case StepFactor::scale_a:
      return operands.scale_a;
    case StepFactor::scale_b:
      return operands.scale_b;
    case StepFactor::scale_ab:
      return operands.scale_a * operands.scale_b;
    case StepFactor::alpha:
      return scalars_.alpha;
    case StepFactor::scale_d:
      return scalars_.scale_d;
  }
  return std::nullopt;
}

// Without beta, a step that does alpha as well leaves C alone.
bool Epilogue::adds_c(EpilogueStep step) const {
  return scalars_.beta != 0 && row_of(step).addend == StepAddend::beta_c;
}

// Step `at` in some arithmetic: of f32 numbers, of ranges of them, of real numbers.
template <typename Arithmetic>
typename Arithmetic::Number Epilogue::apply(std::size_t at, typename Arithmetic::Number x,
                                            const EpilogueOperands& operands,
                                            const Arithmetic& in) const {
  const EpilogueStepRow& row = row_of(steps_[at]);
  const bool is_fused_with_next =
      Arithmetic::kFuses && at + 1 < step_count_ && steps_[at + 1] == EpilogueStep::bias_fma;
  if (is_fused_with_next) return x;
  if (row.function == Activation::relu)
    return in.monotone(x, [keeps_nan = row.step == EpilogueStep::relu](auto y) {
      return y < 0 || (!keeps_nan && y != y) ? decltype(y)(0) : y;
    });
  if (row.function != Activation::none) return in.activation(row.step, x);
  const auto times_factor_of = [&](EpilogueStep step) {
    return step == EpilogueStep::scale_ab ? in.product(operands.scale_a, operands.scale_b)
                                          : in.of(*factor(step, operands));
  };
  switch (row.addend) {
    case StepAddend::none:
      return in.times(times_factor_of(row.step), x);
    case StepAddend::bias:
      return Arithmetic::kFuses && row.fused
                 ? in.fma(times_factor_of(steps_[at - 1]), x, in.of(operands.bias))
                 : in.plus(x, in.of(operands.bias));
    case StepAddend::beta_c:
      if (!adds_c(row.step)) return in.times(times_factor_of(row.step), x);
      if (row.factor != StepFactor::none)
        return in.fma(times_factor_of(row.step), x, in.product(scalars_.beta, operands.c));
      return row.fused ? in.fma_of(scalars_.beta, operands.c, x)
                       : in.plus(x, in.product(scalars_.beta, operands.c));
    case StepAddend::zero_d:
      break;
  }
  return in.requantized(x, scalars_.zero_d);
}

namespace {

struct InF32 {
  using Number = float;
  static constexpr bool kFuses = true;
  Activation function;

  static float of(float x) { return x; }

  static float product(float a, float b) { return a * b; }

  static float times(float factor, float x) { return factor * x; }

  static float plus(float x, float y) { return x + y; }

  static float fma(float factor, float x, float y) { return std::fma(factor, x, y); }

  static float fma_of(float a, float b, float x) { return std::fma(a, b, x); }

  template <typename Function>
  static float monotone(float x, const Function& f) {
    return f(x);
  }

  float activation(EpilogueStep, float x) const {
    return static_cast<float>(activation_value(function, static_cast<double>(x)));
  }

  static float requantized(float x, std::int64_t zero) {
    return std::rint(x) + static_cast<float>(zero);
  }
};

// To about 2^-100: products of two f32 numbers are doubles.
struct InReals {
  using Number = TwoDoubles;
  static constexpr bool kFuses = false;
  Activation function;

  static double of(float x) { return static_cast<double>(x); }

  static double product(float a, float b) { return of(a) * of(b); }

  static TwoDoubles times(double factor, TwoDoubles x) { return plumbline::times(factor, x); }

  static TwoDoubles plus(TwoDoubles x, double y) { return add(x, {y, 0}); }

  static TwoDoubles fma(double factor, TwoDoubles x, double y) { return plus(times(factor, x), y); }

  static TwoDoubles fma_of(float a, float b, TwoDoubles x) { return plus(x, product(a, b)); }

  template <typename Function>
  static TwoDoubles monotone(TwoDoubles x, const Function&) {
    return x.hi + x.lo < 0 ? TwoDoubles{} : x;
  }

  TwoDoubles activation(EpilogueStep, TwoDoubles x) const {
    return {activation_value(function, x.hi + x.lo), 0};
  }

  static TwoDoubles requantized(TwoDoubles x, std::int64_t zero) {
    return plus(x, static_cast<double>(zero));
  }
};

}  // namespace

F32Range Epilogue::kept_or_lost(F32Range x, bool& small) const {
  constexpr float kSmallest = 0x1p-126f;  // may have been rounded up to it
  if (!flushes_ || !x.has_numbers() || x.low > kSmallest || x.high < -kSmallest) return x;
  if (x.low == 0 && x.high == 0) return x;
  small = true;
  return {std::min(x.low, 0.0f), std::max(x.high, 0.0f), x.nan};
}

// Every step but a smooth activation is monotone in x, and the same on the ends of a range. `small`
// is set where a number may count as 0 or not.
struct Epilogue::InRanges {
  using Number = F32Range;
  static constexpr bool kFuses = true;
  const Epilogue& epilogue;
  bool& small;

  F32Range of(float x) const { return epilogue.kept_or_lost(F32Range::of(x), small); }

  F32Range product(float a, float b) const { return epilogue.kept_or_lost(of(a) * of(b), small); }

  static F32Range times(const F32Range& factor, const F32Range& x) { return x * factor; }

  static F32Range plus(const F32Range& x, const F32Range& y) { return x + y; }

  static F32Range fma(const F32Range& factor, const F32Range& x, const F32Range& y) {
    return plumbline::fma(factor, x, y);
  }

  F32Range fma_of(float a, float b, const F32Range& x) const {
    return plumbline::fma(of(a), of(b), x);
  }

  template <typename Function>
  static F32Range monotone(const F32Range& x, const Function& f) {
    return x.has_numbers() ? F32Range{f(x.low), f(x.high), x.nan} : x;
  }

  static F32Range activation(EpilogueStep step, const F32Range& x) {
    return activation_range(step, x);
  }

  static F32Range requantized(const F32Range& x, std::int64_t zero) {
    return monotone(x, [zero](float y) { return InF32::requantized(y, zero); });
  }
};

F32Range Epilogue::follow(F32Range x, const EpilogueOperands& operands, bool& small) const {
  x = kept_or_lost(x, small);
  for (std::size_t at = 0; at < step_count_; ++at)
    x = kept_or_lost(apply(at, x, operands, InRanges{*this, small}), small);
  return x;
}

F32Range Epilogue::range(const F32Range& accumulator, const EpilogueOperands& operands) const {
  bool small = false;
  return follow(accumulator, operands, small);
}

bool Epilogue::uncertain(const F32Range& accumulator, const EpilogueOperands& operands) const {
  bool small = false;
  if (!uncertain() && flushes_) follow(accumulator, operands, small);
  return uncertain() || small;
}

float Epilogue::value(float accumulator, const EpilogueOperands& operands) const {
  float x = accumulator;
  const InF32 in{scalars_.activation};
  for (std::size_t at = 0; at < step_count_; ++at) x = apply(at, x, operands, in);
  return x;
}

std::uint64_t Epilogue::trace(float accumulator, const EpilogueOperands& operands) const {
  float x = accumulator;
  std::uint64_t classes = class_number(x);
  const InF32 in{scalars_.activation};
  for (std::size_t at = 0; at < step_count_; ++at) {
    x = apply(at, x, operands, in);
    classes = classes * 8 + class_number(x);
  }
  return classes;
}

bool Epilogue::finite(const EpilogueOperands& operands) const {
  for (const EpilogueStep step : steps()) {
    const std::optional<float> by = factor(step, operands);
    if (by && !std::isfinite(*by)) return false;
    if (adds_c(step) && !std::isfinite(scalars_.beta * operands.c)) return false;
    if (row_of(step).addend == StepAddend::bias && !std::isfinite(operands.bias)) return false;
  }
  return true;
}

bool Epilogue::regular(const EpilogueOperands& operands) const {
  if (!finite(operands)) return false;
  return std::none_of(steps().begin(), steps().end(), [&](EpilogueStep step) {
    const std::optional<float> by = factor(step, operands);
    return by && *by == 0;
  });
}

bool Epilogue::falling(const EpilogueOperands& operands) const {
  bool falls = false;
  for (const EpilogueStep step : steps()) {
    const std::optional<float> by = factor(step, operands);
    if (by && *by < 0) falls = !falls;
  }
  return falls;
}

TwoDoubles Epilogue::real(TwoDoubles y, const EpilogueOperands& operands) const {
  const InReals in{scalars_.activation};
  for (std::size_t at = 0; at < step_count_; ++at) y = apply(at, y, operands, in);
  return y;
}

std::uint64_t Epilogue::low_code(float x) const {
  return encode(output_, static_cast<double>(x), low_options_);
}

std::uint64_t Epilogue::high_code(float x) const {
  return encode(output_, static_cast<double>(x), high_options_);
}

std::int64_t Epilogue::order_of(std::uint64_t code) const {
  if (output_.is_integer) {  // two's complement
    const auto raw = static_cast<std::int64_t>(code & (magnitude_mask_ | sign_mask_));
    return (code & sign_mask_) != 0 ? raw - 2 * static_cast<std::int64_t>(sign_mask_) : raw;
  }
  const auto magnitude = static_cast<std::int64_t>(code & magnitude_mask_);
  return (code & sign_mask_) != 0 ? -magnitude : magnitude;
}

std::int64_t Epilogue::order_of(std::uint64_t code, float x) const {
  if (!is_nan(code)) return order_of(code);
  constexpr std::int64_t kBeyond = std::numeric_limits<std::int64_t>::max() / 2;
  return std::signbit(x) ? -kBeyond : kBeyond;
}

bool Epilogue::is_nan(std::uint64_t code) const {
  return (code & magnitude_mask_) > largest_number_;
}

bool Epilogue::is_finite(std::uint64_t code) const {
  return (code & magnitude_mask_) <= largest_finite_;
}

}  // namespace plumbline
