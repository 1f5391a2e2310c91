// SPDX-License-Identifier: MIT
// The row's sum l, and with it the outputs.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "oracles/base/numbers.h"
#include "oracles/bounds/contract/f32_errors.h"
#include "oracles/bounds/contract/rows.h"
#include "oracles/exact/exp2.h"
#include "oracles/reference/attention/trace.h"

namespace plumbline {

using namespace bound;

namespace {

constexpr double kLn2 = std::numbers::ln2;
constexpr float kLn2Float = 0.6931471805599453f;
constexpr double kLn2Error =
    (kLn2 > kLn2Float ? kLn2 - kLn2Float : kLn2Float - kLn2) / kLn2 + 0x1p-50;

}  // namespace

// Of one term, relative to l.
RowTrace::SumError RowTrace::term_error(const Journey& journey, std::int64_t key, double p,
                                        double logit, double error) const {
  const Step& step = journey.step;
  const Step& last = last_;
  const double share = p * journey.weight / row_.sum * kSlack;
  if (journey.lost) {  // there or not
    const double all = share * (2 + 2 * exp2_growth(c_ * (error + step.error + last.error) + 1));
    return {all, all};
  }
  // Between the steps the same constant is used as in the exponent, with computed maxima.
  const double change =
      (last.maximum - step.maximum + 2 * (step.error + last.error)) * c_ * c_error_;
  const bool rounded = contract_.row_sum == RowSum::rounded && key >= 0;
  if (rounded) {  // P is what it is, but for the ambiguous ones; its tile's maximum moves it
    const double ambiguity = probabilities_.ambiguity[static_cast<std::size_t>(key)] *
                             std::ldexp(1.0, -contract_.p_shift) * journey.weight / row_.sum * 2;
    const double own = exp_growth(kLn2 * change + journey.roundings);
    return {share * (own + exp2_growth(c_ * kSlack * step.error)) + ambiguity,
            share * (own + exp2_growth(c_ * kSlack * (step.error + last.error))) + ambiguity};
  }
  const Exponent framed = exponent(step, logit, error, error),
                 exact = exponent(step, logit, error, error + last.error);
  if (framed.error > 100) {
    // Far below the maximum, as under a mask of -1e9: nothing, however far the exponent is off.
    const double highest = (logit - step.maximum) * c_ + exact.error;
    constexpr double kMoved = 32;  // that the maxima may be off by, in binades
    const bool is_nothing = contract_.exponential_bits == 0 && highest < -127 &&
                            c_ * (step.error + last.error) < kMoved;
    if (!is_nothing) return {kInfinity, kInfinity};
    const double all = 2 * std::ldexp(kEx2Flushed, static_cast<int>(kMoved)) / row_.sum;
    return {all, all};
  }
  const double rest = contract_.exponential_error(framed.zero) + journey.roundings;
  const double most_flushed =
      contract_.exponential_bits > 0 ? kEx2Flushed : std::min(p, kEx2Flushed);
  const double flushed =
      p < 2 * kEx2Flushed ? 2 * most_flushed * journey.weight / row_.sum * kSlack : 0;
  return {share * exp_growth(kLn2 * (framed.error + change) + rest) + flushed,
          share * exp_growth(kLn2 * (exact.error + change) + rest) + flushed};
}

RowTrace::SumError RowTrace::sink_error(const Journey& journey) const {
  const double sink = operands_.sink();
  return term_error(journey, -1, exp2_of((sink - journey.step.maximum) * c_), sink, 0);
}

void RowTrace::find_sum_error() {
  if (const double known = known_sum();
      known > 0 && std::fabs(row_.sum - known) < 0x1p-90 * known) {
    sum_error_.framed = sum_error_.exact = any_flushed_ ? 0x1p-90 : 0;
    power_of_two_ = binade(known) == known;
    return;
  }
  const std::int64_t lanes = contract_.row_sum_lanes;
  const std::int64_t per_lane = (contract_.tile + lanes - 1) / lanes;
  const auto add = [&](const SumError& term) {
    sum_error_.framed += term.framed;
    sum_error_.exact += term.exact;
  };
  // From the last step of each part back: what happens after the step at hand.
  double factors = 0, additions = 0, rounding = 0, skew = 0;
  bool lost = false;
  const auto pass = [&](const ValueFactor& factor, const Step& from, const Step& to) {
    factors += 1;
    const double change = ((to.maximum - from.maximum) + to.error + from.error) * c_ * kSlack;
    rounding += factor_rounding(from, to, change);
    lost = lost || factor.factor_error >= 1;
  };
  if (adds_sink_at_end()) {  // to one lane, or after these are joined
    Journey journey{last_};
    journey.roundings = contract_.parts > 1 ? kF32Unit : static_cast<double>(lanes) * kF32Unit;
    add(sink_error(journey));
  }
  for (std::size_t t = steps_.size(); t-- > 0;) {
    const Step& step = steps_[t];
    if (step.ends) {
      factors = rounding = 0;
      lost = false;
      // Lanes, then all other parts and the sink.
      additions = static_cast<double>(
          lanes - 1 + (adds_sink_at_end() || contract_.parts > 1 ? contract_.parts : 0));
      if (tiles_[t].join && tiles_[t].join->rescaled) pass(*tiles_[t].join, step, last_);
    }
    const double within =
        static_cast<double>(std::clamp<std::int64_t>(step.end - step.first, 1, per_lane) - 1);
    Journey journey{step};
    journey.weight = exp2_of((step.maximum - row_.maximum) * c_);
    journey.roundings = factors * (kEx2Error + kF32Unit) +
                        (within + additions + (step.begins ? 0 : 1)) * kF32Unit + kLn2 * rounding;
    journey.lost = lost;
    if (factors > 0) skew = std::max(skew, step.error);
    if (step.first == step.end && !adds_sink_at_end()) add(sink_error(journey));
    const std::vector<double>& terms =
        contract_.row_sum == RowSum::rounded ? detail_.rounded : detail_.probabilities;
    for (std::int64_t j = step.first; j < step.end; ++j) {
      if (detail_.logits[at(j)] != -kInfinity)
        add(term_error(journey, j, terms[at(j)], detail_.logits[at(j)], errors_[at(j)]));
    }
    additions += contract_.row_sum_start == RowSumStart::sum ? within + 1 : 1;
    if (!tiles_[t].before.rescaled) continue;
    pass(tiles_[t].before, steps_[t - 1], step);  // the first step of a part rescales nothing
  }
  if (contract_.subnormals_flushed) {  // l and what it is multiplied by are 1 at least once
    const double flushed = static_cast<double>(steps_.size()) * 4 * kEx2Flushed;
    sum_error_.framed += flushed;
    sum_error_.exact += flushed;
  }
  if (contract_.exponential_bits > 0) {  // far keys, which are not 0
    const double far = static_cast<double>(head_.keys) * 2 * kEx2Flushed;
    sum_error_.framed += far;
    sum_error_.exact += far;
  }
  sum_error_.framed *= kSlack;
  sum_error_.exact *= kSlack;
  last_skew_ = exp2_growth(c_ * kSlack * (last_.error + skew));
}

// l where the contract leaves no choice: all terms and factors are exactly 1 or 0. Else 0.
double RowTrace::known_sum() {
  if (contract_.exponential_bits > 0) return 0;
  double all = 0, ones = 0;  // of the parts that are done, and of this one
  const auto add = [&](const Step& step, double logit, double error) {
    const Exponent x = exponent(step, logit, error, error);
    if ((logit - step.maximum) * c_ + x.error < -127) {
      any_flushed_ = true;
      return true;
    }
    ones += 1;
    return x.zero && x.error == 0;
  };
  // Whether the factor is 0 or 1.
  const auto multiply = [&](const ValueFactor& factor) {
    if (!factor.rescaled) return true;
    if (!factor.cleared) return false;
    ones = 0;
    any_flushed_ = true;
    return true;
  };
  for (std::size_t t = 0; t < steps_.size(); ++t) {
    const Step& step = steps_[t];
    if (!step.known || !multiply(tiles_[t].before)) return 0;
    for (std::int64_t j = step.first; j < step.end; ++j) {
      const double logit = detail_.logits[at(j)];
      if (logit != -kInfinity && !add(step, logit, errors_[at(j)])) return 0;
    }
    const bool adds_sink = step.first == step.end && !adds_sink_at_end();
    if (adds_sink && !add(step, operands_.sink(), 0)) return 0;
    if (!tiles_[t].join) continue;
    if (!multiply(*tiles_[t].join)) return 0;
    all += ones;
    ones = 0;
  }
  if (adds_sink_at_end() && (!last_.known || !add(last_, operands_.sink(), 0))) return 0;
  all += ones;
  return all <= 0x1p24 ? all : 0;
}

// What the factor of O may be off by: 1 / l and V's scale are one rounding each. Where l is divided
// by, the quotient is rounded once more when a scale follows.
double RowTrace::factor_error() const {
  const bool scaled = binade(operands_.v_scale()) != operands_.v_scale();
  if (contract_.normalization == Normalization::quotient) return scaled ? kF32Unit : 0;
  if (contract_.normalization == Normalization::div_full)
    return (kDivFullError + (scaled ? kF32Unit : 0)) * (1 + kF32Unit);
  if (contract_.normalization == Normalization::rcp_approx)
    return (kRcpError + (scaled ? kF32Unit : 0)) * (1 + kF32Unit);
  if (power_of_two_) return 0;
  return scaled ? 2 * kF32Unit * (1 + kF32Unit) : kF32Unit;
}

// How far the argument of ex2 may be from 0 where z is the maximum m itself: fma(z, c, -fl(m c)) is
// what rounding took from m c.
double RowTrace::overshoot() const {
  if (contract_.exact_at_maximum()) return 0;
  double most = last_.base_rounding;
  for (const Step& step : steps_) most = std::max(most, step.base_rounding);
  return most;
}

// The error of O before its last rounding.
double RowTrace::output_error(const ValueBound& value, double o, double largest) const {
  // p, and with it l, is at least 2^-lift where the maximum is, and at most 2^rise anywhere. Both
  // have to be far from the ends of f32; else l may be 0 or Inf. So has P from those of its format:
  // in f16 it is Inf from 2^16 on.
  const Format& p = format(contract_.p);
  const double limit = p.has_infinity() ? std::min(100, p.emax() - contract_.p_shift) : 100;
  if (!(rise_ < limit)) return kInfinity;
  // Then, for all errors, O is a mean of values with weights P / p: at most 1 and P's relative
  // error, and for every key half of the smallest subnormal number of P, relative to l.
  const double coarse = (p.mantissa_bits >= 7 ? 0 : std::ldexp(1.0, -p.precision())) +
                        static_cast<double>(head_.keys) *
                            std::exp2(p.emin() - p.mantissa_bits - contract_.p_shift + lift_);
  const double mean = std::fabs(o) + largest * (1 + 0x1p-5 + coarse);
  if (hopeless_) {
    const double reach = mean * static_cast<double>(head_.keys) * std::exp2(rise_);
    return reach < kFarFromOverflow ? mean : kInfinity;
  }
  const double scale = std::ldexp(operands_.v_scale(), -contract_.p_shift);
  // |O|. In double `o` may have lost all of it: values of a tile that cancel leave those of tiles
  // far below.
  const double size = (std::fabs(value.sum) + value.drift) * scale / row_.sum * kSlack;
  const double wider = 1 + exp2_growth(2 * c_ * kSlack * worst_maximum_);
  const double factor = factor_error();
  const auto through = [&](double maxima, double sum_error) {
    if (!(sum_error < 0.5)) return kInfinity;
    const double numerator = (value.drift + maxima) * scale * wider / row_.sum;
    double error = (numerator + size * sum_error) / (1 - sum_error) * kSlack;
    if (factor > 0) error = (error + factor * (size + error)) * kSlack;
    if (contract_.normalization == Normalization::div_full) error += 0x1p-148 * scale;
    // O and its factors, rescaled in every step, and at the end.
    if (contract_.subnormals_flushed)
      error += static_cast<double>(steps_.size() + 2) * 2 * kEx2Flushed * std::max(1.0, scale);
    return error;
  };
  // Two ways to count the choice of maxima: relative to the computed final maximum every tile's
  // own maximum matters, relative to the exact one only what was rescaled, and the logits' errors
  // count twice.
  const double error = std::min(through(value.framed, sum_error_.framed),
                                through(value.skewed * last_skew_, sum_error_.exact));
  if (!(value.reach < kFarFromOverflow)) return kInfinity;
  // A far key is not 0 where a polynomial stays above 2^-127.
  const double far = contract_.exponential_bits > 0
                         ? static_cast<double>(head_.keys) * 2 * kEx2Flushed * largest * kSlack
                         : 0;
  return std::min(error, mean) + far;
}

// r + lg2(l) before it is rounded, with l relative to the computed maximum.
double RowTrace::base_2_error(double log_error) const {
  const double maximum = row_.maximum * c_, log2_sum = std::log2(row_.sum);
  double error = last_.base_rounding + (std::fabs(maximum) + c_ * last_.error) * c_error_;
  error += log_error / kLn2;
  error += kLg2AbsoluteError * std::max(1.0, std::fabs(log2_sum) + log_error / kLn2);
  return contract_.subnormals_flushed ? error + 4 * kEx2Flushed : error;
}

// Of m + ln l, m in natural units, however far the logits are off. The largest computed one has
// p = 2^-lift at least and is not rescaled, none has more than 2^rise, and no factor is above 1.
// The exact l is at least 1, and at most the number of its terms times 2^(rise - lift).
double RowTrace::distant_log_error() const {
  const double largest = c_ * (std::fabs(row_.maximum) + last_.error) * (1 + c_error_);
  if (!(c_ >= 0 && largest < kFarFromOverflow)) return kInfinity;
  const auto terms =
      static_cast<double>(row_.keys.end - row_.keys.first + (head_.has_sink ? 1 : 0));
  const double factors = static_cast<double>(steps_.size() + 1);
  const double additions = terms + factors + static_cast<double>(contract_.row_sum_lanes);
  const double of_p = contract_.exponential_error();
  double least = std::exp2(-lift_) * (1 - of_p), most = std::exp2(rise_) * (1 + of_p);
  if (contract_.row_sum == RowSum::rounded) {  // but for a sink
    least = std::min(least, operands_.rounding()(least));
    most = std::max(most, operands_.rounding()(most));
  }
  if (!(least > 0)) return kInfinity;
  most *= 1 + exp_growth(factors * (kEx2Error + kF32Unit) + additions * kF32Unit);
  const double of_sum =
      std::log(terms) + std::max(std::log(most), (rise_ - lift_) * kLn2 - std::log(least));
  return (kLn2 * c_ * last_.error + of_sum) * kSlack;
}

double RowTrace::lse_error() const {
  if (!(rise_ < 100)) return kInfinity;  // some tile's p, and with it l, may have been infinite
  const double theta = sum_error_.framed;
  const bool near = !hopeless_ && theta < 0.5;
  const double log_error = near ? theta / (1 - theta) : distant_log_error();
  if (!std::isfinite(log_error)) return kInfinity;
  if (head_.lse_in_base_2) return (base_2_error(log_error) + 0x1p-149) * kSlack;
  return contract_.sums_lse_in_base_2() ? from_base_2_error(log_error)
                                        : natural_lse_error(log_error);
}

// fl(fl(r + lg2(l)) * fl(ln 2))
double RowTrace::from_base_2_error(double log_error) const {
  const double maximum = row_.maximum * c_, log2_sum = std::log2(row_.sum);
  double error = base_2_error(log_error);
  error += half_ulp(maximum + log2_sum, error + c_ * last_.error);
  const double largest = std::fabs(maximum + log2_sum) + error + c_ * last_.error;
  return ((error + largest * kLn2Error) * kLn2 * (1 + 4 * kF32Unit) + 0x1p-149) * kSlack;
}

// fl(fl(m * scale) + fl(lg2(l) * fl(ln 2)))
double RowTrace::natural_lse_error(double of_log) const {
  const double natural = operands_.to_natural();
  const double log_sum = std::fabs(std::log(row_.sum));
  double head = 0;
  if (cap_in_c_) {  // cap * t
    if (!knows(row_.maximum, last_.error)) head = half_ulp(row_.maximum, last_.error);
  } else if (!head_.natural_units()) {
    const double product = row_.maximum * natural, error = natural * last_.error;
    if (error > 0 || !is_f32(product)) head = half_ulp(product, error);
  }
  const double log2_sum = (log_sum + of_log) / kLn2;
  double tail = kLg2AbsoluteError * std::max(1.0, log2_sum) * kLn2;
  tail = (tail + (log_sum + of_log) * (kLn2Error + kF32Unit)) * (1 + 4 * kF32Unit);
  if (contract_.subnormals_flushed) tail += 4 * kEx2Flushed;
  return (of_log + head + tail + 0x1p-149) * kSlack;
}

}  // namespace plumbline
