// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/trace.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "oracles/base/numbers.h"
#include "oracles/bounds/contract/f32_errors.h"
#include "oracles/exact/exp2.h"

namespace plumbline {

using namespace bound;

namespace {

// Errors of maxima in base 2 beyond which nothing below would be of use.
constexpr double kHopeless = 64;

// Of c; a scale of 0 is exact.
double relative_error(double computed, double exact) {
  return exact == 0 ? 0 : std::fabs(computed / exact - 1);
}

}  // namespace

RowTrace::RowTrace(const AttentionOperands& operands, const DetailedRow& detail)
    : operands_(operands),
      head_(operands.head()),
      contract_(operands.contract()),
      detail_(detail),
      row_(detail.row),
      c_(operands.to_base_2()),
      cap_in_c_(head_.softcap != 0 && contract_.tanh == Tanh::approx),
      c_float_(contract_.to_base_2(cap_in_c_               ? head_.softcap
                                   : head_.natural_units() ? 1.0F
                                                           : head_.scale)),
      c_error_(relative_error(static_cast<double>(c_float_),
                              c_ * (cap_in_c_ ? static_cast<double>(head_.softcap) : 1)) +
               0x1p-50),
      errors_(detail.logits.size(), 0) {}

void RowTrace::run() {
  find_steps();
  probabilities_.assign(head_.keys);
  lift_ = overshoot();
  rise_ = lift_ + contract_.rescale_threshold * kSlack;
  hopeless_ = !(c_ * worst_maximum_ < kHopeless);
  if (hopeless_) {
    undecided_.clear();  // with every decision the mean of the values bounds O
    return;
  }
  for (std::size_t t = 0; t < steps_.size(); ++t) add_tile(t);
  find_sum_error();
}

bool RowTrace::has_sink() const { return head_.has_sink && std::isfinite(operands_.sink()); }

bool RowTrace::adds_sink_at_end() const {
  return has_sink() && (contract_.parts > 1 || contract_.sink_step == SinkStep::maximum_first);
}

void RowTrace::find_steps() {
  const std::int64_t part = operands_.part_keys();
  if (has_sink() && contract_.begins_with_sink()) {
    const double sink = operands_.sink();
    Step step;
    step.first = step.end = row_.keys.first;
    step.maximum = sink;
    add_step(step, true, sink, sink);
  }
  for (const SurveyedTile& tile : row_.tiles) {
    double low = -kInfinity, high = -kInfinity;
    for (std::int64_t j = tile.first; j < tile.end; ++j) {
      const double logit = detail_.logits[at(j)];
      if (logit == -kInfinity) continue;
      low = std::max(low, logit - errors_[at(j)]);
      high = std::max(high, logit + errors_[at(j)]);
    }
    const bool begins = steps_.empty() || tile.first / part != steps_.back().first / part;
    Step step;
    step.first = tile.first;
    step.end = tile.end;
    step.holders = tile.holders;
    step.maximum = tile.maximum;
    add_step(step, begins, low, high);
  }
  find_last();
}

// low, high: of the largest computed logit among the step's keys.
void RowTrace::add_step(Step step, bool begins, double low, double high) {
  step.begins = begins;
  step.low = low;
  step.high = high;
  step.moves = true;
  if (!begins) {
    const Step& before = steps_.back();
    const bool threshold = contract_.rescale_threshold > 0;
    step.moves = threshold ? step.maximum != before.maximum : !(high <= before.low);
    if (threshold && may_decide_otherwise(before, step, low, high))
      undecided_.push_back(steps_.size());
    if (!threshold || !step.moves) {
      step.low = threshold ? before.low : std::max(before.low, low);
      step.high = threshold ? before.high : std::max(before.high, high);
    }
  }
  finish_step(step);
  steps_.push_back(step);
}

// low, high: as above. Whether the rise that a kernel computes may be on the other side of the
// threshold than the row says.
bool RowTrace::may_decide_otherwise(const Step& before, const Step& step, double low,
                                    double high) const {
  const double least = (low - before.high) * c_, most = (high - before.low) * c_;
  const double size = std::max(std::fabs(least), std::fabs(most));
  Step next;  // what the maximum is rounded to where products are rounded first
  next.maximum = high;
  next.low = low;
  next.high = high;
  finish_step(next);
  const double error =
      (factor_rounding(before, next, size) + size * c_error_ + size * 0x1p-50) * kSlack;
  return step.moves ? least - error <= contract_.rescale_threshold
                    : most + error >= contract_.rescale_threshold;
}

void RowTrace::finish_step(Step& step) const {
  step.error = std::max(step.high - step.maximum, step.maximum - step.low);
  step.known = knows(step.maximum, step.error);
  const double c = cap_in_c_ ? c_ : static_cast<double>(c_float_), product = step.maximum * c;
  if (!step.known || !is_f32(product))
    step.base_rounding = half_ulp(product, c * step.error) * kSlack;
}

// Whether the kernel has this logit bit for bit. Where the cap is in c, logits here are the
// kernel's times the cap: known is only 0.
bool RowTrace::knows(double logit, double error) const {
  return error == 0 && (cap_in_c_ ? logit == 0 : is_f32(logit));
}

// The maximum at the end: of a sink, which one part may have as a last step, and of all parts.
void RowTrace::find_last() {
  const double sink = operands_.sink();
  if (has_sink() && contract_.parts == 1 && !contract_.begins_with_sink()) {
    Step step;
    step.first = step.end = row_.keys.end;
    step.maximum = row_.maximum;
    add_step(step, steps_.empty(), sink, sink);
  }
  last_.maximum = row_.maximum;
  last_.low = last_.high = has_sink() && contract_.parts > 1 ? sink : -kInfinity;
  for (std::size_t t = 0; t < steps_.size(); ++t)
    steps_[t].ends = t + 1 == steps_.size() || steps_[t + 1].begins;
  for (const Step& step : steps_) {
    worst_maximum_ = std::max(worst_maximum_, step.error);
    last_.low = std::max(last_.low, step.low);
    last_.high = std::max(last_.high, step.high);
  }
  finish_step(last_);
}

std::size_t RowTrace::first_of_part(std::size_t t) const {
  while (!steps_[t].begins) --t;
  return t;
}

void RowTrace::add_tile(std::size_t t) {
  const Step& step = steps_[t];
  ValueTile tile;
  // The unit's nodes count from the tile's start.
  tile.first = step.first < step.end ? step.first / contract_.tile * contract_.tile : step.end;
  tile.end = step.end;
  for (std::int64_t j = tile.first; !head_.v_scales.empty() && j < tile.end;) {
    const std::int64_t end = head_.end_of_values(j, tile.end);
    tile.blocks.push_back({j, end, head_.scale_of_value(j)});
    j = end;
  }
  if (!step.begins && step.moves) {
    double worst = 0;
    for (std::size_t s = first_of_part(t); s < t; ++s) worst = std::max(worst, steps_[s].error);
    tile.before = factor(steps_[t - 1], step, worst);
  }
  if (contract_.parts > 1 && step.ends) tile.join = join_factor(t);
  tile.frame_error = exp2_growth(c_ * kSlack * step.error);
  tiles_.push_back(tile);
  for (std::int64_t j = step.first; j < step.end; ++j) set_probability(step, j);
}

// From the maximum of a part, whose last step is t, to that of all parts.
ValueFactor RowTrace::join_factor(std::size_t t) const {
  double others = head_.has_sink ? operands_.sink() : -kInfinity, worst = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const bool own = s <= t && s >= first_of_part(t);
    if (own) worst = std::max(worst, steps_[s].error);
    if (!own) others = std::max(others, steps_[s].high);
  }
  // This part has the largest for certain.
  if (steps_[t].low >= others) return {};
  return factor(steps_[t], last_, worst);
}

