// SPDX-License-Identifier: MIT
// Errors of the reference, with u = 2^-53: a dot product of n terms in FP64 is within (n + 1) u of
// the sum of its magnitudes, or exact where they and their common divisor leave no more than 53
// bits. exp is 2^x of our own (oracles/exact/exp2.h), relative to 2^-50; its argument is rounded
// twice on the way to base 2. tanh(y) = 1 - 2 / (1 + e^(2y)): the error of e^(2y) counts at most
// half, (2^-50 + 4 |y| u) (1 - tanh^2) / 2 < 2^-51 + u, and three roundings of numbers up to 2 add
// 4u.
#include "oracles/reference/attention_backward/weights.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "oracles/bounds/contract/attention.h"
#include "oracles/exact/exp2.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

constexpr double kUnit = 0x1p-53;
constexpr double kTanhError = 0x1p-49;  // absolute
constexpr double kLog2E = 0x1.71547652b82fep0;

double tanh_of(double y) {
  const double inside = std::clamp(y, -20.0, 20.0);  // 1 - tanh(20) < 2^-56
  return 1 - 2 / (1 + exp2_of(2 * kLog2E * inside));
}

double dot_error(const VectorSize& a, const VectorSize& b, std::int64_t length) {
  const double magnitude = magnitude_bound(a, b);
  if (magnitude == 0 || magnitude < 0x1p52 * (a.lowest * b.lowest)) return 0;
  return static_cast<double>(length + 1) * kUnit * magnitude * (1 + 0x1p-20);
}

bool exact_sum(double a, double b, double sum) {
  const double part = sum - a;
  return a - (sum - part) == 0 && b - part == 0;
}

// 1 - 2 / (1 + ex2(2 x log2 e)), step by step.
F32Range tanh_range(const F32Range& x) {
  const F32Range one = F32Range::of(1), two = F32Range::of(2);
  return one - two / (one + ex2_approx(x * F32Range::of(static_cast<float>(2 * M_LOG2E))));
}

// Sure to be the same where the factor is 1.
F32Range times(const F32Range& x, float factor) {
  return factor == 1 ? x : x * F32Range::of(factor);
}

// x *= factor, and its error with it.
void multiply(double& x, double& error, float factor) {
  if (factor == 1) return;
  const double before = x, wide = static_cast<double>(factor);
  x *= wide;
  error *= std::fabs(wide);
  if (std::fma(before, wide, -x) != 0) error += kUnit * std::fabs(x);
}

// An f32 accumulator within `drift` of a sum that is within `error` of `sum`.
F32Range accumulator(double sum, double error, double drift) {
  const double reach = (error + drift) * (1 + 0x1p-50);
  return f32_within(sum - reach, sum + reach);
}

// A weight before its rounding to what is stored.
KernelWeight stored(const FormatRounding& round, const F32Range& weight) {
  KernelWeight out;
  const auto low = static_cast<double>(weight.low), high = static_cast<double>(weight.high);
  // Numbers this large may be rounded to infinity.
  const bool overflows = !(low >= -round.largest() && high <= round.largest());
  out.may_overflow = weight.nan || (overflows && !round.saturates());
  if (out.may_overflow) return out;
  out.low = static_cast<float>(round(low));
  out.high = static_cast<float>(round(high));
  return out;
}

}  // namespace

FormatRounding::FormatRounding(FormatId to)
    : smallest_binade_(std::ldexp(1.0, format(to).emin())),
      to_quantum_(std::ldexp(1.5, 52 - format(to).mantissa_bits)),
      largest_(to_double(format(to), format(to).max_finite())),
      saturates_(AttentionBackwardContract::saturates(to)) {}

// Adding 1.5 * 2^52 quanta leaves no room for anything finer than a quantum.
double FormatRounding::operator()(double number) const {
  const double x = std::clamp(number, -2 * largest_, 2 * largest_);
  const double magnitude = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~(1ull << 63));
  const double binade =
      std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) & 0x7ff0000000000000u);
  const double shift = (binade > smallest_binade_ ? binade : smallest_binade_) * to_quantum_;
  const double rounded = (x + shift) - shift;
  return std::clamp(rounded, -largest_, largest_);
}

