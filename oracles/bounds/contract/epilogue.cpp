// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/base/assert.h"
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
  if (step == EpilogueStep::beta_c_fma) return needed == EpilogueStep::beta_c;
  if (step == EpilogueStep::alpha_beta_c_fma)
    return needed == EpilogueStep::alpha || needed == EpilogueStep::beta_c;
  if (step == EpilogueStep::bias_fma) return needed == EpilogueStep::bias;
  if (step == EpilogueStep::scale_ab)
    return needed == EpilogueStep::scale_a || needed == EpilogueStep::scale_b;
  if (activation_of(step) != Activation::none) return activation_of(step) == activation_of(needed);
  return step == needed;
}

// Whether a step is a product and nothing else, so that an addition may be fused with it.
bool multiplies(EpilogueStep step) {
  return step == EpilogueStep::scale_a || step == EpilogueStep::scale_b ||
         step == EpilogueStep::scale_ab || step == EpilogueStep::alpha ||
         step == EpilogueStep::scale_d;
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

TwoDoubles times(float factor, TwoDoubles y) {
  const double f = static_cast<double>(factor);
  const double high = f * y.hi;
  return add({high, std::fma(f, y.hi, -high)}, {f * y.lo, 0});
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
  switch (step) {
    case EpilogueStep::scale_a:
      return operands.scale_a;
    case EpilogueStep::scale_b:
      return operands.scale_b;
    case EpilogueStep::scale_ab:
      return operands.scale_a * operands.scale_b;
    case EpilogueStep::alpha:
    case EpilogueStep::alpha_beta_c_fma:
      return scalars_.alpha;
    case EpilogueStep::scale_d:
      return scalars_.scale_d;
    case EpilogueStep::beta_c:
    case EpilogueStep::beta_c_fma:
    case EpilogueStep::bias:
    case EpilogueStep::bias_fma:
    case EpilogueStep::relu:
    case EpilogueStep::gelu_erff:
    case EpilogueStep::gelu_tanh_tanhf:
    case EpilogueStep::gelu_tanh_tanh_approx:
    case EpilogueStep::gelu_tanh_expf:
    case EpilogueStep::gelu_tanh_ex2_approx:
    case EpilogueStep::silu_expf:
    case EpilogueStep::silu_ex2_approx:
    case EpilogueStep::silu_tanh_approx:
    case EpilogueStep::zero_d:
      break;
  }
  return std::nullopt;
}

// Without beta, a step that does alpha as well leaves C alone.
bool Epilogue::adds_c(EpilogueStep step) const {
  return scalars_.beta != 0 && (step == EpilogueStep::beta_c || step == EpilogueStep::beta_c_fma ||
                                step == EpilogueStep::alpha_beta_c_fma);
}

float Epilogue::apply(std::size_t at, float x, const EpilogueOperands& operands) const {
  const EpilogueStep step = steps_[at];
  if (at + 1 < step_count_ && steps_[at + 1] == EpilogueStep::bias_fma) return x;  // done there
  switch (step) {
    case EpilogueStep::scale_a:
      return x * operands.scale_a;
    case EpilogueStep::scale_b:
      return x * operands.scale_b;
    case EpilogueStep::scale_ab:
      return x * (operands.scale_a * operands.scale_b);
    case EpilogueStep::alpha:
      return scalars_.alpha * x;
    case EpilogueStep::beta_c:
      return x + scalars_.beta * operands.c;
    case EpilogueStep::beta_c_fma:
      return std::fma(scalars_.beta, operands.c, x);
    case EpilogueStep::alpha_beta_c_fma:
      return scalars_.beta == 0 ? scalars_.alpha * x
                                : std::fma(scalars_.alpha, x, scalars_.beta * operands.c);
    case EpilogueStep::bias:
      return x + operands.bias;
    case EpilogueStep::bias_fma:
      return std::fma(*factor(steps_[at - 1], operands), x, operands.bias);
    case EpilogueStep::relu:
      return x < 0 ? 0.0f : x;  // NaN stays
    case EpilogueStep::gelu_erff:
    case EpilogueStep::gelu_tanh_tanhf:
    case EpilogueStep::gelu_tanh_tanh_approx:
    case EpilogueStep::gelu_tanh_expf:
    case EpilogueStep::gelu_tanh_ex2_approx:
    case EpilogueStep::silu_expf:
    case EpilogueStep::silu_ex2_approx:
    case EpilogueStep::silu_tanh_approx:
      return static_cast<float>(activation_value(scalars_.activation, static_cast<double>(x)));
    case EpilogueStep::scale_d:
      return x * scalars_.scale_d;
    case EpilogueStep::zero_d:
      break;
  }
  return std::rint(x) + static_cast<float>(scalars_.zero_d);
}

F32Range Epilogue::kept_or_lost(F32Range x, bool& small) const {
  constexpr float kSmallest = 0x1p-126f;  // may have been rounded up to it
  if (!flushes_ || !x.has_numbers() || x.low > kSmallest || x.high < -kSmallest) return x;
  if (x.low == 0 && x.high == 0) return x;
  small = true;
  return {std::min(x.low, 0.0f), std::max(x.high, 0.0f), x.nan};
}

// Every step but a smooth activation is monotone in x, and the same on the ends of a range.
F32Range Epilogue::apply(std::size_t at, const F32Range& x, const EpilogueOperands& operands,
                         bool& small) const {
  const EpilogueStep step = steps_[at];
  if (at + 1 < step_count_ && steps_[at + 1] == EpilogueStep::bias_fma) return x;  // done there
  const auto of = [&](float value) { return kept_or_lost(F32Range::of(value), small); };
  const auto product = [&](float a, float b) { return kept_or_lost(of(a) * of(b), small); };
  const auto factor_of = [&](EpilogueStep scaling) {
    return scaling == EpilogueStep::scale_ab ? product(operands.scale_a, operands.scale_b)
                                             : of(*factor(scaling, operands));
  };
  switch (step) {
    case EpilogueStep::scale_a:
    case EpilogueStep::scale_b:
    case EpilogueStep::scale_ab:
    case EpilogueStep::alpha:
    case EpilogueStep::scale_d:
      return x * factor_of(step);
    case EpilogueStep::beta_c:
      return x + product(scalars_.beta, operands.c);
    case EpilogueStep::beta_c_fma:
      return fma(of(scalars_.beta), of(operands.c), x);
    case EpilogueStep::alpha_beta_c_fma:
      return scalars_.beta == 0 ? x * of(scalars_.alpha)
                                : fma(of(scalars_.alpha), x, product(scalars_.beta, operands.c));
    case EpilogueStep::bias:
      return x + of(operands.bias);
    case EpilogueStep::bias_fma:
      return fma(factor_of(steps_[at - 1]), x, of(operands.bias));
    case EpilogueStep::relu:
    case EpilogueStep::zero_d:
      return x.has_numbers()
                 ? F32Range{apply(at, x.low, operands), apply(at, x.high, operands), x.nan}
                 : x;
    case EpilogueStep::gelu_erff:
    case EpilogueStep::gelu_tanh_tanhf:
    case EpilogueStep::gelu_tanh_tanh_approx:
    case EpilogueStep::gelu_tanh_expf:
    case EpilogueStep::gelu_tanh_ex2_approx:
    case EpilogueStep::silu_expf:
    case EpilogueStep::silu_ex2_approx:
    case EpilogueStep::silu_tanh_approx:
      break;
  }
  return activation_range(step, x);
}

F32Range Epilogue::follow(F32Range x, const EpilogueOperands& operands, bool& small) const {
  x = kept_or_lost(x, small);
  for (std::size_t at = 0; at < step_count_; ++at)
    x = kept_or_lost(apply(at, x, operands, small), small);
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
  for (std::size_t at = 0; at < step_count_; ++at) x = apply(at, x, operands);
  return x;
}

std::uint64_t Epilogue::trace(float accumulator, const EpilogueOperands& operands) const {
  float x = accumulator;
  std::uint64_t classes = class_number(x);
  for (std::size_t at = 0; at < step_count_; ++at) {
    x = apply(at, x, operands);
    classes = classes * 8 + class_number(x);
  }
  return classes;
}

bool Epilogue::finite(const EpilogueOperands& operands) const {
  for (const EpilogueStep step : steps()) {
    const std::optional<float> by = factor(step, operands);
    if (by && !std::isfinite(*by)) return false;
    if (adds_c(step) && !std::isfinite(scalars_.beta * operands.c)) return false;
    const bool adds_bias = step == EpilogueStep::bias || step == EpilogueStep::bias_fma;
    if (adds_bias && !std::isfinite(operands.bias)) return false;
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
  TwoDoubles x = y;
  for (const EpilogueStep step : steps()) {
    switch (step) {
      case EpilogueStep::scale_a:
      case EpilogueStep::scale_b:
      case EpilogueStep::alpha:
      case EpilogueStep::scale_d:
        x = times(*factor(step, operands), x);
        break;
      case EpilogueStep::scale_ab:
        x = times(operands.scale_b, times(operands.scale_a, x));
        break;
      case EpilogueStep::beta_c:
      case EpilogueStep::beta_c_fma:
        x = add(x, times(scalars_.beta, {static_cast<double>(operands.c), 0}));
        break;
      case EpilogueStep::alpha_beta_c_fma:
        x = times(scalars_.alpha, x);
        if (adds_c(step)) x = add(x, times(scalars_.beta, {static_cast<double>(operands.c), 0}));
        break;
      case EpilogueStep::bias:
      case EpilogueStep::bias_fma:
        x = add(x, {static_cast<double>(operands.bias), 0});
        break;
      case EpilogueStep::relu:
        if (x.hi + x.lo < 0) x = {};
        break;
      case EpilogueStep::gelu_erff:
      case EpilogueStep::gelu_tanh_tanhf:
      case EpilogueStep::gelu_tanh_tanh_approx:
      case EpilogueStep::gelu_tanh_expf:
      case EpilogueStep::gelu_tanh_ex2_approx:
      case EpilogueStep::silu_expf:
      case EpilogueStep::silu_ex2_approx:
      case EpilogueStep::silu_tanh_approx:
        x = {activation_value(scalars_.activation, x.hi + x.lo), 0};
        break;
      case EpilogueStep::zero_d:
        x = add(x, {static_cast<double>(scalars_.zero_d), 0});
        break;
    }
  }
  return x;
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
