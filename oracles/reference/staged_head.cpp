// SPDX-License-Identifier: MIT
// One head, row by row. Every line that rounds asks its stage first.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "oracles/base/assert.h"
#include "oracles/reference/staged_attention.h"
#include "oracles/reference/staged_steps.h"

namespace plumbline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

StagedHead::StagedHead(const AttentionHead& shape, const AttentionContract& contract, int sm,
                       FormatId q, FormatId k, FormatId v, std::span<const double> q_values,
                       std::span<const double> k_values, std::span<const double> v_values)
    : shape_(shape),
      contract_(contract),
      score_sum_(contract.product(), sm, q, k),
      value_sum_(contract.product(), sm, contract.p, v) {
  PLUMB_ASSERT(q_values.size() == static_cast<std::size_t>(shape.queries * shape.d) &&
               k_values.size() == static_cast<std::size_t>(shape.keys * shape.d) &&
               v_values.size() == static_cast<std::size_t>(shape.keys * shape.dv));
  for (const double value : q_values) q_.append(value, format(q));
  for (const double value : k_values) k_.append(value, format(k));
  for (std::int64_t x = 0; x < shape.dv; ++x) {
    for (std::int64_t j = 0; j < shape.keys; ++j)
      v_.append(v_values[static_cast<std::size_t>(j * shape.dv + x)], format(v));
  }
}

std::vector<double> StagedHead::scores(bool low) const {
  const auto d = static_cast<std::size_t>(shape_.d), keys = static_cast<std::size_t>(shape_.keys);
  std::vector<double> scores(static_cast<std::size_t>(shape_.queries) * keys);
  for (std::int64_t i = 0; i < shape_.queries; ++i) {
    const KeyRange visible = shape_.visible(i);
    const auto row = static_cast<std::size_t>(i);
    for (std::int64_t key = std::max<std::int64_t>(visible.first, 0); key < visible.end; ++key) {
      const auto j = static_cast<std::size_t>(key);
      scores[row * keys + j] = score_sum_.chain(RealSpan(q_).sub(row * d, d),
                                                RealSpan(k_).sub(j * d, d), 0, {.accumulate = low});
    }
  }
  return scores;
}

