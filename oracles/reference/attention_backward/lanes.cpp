// SPDX-License-Identifier: MIT
// Errors, in natural units, with u = 2^-53 and v = 2^-24. E is how far scores may be off (from the
// sizes of their vectors: FP64's error, and a kernel's own), times the scale. x = logit - LSE.
//
// Reference: as in attention_backward/weights.cpp, with E from two-norms.
//
// Kernel: an f32 number next to a score, when no f32 lies within E, is within 2v of it; products by
// the scale and by log2 e, itself rounded, take v each, 4v of the score in all. No term says so: E
// (oracles/bounds/accumulator/a_priori.h) counts a step of the unit more than a sum from zero has,
// which is more than 4v of the sizes it is taken from. Where it is not, vectors tell nothing. 2v of
// the logit with its bias, 2v of the LSE and v of x (each rounding once more what came before: the
// factor 1.01) come on top. That is `off`, at most 1/16. 2^x then is within 1.0323 off + (2.1 + 1)
// 2^-23 (1 + off), which is less than `relative`; below 2^-125, where it may be flushed to 0,
// within all of itself. dO . v times its factor: E' in the same way, 2v for an f32 number next to
// it, v for the factor. The difference from delta, the product with P and the one by ds_scale are
// rounded once each. What underflows is off by 2^-149. All this holds while nothing comes near
// f32's range, else the pair is open.
#include "oracles/reference/attention_backward/lanes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oracles/reference/attention_backward/lanes.cpp"
#include <hwy/foreach_target.h>  // includes this file once per instruction set
#include <hwy/highway.h>

#include "oracles/reference/attention/exp2_lanes-inl.h"

HWY_BEFORE_NAMESPACE();

namespace plumbline::gradient_lanes_of::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using lanes::HWY_NAMESPACE::Bits;
using lanes::HWY_NAMESPACE::Doubles;
using lanes::HWY_NAMESPACE::exp2_of;
using lanes::HWY_NAMESPACE::kWidth;
using lanes::HWY_NAMESPACE::splat;
using lanes::HWY_NAMESPACE::V;
using M = hn::Mask<Doubles>;

constexpr double kUnit = 0x1p-53, kF32Unit = 0x1p-24;
constexpr double kLog2E = 0x1.71547652b82fep0;

// FormatRounding for numbers below 2^900.
struct Rounder {
  V smallest, to_quantum, largest;

  explicit Rounder(const GradientLanes::Rounding& r)
      : smallest(splat(r.smallest_binade)),
        to_quantum(splat(r.to_quantum)),
        largest(splat(r.largest)) {}

  HWY_INLINE V operator()(V x) const {
    const V binade = hn::And(x, splat(std::numeric_limits<double>::infinity()));
    const V shift = hn::Mul(hn::Max(binade, smallest), to_quantum);
    const V rounded = hn::Sub(hn::Add(x, shift), shift);
    return hn::Max(hn::Min(rounded, largest), hn::Neg(largest));
  }

  // All of [x - error, x + error] rounds to `out`, which is not -0.
  HWY_INLINE M sure(V x, V error, V& out) const {
    const V low = (*this)(hn::Sub(x, error)), high = (*this)(hn::Add(x, error));
    out = hn::Add(low, hn::Zero(Doubles()));
    return hn::Eq(low, high);
  }
};