double RowTrace::factor_rounding(const Step& before, const Step& step, double change) const {
  if (!contract_.base_2())  // fl(fl(m - m') * c)
    return change * (2 * kF32Unit) * (1 + kF32Unit);
  // fl(r - r')
  const double ends = before.base_rounding + step.base_rounding;
  return ends + (change + ends) * kF32Unit;
}

ValueFactor RowTrace::factor(const Step& before, const Step& step, double worst) const {
  ValueFactor out;
  out.rescaled = true;
  const double change = (step.maximum - before.maximum) * c_;
  const double error = c_ * kSlack * (step.error + before.error);
  out.factor = exp2_of(-change);
  const double largest = change + error, rounding = factor_rounding(before, step, largest);
  out.factor_error =
      exp_growth(std::numbers::ln2 * (rounding + largest * c_error_ + 0x1p-148) + kEx2Error);
  out.skew = exp2_growth(c_ * kSlack * (step.error + worst));
  // Where the factor may be flushed, all of what came before may be lost.
  if (largest + rounding > 125) out.factor_error = std::max(1.0, out.factor_error);
  out.cleared = change - error - rounding > 127 + 0x1p-10 * change;
  if (out.cleared) out.factor_error = 1;  // all of it, also where f32 may be off by all binades
  return out;
}