GradientWeights64::GradientWeights64(const GradientOperands& operands)
    : operands_(operands),
      p_(operands.contract.p),
      ds_(operands.contract.ds),
      score_limits_(operands.models.score, operands.d),
      dp_limits_(operands.models.dp, operands.width_v),
      dp_factor_(operands.scales.dp()),
      p_factor_(std::ldexp(1.0f, operands.contract.p_shift)),
      ds_factor_(operands.scales.ds) {
  const AttentionHead& head = operands.head(0);
  const auto log2e = static_cast<float>(M_LOG2E);
  const bool natural = head.natural_units() || operands.contract.natural_difference;
  c_ = natural ? log2e : head.scale * log2e;
  over_cap_ = head.softcap != 0 ? head.scale / head.softcap : 0;
}

bool GradientWeights64::visible(const GradientPair& at) const {
  const KeyRange visible = operands_.head(at.head).visible(at.i);
  return at.j >= visible.first && at.j < visible.end && operands_.query_of(at.head, at.i).live;
}

double GradientWeights64::score_error(const GradientPair& at) const {
  return dot_error(operands_.q.size[static_cast<std::size_t>(at.head * operands_.padded + at.i)],
                   operands_.k.size[static_cast<std::size_t>(at.j)], operands_.d);
}

double GradientWeights64::dp_error(const GradientPair& at) const {
  return dot_error(operands_.d_o.size[static_cast<std::size_t>(at.head * operands_.padded + at.i)],
                   operands_.v.size[static_cast<std::size_t>(at.j)], operands_.width_v);
}

ReferenceWeight GradientWeights64::reference(GradientOutput output, const GradientPair& at,
                                             const PairProducts& products) const {
  const AttentionHead& head = operands_.head(at.head);
  const GradientQuery& query = operands_.query_of(at.head, at.i);
  const auto scale = static_cast<double>(head.scale);
  double logit = products.score * scale;
  double error = products.score_error * std::fabs(scale);
  bool exact = error == 0 && std::fma(products.score, scale, -logit) == 0;
  error += kUnit * std::fabs(logit);
  double slope = 1, slope_error = 0;
  if (head.softcap != 0) {
    const auto cap = static_cast<double>(head.softcap);
    const double tanh = tanh_of(logit / cap);
    const double argument_error = error / std::fabs(cap) + kUnit * std::fabs(logit / cap);
    exact = exact && logit == 0;
    logit = cap * tanh;
    error = std::fabs(cap) * (argument_error + kTanhError) + kUnit * std::fabs(logit);
    slope = 1 - tanh * tanh;
    slope_error = exact ? 0 : 2 * argument_error + 4 * kTanhError;
  }
  if (!head.bias.empty()) {
    const auto bias =
        static_cast<double>(head.bias[static_cast<std::size_t>(at.i * head.keys + at.j)]);
    if (bias == -std::numeric_limits<double>::infinity()) return {};
    const double sum = logit + bias;
    exact = exact && exact_sum(logit, bias, sum);
    logit = sum;
    error += kUnit * std::fabs(sum);
  }
  const double x = logit - query.lse;
  exact = exact && x == 0;
  error += 3 * kUnit * std::fabs(x);  // the difference, log2 e and the product
  const FormatRounding& round = output == GradientOutput::dv ? p_ : ds_;
  // Nothing is known, but that the rounding saturates; a kernel knows less.
  if (x > 690 || !(error < 0.25)) return {0, round.largest()};
  const double p = exp2_of(x * kLog2E);
  // exp(x + e) = exp(x) (1 + e') with |e'| < 2 |e| for the small ones that matter.
  const double relative = exact ? 0 : 2 * error + kExp2Error;
  double value = p * static_cast<double>(p_factor_), value_error = value * relative;
  if (output != GradientOutput::dv) {
    double dp = products.dp, difference_error = products.dp_error;
    multiply(dp, difference_error, dp_factor_);
    const double difference = dp - query.delta;
    difference_error += query.delta_error;
    if (!exact_sum(dp, -query.delta, difference)) difference_error += kUnit * std::fabs(difference);
    value = p * difference;
    value_error = p * difference_error * (1 + relative) + std::fabs(value) * relative;
    if (!exact || std::fma(p, difference, -value) != 0) value_error += kUnit * std::fabs(value);
    if (head.softcap != 0) {
      const double sloped = value * slope;
      value_error = value_error * (slope + slope_error) + std::fabs(value) * slope_error;
      if (slope != 1) value_error += kUnit * std::fabs(sloped);
      value = sloped;
    }
    multiply(value, value_error, ds_factor_);
  }
  value_error *= 1 + 0x1p-40;
  if (value_error == 0) return {round(value), 0};
  const double low = round(value - value_error), high = round(value + value_error);
  if (low == high) return {low, 0};
  return {round(value), high - low};
}