template <bool kernel, bool with_p, bool with_g>
void fill(const GradientLanes::Common& common, const GradientLanes::Query& query,
          const GradientPairs& pairs, std::vector<std::int64_t>& open) {
  const Doubles d;
  const Rounder round_p(common.p), round_ds(common.ds);
  const V scale = splat(common.scale), lse = splat(query.lse), p_factor = splat(common.p_factor);
  const V score_unit = splat(query.score_unit), score_absolute = splat(query.score_absolute);
  const V dp_factor = splat(common.dp_factor), ds_factor = splat(common.ds_factor);
  const V dp_unit = splat(query.dp_unit), dp_absolute = splat(query.dp_absolute);
  const V delta = splat(query.delta), delta_error = splat(query.delta_error);
  for (std::int64_t j = 0; j < pairs.count; j += static_cast<std::int64_t>(kWidth)) {
    V logit = hn::Mul(hn::LoadU(d, pairs.scores + j), scale);
    V off = hn::Add(hn::Mul(score_unit, hn::LoadU(d, pairs.key_norms + j)), score_absolute);
    if (!kernel) off = hn::Add(off, hn::Mul(hn::Abs(logit), splat(kUnit)));
    if (pairs.bias != nullptr) {
      logit =
          hn::Add(logit, hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, Doubles>(), pairs.bias + j)));
      off = hn::Add(off, hn::Mul(hn::Abs(logit), splat(kernel ? 2 * kF32Unit : kUnit)));
    }
    const V x = hn::Sub(logit, lse);
    V relative;
    M sure = hn::Le(x, splat(690));
    if (kernel) {
      off = hn::Add(off, hn::Mul(hn::Abs(lse), splat(2 * kF32Unit)));
      off = hn::Add(off, hn::Mul(hn::Abs(x), splat(kF32Unit)));
      off = hn::Add(hn::Mul(off, splat(1.01)), splat(0x1p-100));
      relative = hn::Add(hn::Mul(off, splat(1.125)), splat(0x1p-21));
      sure = hn::And(sure, hn::Lt(off, splat(0x1p-4)));
    } else {
      off = hn::Add(off, hn::Mul(hn::Abs(x), splat(3 * kUnit)));
      relative = hn::Add(hn::Add(off, off), splat(kExp2Error));
      sure = hn::And(sure, hn::Lt(off, splat(0.25)));
    }
    const V p = exp2_of(hn::Mul(x, splat(kLog2E)));
    if (kernel) relative = hn::IfThenElse(hn::Lt(p, splat(0x1p-125)), splat(1), relative);
    if (with_p) {
      const V value = hn::Mul(p, p_factor);
      const V error = hn::Mul(hn::Mul(value, relative), splat(1 + 0x1p-40));
      V rounded;
      sure = hn::And(sure, round_p.sure(value, error, rounded));
      sure = hn::And(sure, hn::Le(hn::Add(value, error), splat(kernel ? common.p_limit : 0x1p900)));
      hn::StoreU(rounded, d, pairs.p + j);
    }
    if (with_g) {
      const V dp = hn::Mul(hn::LoadU(d, pairs.dps + j), dp_factor);
      const V difference = hn::Sub(dp, delta);
      V dp_off = hn::Add(hn::Mul(dp_unit, hn::LoadU(d, pairs.value_norms + j)), dp_absolute);
      if (!kernel) dp_off = hn::Add(dp_off, hn::Mul(hn::Abs(dp), splat(kUnit)));
      dp_off = hn::Add(dp_off, delta_error);
      dp_off = hn::Add(dp_off, hn::Mul(hn::Abs(difference), splat(kernel ? kF32Unit : kUnit)));
      if (kernel) dp_off = hn::Mul(dp_off, splat(1.01));
      const V before = hn::Mul(p, difference), size = hn::Abs(before);
      const V value = hn::Mul(before, ds_factor);
      V error = hn::Add(hn::Mul(hn::Mul(p, dp_off), hn::Add(relative, splat(1))),
                        hn::Mul(size, relative));
      error = hn::Mul(hn::Abs(ds_factor), error);
      error = hn::Add(hn::Mul(error, splat(kernel ? 1.01 : 1 + 0x1p-40)),
                      hn::Mul(hn::Abs(value), splat(kernel ? 4 * kF32Unit : 4 * kUnit)));
      V limit = hn::Add(hn::Abs(value), error);
      if (kernel) {
        error = hn::Add(error, hn::Mul(hn::Add(hn::Abs(ds_factor), splat(1)), splat(0x1p-148)));
        const V reach = hn::Add(hn::Abs(difference), hn::Add(hn::Abs(dp), dp_off));
        const V largest = hn::Mul(hn::Add(reach, splat(1)), hn::Add(hn::Add(p, p), splat(1)));
        limit = hn::Add(limit, largest);
      }
      V rounded;
      sure = hn::And(sure, round_ds.sure(value, error, rounded));
      sure = hn::And(sure, hn::Le(limit, splat(kernel ? 0x1p120 : 0x1p900)));
      if (kernel)
        sure = hn::And(sure, hn::Le(hn::Add(hn::Abs(value), error), splat(common.ds_limit)));
      hn::StoreU(rounded, d, pairs.g + j);
    }
    if (hn::AllTrue(d, sure)) continue;
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, sure, bits);
    for (std::size_t lane = 0; lane < kWidth; ++lane) {
      const std::int64_t at = j + static_cast<std::int64_t>(lane);
      if (at < pairs.count && (bits[0] >> lane & 1) == 0) open.push_back(at);
    }
  }
}