RowTrace::Exponent RowTrace::exponent(const Step& step, double logit, double error,
                                      double apart) const {
  const double ideal = (logit - step.maximum) * c_;
  Exponent out;
  if (step.known && knows(logit, error)) {  // then so is all of the argument
    const float base = static_cast<float>(step.maximum) * c_float_;
    const float z = static_cast<float>(logit);
    const auto off = [&](float x) { return std::fabs(static_cast<double>(x) - ideal); };
    float fused = std::fma(z, c_float_, -base), unfused = z * c_float_ - base;
    if (takes_differences()) fused = (z - static_cast<float>(step.maximum)) * c_float_;
    const bool may_fuse = contract_.logit_base != LogitBase::two, may_not = rounds_products();
    out.zero = !(may_fuse && fused != 0) && !(may_not && unfused != 0);
    out.error = std::max(may_fuse ? off(fused) : 0, may_not ? off(unfused) : 0) +
                std::fabs(ideal) * 0x1p-50;
    if (out.zero && logit == step.maximum) out.error = 0;
    if (apart > 0) out.error = (out.error + c_ * apart) * kSlack;
    return out;
  }
  const double size = std::fabs(ideal) + c_ * kSlack * (error + step.error);
  double rounding = takes_differences() ? size * kF32Unit : step.base_rounding;
  if (rounds_products())
    rounding += half_ulp(logit * c_, c_ * kSlack * error + std::fabs(logit * c_) * c_error_);
  out.error = c_ * kSlack * (1 + 4 * kF32Unit) * apart + size * c_error_ + rounding;
  out.error = (out.error + half_ulp(size * (1 + 4 * kF32Unit) + rounding)) * kSlack;
  return out;
}

// The values of P that the contract allows for key j.
void RowTrace::set_probability(const Step& step, std::int64_t j) {
  const double logit = detail_.logits[at(j)], error = errors_[at(j)];
  if (logit == -kInfinity) return;
  const double p = detail_.probabilities[at(j)], rounded = detail_.rounded[at(j)];
  // The only key that can hold the maximum is at no distance from it.
  const bool leads = logit - error > largest_other(step, j);
  const Exponent x = exponent(step, logit, error, leads ? 0 : error + step.error);
  const double special = contract_.exponential_error(x.zero);
  const double growth = (1 + exp2_growth(x.error)) * (1 + special + 0x1p-44);
  // No computed logit is above the computed maximum by more than the threshold.
  const double threshold = contract_.rescale_threshold;
  const double past = threshold * (1 + 4 * kF32Unit) +
                      (contract_.exact_at_maximum() ? 0 : 2 * step.base_rounding + kF32Unit);
  const double most = (1 + exp2_growth(past)) * (1 + 2 * contract_.exponential_error());
  double low = p / growth * (1 - 2 * special * special - 0x1p-44);
  double high = x.error < 800 ? std::min(p * growth, most) : most;
  if (special == 0 && x.error == 0) low = high = p;
  if (low < kEx2Flushed) low = 0;
  if (high < kEx2Flushed * (1 - 0x1p-20)) high = contract_.exponential_bits > 0 ? kEx2Flushed : 0;
  const ProbabilityRounding& rounding = operands_.rounding();
  probabilities_.set(j, rounded, std::min(rounded, rounding(low)),
                     std::max(rounded, rounding(high)), *rounding.to, contract_.p_shift);
}

// The largest computed logit that another key than j may have among those that may hold the
// maximum; looked for only when j may hold it at all.
double RowTrace::largest_other(const Step& step, std::int64_t j) const {
  const bool holds = j >= step.holders.first && j < step.holders.end;
  if (!holds || detail_.logits[at(j)] + errors_[at(j)] < step.high) return kInfinity;
  double high = -kInfinity;
  for (std::int64_t other = step.holders.first; other < step.holders.end; ++other) {
    const double logit = detail_.logits[at(other)];
    if (other != j && logit != -kInfinity) high = std::max(high, logit + errors_[at(other)]);
  }
  return high;
}

}  // namespace plumbline