KernelWeight GradientWeights64::through_the_steps(GradientOutput output, const GradientPair& at,
                                                  const PairProducts& products, double score_drift,
                                                  double dp_drift) const {
  const AttentionHead& head = operands_.head(at.head);
  const GradientQuery& query = operands_.query_of(at.head, at.i);
  const bool takes_difference = operands_.contract.natural_difference;
  F32Range z = accumulator(products.score, products.score_error, score_drift);
  F32Range tanh = F32Range::of(0);
  if (head.softcap != 0) {
    tanh = tanh_range(z * F32Range::of(over_cap_));
    z = tanh * F32Range::of(head.softcap);
  } else if (takes_difference || head.natural_units()) {
    z = z * F32Range::of(head.scale);
  }
  if (!head.bias.empty())
    z = z + F32Range::of(head.bias[static_cast<std::size_t>(at.i * head.keys + at.j)]);
  const F32Range exponent =
      takes_difference ? (z - F32Range::of(static_cast<float>(query.lse))) * F32Range::of(c_)
                       : fma(z, F32Range::of(c_), F32Range::of(-query.kernel_lse));
  F32Range weight = ex2_approx(exponent);
  if (output != GradientOutput::dv) {
    const F32Range dp = times(accumulator(products.dp, products.dp_error, dp_drift), dp_factor_);
    weight = weight * (dp - query.kernel_delta);
    if (head.softcap != 0) {
      // The square of a range around 0 is not negative.
      F32Range square = tanh * tanh;
      if (square.low < 0) square.low = 0;
      weight = weight * (F32Range::of(1) - square);
    }
    return stored(ds_, times(weight, ds_factor_));
  }
  return stored(p_, times(weight, p_factor_));
}

std::optional<KernelWeight> GradientWeights64::kernel_by_sizes(GradientOutput output,
                                                               const GradientPair& at,
                                                               const PairProducts& products) const {
  const auto cheap = [](const APriori& limits, const VectorSize& a, const VectorSize& b) {
    const double magnitude = magnitude_bound(a, b);
    if (limits.surely_exact(magnitude, a.lowest * b.lowest)) return 0.0;
    return limits.cannot_overflow(magnitude) ? limits.error(magnitude)
                                             : std::numeric_limits<double>::infinity();
  };
  const auto row = static_cast<std::size_t>(at.head * operands_.padded + at.i);
  const auto key = static_cast<std::size_t>(at.j);
  const double score_drift = cheap(score_limits_, operands_.q.size[row], operands_.k.size[key]);
  const double dp_drift = output == GradientOutput::dv
                              ? 0
                              : cheap(dp_limits_, operands_.d_o.size[row], operands_.v.size[key]);
  if (!std::isfinite(score_drift) || !std::isfinite(dp_drift)) return std::nullopt;
  const KernelWeight weight = through_the_steps(output, at, products, score_drift, dp_drift);
  if (weight.may_overflow || weight.low != weight.high) return std::nullopt;
  return weight;
}

KernelWeight GradientWeights64::kernel_within(GradientOutput output, const GradientPair& at,
                                              const PairProducts& products,
                                              const RunningBound& score,
                                              const RunningBound& dp) const {
  if (!score.classes.is_only(ResultClass::finite) || !dp.classes.is_only(ResultClass::finite))
    return {0, 0, true};
  return through_the_steps(output, at, products, score.error, dp.error);
}

KernelWeight GradientWeights64::kernel(GradientOutput output, const GradientPair& at,
                                       const PairProducts& products) const {
  if (const auto weight = kernel_by_sizes(output, at, products)) return *weight;
  const std::int64_t row = at.head * operands_.padded + at.i;
  const RunningBound score = running_bound(operands_.models.score, operands_.q.row(row),
                                           operands_.k.row(at.j), operands_.d);
  RunningBound dp;
  if (output != GradientOutput::dv) {
    dp = running_bound(operands_.models.dp, operands_.d_o.row(row), operands_.v.row(at.j),
                       operands_.width_v);
  }
  return kernel_within(output, at, products, score, dp);
}

}  // namespace plumbline