void fill_any(const GradientLanes::Common& common, const GradientLanes::Query& query, bool kernel,
              const WantedWeights& wanted, const GradientPairs& pairs,
              std::vector<std::int64_t>& open) {
  if (!kernel) return fill<false, true, true>(common, query, pairs, open);
  if (wanted.p) return fill<true, true, false>(common, query, pairs, open);
  fill<true, false, true>(common, query, pairs, open);
}

WeightSizes sizes(const double* weights, std::int64_t count, double* column_squares,
                  double* column_lowest) {
  const Doubles d;
  const V infinity = splat(std::numeric_limits<double>::infinity());
  V squares = hn::Zero(d), lowest = infinity;
  for (std::int64_t j = 0; j < count; j += static_cast<std::int64_t>(kWidth)) {
    const V weight = hn::Abs(hn::LoadU(d, weights + j)), square = hn::Mul(weight, weight);
    // Clearing the lowest bit of a significand and subtracting leaves it; a power of two has none.
    const auto pattern = hn::BitCast(Bits(), weight);
    const V cleared = hn::BitCast(d, hn::And(pattern, hn::Sub(pattern, hn::Set(Bits(), 1))));
    const V binade = hn::And(weight, infinity);
    V low = hn::IfThenElse(hn::Eq(binade, weight), weight, hn::Sub(weight, cleared));
    low = hn::IfThenElse(hn::Eq(weight, hn::Zero(d)), infinity, low);
    squares = hn::Add(squares, square);
    lowest = hn::Min(lowest, low);
    hn::StoreU(hn::Add(hn::LoadU(d, column_squares + j), square), d, column_squares + j);
    hn::StoreU(hn::Min(hn::LoadU(d, column_lowest + j), low), d, column_lowest + j);
  }
  double all_squares[kWidth], all_lowest[kWidth];
  hn::StoreU(squares, d, all_squares);
  hn::StoreU(lowest, d, all_lowest);
  WeightSizes out{0, std::numeric_limits<double>::infinity()};
  for (std::size_t lane = 0; lane < kWidth; ++lane) {
    out.squares += all_squares[lane];
    out.lowest = all_lowest[lane] < out.lowest ? all_lowest[lane] : out.lowest;
  }
  return out;
}

}  // namespace plumbline::gradient_lanes_of::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace plumbline {
namespace gradient_lanes_of {
namespace {

HWY_EXPORT(fill_any);
HWY_EXPORT(sizes);

}  // namespace
}  // namespace gradient_lanes_of

namespace {

// From above, for limits.error(), which is linear in the magnitude.
double relative_part(const APriori& limits) {
  return (limits.error(1) - limits.error(0)) * (1 + 0x1p-20) + 0x1p-60;
}

// Whether the step that E counts too many, which is what it says of an empty sum, is larger than
// what f32 rounds next to the sum.
bool covers_roundings(const BoundModel& model) {
  const APriori empty(model, 0);
  return empty.error(1) - empty.error(0) > 4 * 1.01 * 0x1p-24;
}

GradientLanes::Rounding rounding_of(const FormatRounding& round) {
  return {round.smallest_binade(), round.to_quantum(), round.largest()};
}

double limit_of(const FormatRounding& round) {
  return round.saturates() ? 0x1p120 : std::min(0x1p120, round.largest());
}

}  // namespace

