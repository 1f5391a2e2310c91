// SPDX-License-Identifier: MIT
#include "oracles/bounds/epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

// The steps a problem needs, in their usual order.
std::vector<EpilogueStep> needed_steps(const EpilogueScalars& scalars) {
  std::vector<EpilogueStep> steps;
  if (scalars.alpha != 1) steps.push_back(EpilogueStep::alpha);
  if (scalars.beta != 0) steps.push_back(EpilogueStep::beta_c);
  if (scalars.has_bias) steps.push_back(EpilogueStep::bias);
  if (scalars.relu) steps.push_back(EpilogueStep::relu);
  return steps;
}

EpilogueStep kind_of(EpilogueStep step) {
  return step == EpilogueStep::beta_c_fma ? EpilogueStep::beta_c : step;
}

// The contract's steps that the problem needs, in the contract's order, with the unnamed ones put
// where they usually are.
std::vector<EpilogueStep> effective_steps(const Contract& contract,
                                          const EpilogueScalars& scalars) {
  const std::vector<EpilogueStep> needed = needed_steps(scalars);
  const auto same_kind = [](EpilogueStep kind) {
    return [kind](EpilogueStep step) { return kind_of(step) == kind; };
  };
  std::vector<EpilogueStep> steps;
  for (const EpilogueStep step : contract.epilogue) {
    if (std::any_of(needed.begin(), needed.end(), same_kind(kind_of(step)))) steps.push_back(step);
  }
  for (const EpilogueStep step : needed) {
    if (std::any_of(steps.begin(), steps.end(), same_kind(step))) continue;
    const auto later = std::find_if(steps.begin(), steps.end(),
                                    [step](EpilogueStep other) { return kind_of(other) > step; });
    steps.insert(later, step);
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

}  // namespace

Epilogue::Epilogue(const Contract& contract, const EpilogueScalars& scalars, FormatId output)
    : alpha_(scalars.alpha),
      beta_(scalars.beta),
      falling_(scalars.alpha < 0),
      options_(contract.output),
      low_options_(contract.output),
      high_options_(contract.output),
      output_(format(output)) {
  for (const EpilogueStep step : effective_steps(contract, scalars)) {
    PLUMB_ASSERT(static_cast<std::size_t>(step_count_) < steps_.size());
    steps_[static_cast<std::size_t>(step_count_++)] = step;
  }
  if (stochastic()) {
    low_options_.rounding = Rounding::down;
    high_options_.rounding = Rounding::up;
  }
  largest_ = to_double(output_, output_.max_finite());
  const int bits = output_.is_integer
                       ? output_.storage_bits - 1
                       : output_.exponent_bits + output_.mantissa_bits + output_.padding_bits;
  sign_mask_ = output_.has_sign ? std::uint64_t{1} << bits : 0;
  magnitude_mask_ = output_.has_sign || !output_.is_integer ? (std::uint64_t{1} << bits) - 1
                                                            : (std::uint64_t{2} << bits) - 1;
}

bool Epilogue::saturates() const {
  return options_.overflow == Overflow::saturate || output_.is_integer ||
         output_.specials == Specials::none;
}

float Epilogue::value(float accumulator, const EpilogueOperands& operands) const {
  float x = accumulator;
  for (int i = 0; i < step_count_; ++i) {
    switch (steps_[static_cast<std::size_t>(i)]) {
      case EpilogueStep::alpha:
        x = alpha_ * x;
        break;
      case EpilogueStep::beta_c:
        x = x + beta_ * operands.c;
        break;
      case EpilogueStep::beta_c_fma:
        x = std::fma(beta_, operands.c, x);
        break;
      case EpilogueStep::bias:
        x = x + operands.bias;
        break;
      case EpilogueStep::relu:
        x = x < 0 ? 0.0f : x;  // NaN stays
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
  return output_.has_nan() && decode(output_, code).cls == ValueClass::nan;
}

bool Epilogue::is_finite(std::uint64_t code) const {
  const ValueClass cls = decode(output_, code).cls;
  return cls == ValueClass::zero || cls == ValueClass::finite;
}

TwoDoubles real_epilogue(const EpilogueScalars& scalars, TwoDoubles y,
                         const EpilogueOperands& operands) {
  TwoDoubles x = scalars.alpha == 1 ? y : times(scalars.alpha, y);
  if (scalars.beta != 0) x = add(x, times(scalars.beta, {static_cast<double>(operands.c), 0}));
  if (scalars.has_bias) x = add(x, {static_cast<double>(operands.bias), 0});
  if (scalars.relu && x.hi + x.lo < 0) x = {};
  return x;
}

}  // namespace plumbline