StagedHead::Row StagedHead::row(std::int64_t i, StageSet low, std::span<const double> scores,
                                AttentionFault fault) const {
  const auto is_low = [low](AttentionStep step) {
    return (low >> static_cast<int>(step) & 1) != 0;
  };
  const bool argument = is_low(AttentionStep::argument), exp = is_low(AttentionStep::exponential),
             p_rounded = is_low(AttentionStep::probabilities), sum = is_low(AttentionStep::row_sum),
             values = is_low(AttentionStep::values), normalize = is_low(AttentionStep::normalize);
  const auto faulty = [&](AttentionFault which, bool stage_is_low) {
    return fault == which && stage_is_low;
  };
  const AttentionHead& head = shape_;
  double scale = static_cast<double>(head.scale);
  if (faulty(AttentionFault::bf16_scale, argument)) scale = staged_rounding(FormatId::bf16, scale);
  const double c = staged_base2_factor(head, scale, argument);

  const auto logit = [&](std::int64_t j) {
    double z = scores[static_cast<std::size_t>(j)];
    if (faulty(AttentionFault::bf16_scores, is_low(AttentionStep::scores)))
      z = staged_rounding(FormatId::bf16, z);
    return staged_logit(head, i, j, z, scale, argument).z;
  };
  // The argument of an exponential that is taken relative to m.
  const auto relative = [&](double z, double m) {
    if (!argument) return (z - m) * c;
    return static_cast<double>(f32_fma(z, c, -f32_if(true, m * c)));
  };
  const auto rescaling = [&](double m, double next) {
    if (m == -kInfinity) return 0.0;
    return staged_exponential(exp, f32_if(argument, f32_if(argument, m - next) * c));
  };
  const int shift =
      faulty(AttentionFault::probabilities_unlifted, p_rounded) ? 0 : contract_.p_shift;
  EncodeOptions rounding{.overflow = Overflow::saturate};
  if (fault == AttentionFault::probabilities_cut) rounding.rounding = Rounding::toward_zero;
  const auto probability = [&](double p) {
    if (!p_rounded) return p;
    return std::ldexp(staged_rounding(contract_.p, std::ldexp(p, shift), rounding), -shift);
  };

  const auto dv = static_cast<std::size_t>(head.dv), keys = static_cast<std::size_t>(head.keys);
  const auto lanes = static_cast<std::size_t>(contract_.row_sum_lanes);
  const bool adds_rounded =
      (contract_.row_sum == RowSum::rounded) != faulty(AttentionFault::other_row_sum, sum);
  const KeyRange visible = head.visible(i);
  Row out;
  out.o.assign(dv, 0);
  out.weights.assign(keys, 0);
  std::vector<double> sums(lanes, 0);
  double m = -kInfinity;
  const auto rescale = [&](double a) {
    if (!faulty(AttentionFault::row_sum_not_rescaled, sum))
      for (double& lane : sums) lane = f32_if(sum, lane * a);
    if (!faulty(AttentionFault::values_not_rescaled, values))
      for (double& x : out.o) x = f32_if(values, x * a);
    for (double& weight : out.weights) weight *= a;
  };
  for (std::int64_t begin = 0; begin < head.keys; begin += contract_.tile) {
    const std::int64_t end = std::min(head.keys, begin + contract_.tile);
    const std::int64_t first = std::max(begin, visible.first), last = std::min(end, visible.end);
    std::vector<double> z;
    double next = m;
    for (std::int64_t j = first; j < last; ++j) {
      z.push_back(logit(j));
      next = std::max(next, z.back());
    }
    if (next == -kInfinity || first >= last) continue;
    rescale(rescaling(m, next));
    m = next;
    std::vector<double> tile_sums(lanes, 0);
    RealOperands p;  // in units of 2^-p_shift, as V meets them
    p.reserve(static_cast<std::size_t>(end - begin));
    for (std::int64_t j = begin; j < end; ++j) {
      double weight = 0, rounded = 0;
      if (j >= first && j < last) {
        weight = staged_exponential(exp, relative(z[static_cast<std::size_t>(j - first)], m));
        rounded = probability(weight);
        out.weights[static_cast<std::size_t>(j)] = weight;
        double& lane = tile_sums[static_cast<std::size_t>((j - begin) / 2) % lanes];
        lane = f32_if(sum, lane + (adds_rounded ? rounded : weight));
      }
      p.append(std::ldexp(rounded, contract_.p_shift), format(contract_.p));
    }
    for (std::size_t lane = 0; lane < lanes; ++lane)
      sums[lane] = f32_if(sum, sums[lane] + tile_sums[lane]);
    for (std::size_t x = 0; x < dv; ++x) {
      const RealSpan column =
          RealSpan(v_).sub(x * keys + static_cast<std::size_t>(begin), p.values.size());
      out.o[x] = value_sum_.chain(p, column, out.o[x], {.accumulate = values});
      if (faulty(AttentionFault::bf16_values, values))
        out.o[x] = staged_rounding(FormatId::bf16, out.o[x]);
    }
  }
  if (head.has_sink && !std::isinf(head.sink)) {
    const double sink = static_cast<double>(head.sink), next = std::max(m, sink);
    rescale(rescaling(m, next));
    m = next;
    sums[0] = f32_if(sum, sums[0] + staged_exponential(exp, relative(sink, m)));
  }
  if (m == -kInfinity) {
    out.lse = contract_.masked_lse_is_negative ? -kInfinity : kInfinity;
    return out;
  }
  double l = 0;
  for (const double lane : sums) l = f32_if(sum, l + lane);
  double inverse = f32_if(normalize, 1 / l);
  if (faulty(AttentionFault::bf16_inverse, normalize))
    inverse = staged_rounding(FormatId::bf16, inverse);
  for (double& x : out.o) {
    x = contract_.normalization == Normalization::reciprocal ? f32_if(normalize, x * inverse)
                                                             : f32_if(normalize, x / l);
    x = std::ldexp(x, -contract_.p_shift);
  }
  for (double& weight : out.weights) weight /= l;
  const double largest = head.natural_units() ? m : f32_if(normalize, m * scale);
  out.lse =
      f32_if(normalize, largest + f32_if(normalize, f32_if(normalize, std::log2(l)) *
                                                        f32_if(normalize, std::numbers::ln2)));
  return out;
}

StagedHead::Sensitivity StagedHead::sensitivity(std::int64_t i, const Row& exact) const {
  const auto d = static_cast<std::size_t>(shape_.d), keys = static_cast<std::size_t>(shape_.keys);
  Sensitivity out;
  out.o.assign(exact.o.size(), 0);
  for (std::size_t j = 0; j < keys; ++j) {
    const double weight = exact.weights[j];
    if (weight == 0) continue;
    double products = 0;
    for (std::size_t x = 0; x < d; ++x)
      products += std::fabs(q_.values[static_cast<std::size_t>(i) * d + x] * k_.values[j * d + x]);
    const double score = 2 * weight * products * static_cast<double>(shape_.scale);
    out.lse += score;
    for (std::size_t x = 0; x < out.o.size(); ++x) {
      const double value = v_.values[x * keys + j];
      out.o[x] += score * std::fabs(value - exact.o[x]) + weight * std::fabs(value);
    }
  }
  return out;
}

}  // namespace plumbline