GradientLanes::GradientLanes(const GradientOperands& operands, const GradientWeights64& weights,
                             WeightErrors errors)
    : operands_(operands), errors_(errors) {
  const AttentionHead& head = operands.head(0);
  const FormatRounding &p = weights.rounding(GradientOutput::dv),
                       &ds = weights.rounding(GradientOutput::dq);
  common_ = {.scale = static_cast<double>(head.scale),
             .dp_factor = static_cast<double>(operands.scales.dp()),
             .p_factor = std::ldexp(1.0, operands.contract.p_shift),
             .ds_factor = static_cast<double>(operands.scales.ds),
             .p = rounding_of(p),
             .ds = rounding_of(ds),
             .p_limit = limit_of(p),
             .ds_limit = limit_of(ds)};
  const auto fp64 = [](std::int64_t length) {
    return static_cast<double>(length + 1) * 0x1p-53 * (1 + 0x1p-19);
  };
  score_relative_ = fp64(operands.d);
  dp_relative_ = fp64(operands.width_v);
  score_absolute_ = dp_absolute_ = 0;
  if (errors == WeightErrors::kernel) {
    score_relative_ += relative_part(weights.score_limits());
    score_absolute_ = weights.score_limits().error(0) + 0x1p-148;
    dp_relative_ += relative_part(weights.dp_limits());
    dp_absolute_ = weights.dp_limits().error(0) + 0x1p-148;
  }
  const auto ordinary = [](double factor) {
    return factor == 0 || (std::fabs(factor) >= 0x1p-60 && std::fabs(factor) <= 0x1p60);
  };
  const bool covered =
      errors == WeightErrors::reference ||
      (covers_roundings(operands.models.score) && covers_roundings(operands.models.dp));
  useful_ = covered && head.softcap == 0 && !head.scales_of_blocks() &&
            operands.contract.p_shift >= 0 && ordinary(common_.scale) &&
            ordinary(common_.dp_factor) && ordinary(common_.ds_factor) &&
            std::isfinite(score_relative_) && std::isfinite(dp_relative_);
}

void GradientLanes::fill(std::int64_t head, std::int64_t i, const GradientPairs& pairs,
                         const WantedWeights& wanted, double key_norm, double value_norm,
                         std::vector<std::int64_t>& open) const {
  const auto row = static_cast<std::size_t>(head * operands_.padded + i);
  const double q_norm = operands_.q.size[row].two_norm, do_norm = operands_.d_o.size[row].two_norm;
  const bool kernel = errors_ == WeightErrors::kernel;
  const GradientQuery& own = operands_.query_of(head, i);
  double delta_error = own.delta_error;
  if (kernel) {
    const F32Range& range = own.kernel_delta;
    const auto low = static_cast<double>(range.low), high = static_cast<double>(range.high);
    delta_error += std::max(std::fabs(high - own.delta), std::fabs(low - own.delta));
    const bool may_overflow = q_norm * key_norm >= 0x1p120 || do_norm * value_norm >= 0x1p120 ||
                              range.nan || !std::isfinite(delta_error);
    if (may_overflow) {
      for (std::int64_t j = 0; j < pairs.count; ++j) open.push_back(j);
      return;
    }
  }
  const double scale = std::fabs(common_.scale), factor = std::fabs(common_.dp_factor);
  const Query query{.lse = own.lse,
                    .delta = own.delta,
                    .delta_error = delta_error * (1 + 0x1p-40),
                    .score_unit = q_norm * score_relative_ * scale,
                    .score_absolute = score_absolute_ * scale,
                    .dp_unit = do_norm * dp_relative_ * factor,
                    .dp_absolute = dp_absolute_ * (factor + 1)};
  HWY_DYNAMIC_DISPATCH(gradient_lanes_of::fill_any)(common_, query, kernel, wanted, pairs, open);
}

WeightSizes add_weight_sizes(const double* weights, std::int64_t count, double* column_squares,
                             double* column_lowest) {
  return HWY_DYNAMIC_DISPATCH(gradient_lanes_of::sizes)(weights, count, column_squares,
                                                        column_lowest);
}

}  // namespace plumbline

#endif  // HWY_ONCE
