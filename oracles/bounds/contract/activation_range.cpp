// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/activation_range.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <utility>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/bounds/contract/attention.h"
#include "oracles/bounds/contract/epilogue_steps.h"
#include "oracles/bounds/contract/f32_errors.h"

namespace plumbline {
namespace {

using bound::kF32Largest, bound::kF32Unit;

constexpr double kTwoUlp = kEx2Error;  // the same statement: 2 ulp off the nearest number
constexpr double kQuotient = (1 + 0x1p-22) * (1 + kF32Unit) - 1;  // q
constexpr double kLost = 0x1p-118;
constexpr double kDoubleError = 0x1p-40;  // of activation_value()

constexpr double gamma(int n) { return n * kF32Unit / (1 - n * kF32Unit); }

// How a smooth activation is computed: the function's relative error, and the roundings of its
// argument.
struct Way {
  bool by_exponential = false;
  double error = 0;
  int roundings = 0;
  Activation function = Activation::none;  // of the step
};

constexpr std::pair<EpilogueStep, Way> kWays[] = {
    // x / sqrt 2, the constant within an ulp
    {EpilogueStep::gelu_erff, {false, kTwoUlp, 6}},
    // five operations and two constants, each within an ulp
    {EpilogueStep::gelu_tanh_tanhf, {false, kTwoUlp, 10}},
    {EpilogueStep::gelu_tanh_tanh_approx, {false, kTanhApproxError, 10}},
    {EpilogueStep::gelu_tanh_expf, {true, kTwoUlp, 10}},
    // and a product with log2 e
    {EpilogueStep::gelu_tanh_ex2_approx, {true, kEx2Error, 13}},
    {EpilogueStep::silu_expf, {true, kTwoUlp, 0}},
    {EpilogueStep::silu_ex2_approx, {true, kEx2Error, 3}},
    {EpilogueStep::silu_tanh_approx, {false, kTanhApproxError, 0}},
};

// None for steps that are no smooth activation.
Way way_of(EpilogueStep step) {
  const auto* const found = std::ranges::find(kWays, step, &std::pair<EpilogueStep, Way>::first);
  if (found == std::end(kWays)) return {};
  Way way = found->second;
  way.function = row_of(step).function;
  return way;
}

// The argument of tanh in gelu_tanh.
double tanh_argument(double x) {
  return std::numbers::sqrt2 * std::numbers::inv_sqrtpi * (x + 0.044715 * x * x * x);
}

// The exponent v of a function written as x / (1 + e^-v).
double exponent_of(Activation function, double x) {
  return function == Activation::silu ? x : 2 * tanh_argument(x);
}

// Where a function is smallest. Its derivative has one zero: written as x s(v), s a sigmoid
// function, it is 0 where -x v' (1 - s) = 1, whose left side falls from infinity to 0 as x rises to
// 0; for gelu where -x is (1 - Phi(-x)) / phi(x), and that ratio falls as -x rises.
double minimum_at(Activation function) {
  return function == Activation::gelu        ? -0.75179152469356446
         : function == Activation::gelu_tanh ? -0.75246142207101626
                                             : -1.2784645427610738;
}

// Absolute and relative to the result.
struct Margin {
  double absolute = 0, relative = 0;
};

// For |x| <= largest.
Margin by_sigmoid(const Way& way, double largest) {
  const bool erf = way.function == Activation::gelu;
  const double v = erf                                ? largest / std::numbers::sqrt2
                   : way.function == Activation::silu ? largest / 2
                                                      : tanh_argument(largest);
  // erf'(0) < 1.1284; tanh'(0) = 1. Slopes are met at an argument that is off itself.
  const double bend = std::min(erf ? 0.484 : 0.448, 1.1284 * v) * (1 + 0x1p-16);
  const double most = std::min(1.0, 1.1284 * v * (1 + 0x1p-16));
  const double off = gamma(way.roundings) * bend + way.error * most;
  const double absolute =
      (1 + gamma(3)) * largest / 2 * (off + kF32Unit * (most + off)) * bound::kSlack;
  return {absolute, gamma(3)};
}

// For x in [low, high].
Margin by_exponential(const Way& way, double low, double high) {
  const double at_low = exponent_of(way.function, low), at_high = exponent_of(way.function, high);
  const double largest = std::min(100.0, std::max(std::fabs(at_low), std::fabs(at_high)));
  const double growth = bound::exp_growth(largest * gamma(way.roundings) + kLost);
  const double power = growth + way.error + growth * way.error;
  const double weight = 1 / (1 + std::exp(at_low)) * bound::kSlack;
  const double least = (1 - kF32Unit) * (1 - power * weight);
  return {0, ((1 + kQuotient) / least - 1) * bound::kSlack};
}

}  // namespace

Activation activation_of(EpilogueStep step) { return row_of(step).function; }

bool is_smooth(Activation function) {
  return function != Activation::none && function != Activation::relu;
}

double activation_value(Activation function, double x) {
  switch (function) {
    case Activation::none:
      break;
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::gelu:
      return x / 2 * std::erfc(-x / std::numbers::sqrt2);
    case Activation::gelu_tanh:
    case Activation::silu:
      return x / (1 + std::exp(-exponent_of(function, x)));
  }
  return x;
}

F32Range activation_range(EpilogueStep step, const F32Range& x) {
  const Way way = way_of(step);
  PLUMB_ASSERT(is_smooth(way.function));
  const bool nan = x.nan || x.low == -kFloatInfinity;
  if (!x.has_numbers() || x.high == -kFloatInfinity) return F32Range::only_nan();
  if (x.low == kFloatInfinity) return {kFloatInfinity, kFloatInfinity, nan};
  if (x.low == 0 && x.high == 0) return {0, 0, nan};
  const double low = std::max(static_cast<double>(x.low), -kF32Largest),
               high = std::min(static_cast<double>(x.high), kF32Largest);
  const double at_low = activation_value(way.function, low),
               at_high = activation_value(way.function, high), minimum = minimum_at(way.function);
  const double least = low <= minimum && minimum <= high ? activation_value(way.function, minimum)
                                                         : std::min(at_low, at_high);
  const double most = std::max(at_low, at_high);
  const Margin error = way.by_exponential
                           ? by_exponential(way, low, high)
                           : by_sigmoid(way, std::max(std::fabs(low), std::fabs(high)));
  const double relative = error.relative + kDoubleError, absolute = error.absolute + kLost;
  const double end = most + std::fabs(most) * relative + absolute;
  F32Range out = f32_within(std::max(least - std::fabs(least) * relative - absolute, -kF32Largest),
                            std::min(end, kF32Largest));
  const bool halved_last = !way.by_exponential && high >= 0x1p127 * (1 - kTanhApproxError);
  if (x.high == kFloatInfinity || end > kF32Largest || halved_last) out.high = kFloatInfinity;
  out.nan = nan;
  return out;
}

}  // namespace plumbline
