// SPDX-License-Identifier: MIT
// One head, row by row. Every line that rounds asks its stage first.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/reference/gemm/sized_product.h"
#include "oracles/stages/staged_attention.h"
#include "oracles/stages/staged_steps.h"

namespace plumbline {

StagedHead::StagedHead(const AttentionHead& shape, const AttentionContract& contract, int sm,
                       FormatId q, FormatId k, FormatId v, std::span<const double> q_values,
                       std::span<const double> k_values, std::span<const double> v_values)
    : shape_(shape),
      contract_(contract),
      score_sum_(contract.score_product(), sm, q, k),
      value_sum_(contract.value_product(), sm, contract.p, v) {
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

// One row on its way through the tiles of keys.
class StagedHead::Machine {
 public:
  Machine(const StagedHead& head, std::int64_t i, StageSet low, std::span<const double> scores,
          AttentionFault fault)
      : staged_(head),
        head_(head.shape_),
        contract_(head.contract_),
        i_(i),
        scores_(scores),
        fault_(fault),
        scores_low_(is_low(low, AttentionStep::scores)),
        argument_(is_low(low, AttentionStep::argument)),
        exponential_(is_low(low, AttentionStep::exponential)),
        p_rounded_(is_low(low, AttentionStep::probabilities)),
        sums_(is_low(low, AttentionStep::row_sum)),
        values_(is_low(low, AttentionStep::values)),
        normalize_(is_low(low, AttentionStep::normalize)) {
    scale_ = static_cast<double>(head_.scale);
    if (faulty(AttentionFault::bf16_scale, argument_))
      scale_ = staged_rounding(FormatId::bf16, scale_);
    if (head_.softcap != 0 && contract_.tanh == Tanh::approx)
      unit_ = static_cast<double>(head_.softcap);
    else if (head_.natural_units())
      unit_ = 1;
    else
      unit_ = scale_;
    c_ = argument_ ? static_cast<double>(contract_.to_base_2(static_cast<float>(unit_)))
                   : unit_ * std::numbers::log2e;
    weights_.assign(static_cast<std::size_t>(head_.keys), 0);
  }

  Row run() {
    const std::int64_t part_keys = contract_.part_keys(head_.keys);
    std::vector<Part> parts;
    for (std::int64_t begin = 0; begin == 0 || begin < head_.keys; begin += part_keys)
      parts.push_back(part(begin, std::min(head_.keys, begin + part_keys)));
    const double sink = this->sink();
    if (contract_.parts > 1) return normalized(joined(parts, sink, part_keys));
    Part& all = parts.front();
    if (sink != -kInfinity && contract_.sink_step != SinkStep::first) {
      rescale(all, reference(all.m, std::max(all.m, sink)), 0, head_.keys);
      all.lanes[0] = f32_if(sums_, all.lanes[0] + exponential(relative(sink, all.m)));
    }
    return normalized(all);
  }

 private:
  // Sums relative to m, not yet divided.
  struct Part {
    double m = -kInfinity;
    std::vector<double> lanes, o;
  };

  static bool is_low(StageSet low, AttentionStep step) {
    return (low >> static_cast<int>(step) & 1) != 0;
  }

  bool faulty(AttentionFault which, bool stage_is_low) const {
    return fault_ == which && stage_is_low;
  }

  double exponential(double x) const { return staged_exponential(exponential_, x); }

  // -Inf where there is none.
  double sink() const {
    return head_.has_sink && !std::isinf(head_.sink) ? static_cast<double>(head_.sink) : -kInfinity;
  }

  double logit(std::int64_t j) const {
    double score = scores_[static_cast<std::size_t>(j)];
    if (faulty(AttentionFault::bf16_scores, scores_low_))
      score = staged_rounding(FormatId::bf16, score);
    return staged_logit(head_, i_, j, score, scale_of(j), argument_, contract_.tanh).z;
  }

  double scale_of(std::int64_t j) const {
    if (!head_.scales_of_blocks()) return scale_;
    const auto scale = static_cast<double>(head_.scale_of(i_, j));
    return faulty(AttentionFault::bf16_scale, argument_) ? staged_rounding(FormatId::bf16, scale)
                                                         : scale;
  }

  // The argument of an exponential that is taken relative to m.
  double relative(double z, double m) const {
    if (!argument_) return (z - m) * c_;
    if (contract_.logit_base == LogitBase::natural_difference)
      return f32_if(true, f32_if(true, z - m) * c_);
    if (contract_.logit_base == LogitBase::two)
      return f32_if(true, f32_if(true, z * c_) - f32_if(true, m * c_));
    return static_cast<double>(f32_fma(z, c_, -f32_if(true, m * c_)));
  }

  // The exponent, in base 2, of what sums relative to m are multiplied by to be relative to `next`.
  double fall(double m, double next) const {
    if (contract_.base_2())
      return f32_if(argument_, f32_if(argument_, m * c_) - f32_if(argument_, next * c_));
    return f32_if(argument_, f32_if(argument_, m - next) * c_);
  }

  double rescaling(double m, double next) const {
    return m == -kInfinity ? 0 : exponential(fall(m, next));
  }

  // What a tile's exponentials refer to, once the largest logit so far is `largest`.
  double reference(double m, double largest) const {
    const double threshold = contract_.rescale_threshold;
    return threshold > 0 && m != -kInfinity && -fall(m, largest) <= threshold ? m : largest;
  }

  double rounded(double p) const {
    if (!p_rounded_) return p;
    const int shift = fault_ == AttentionFault::probabilities_unlifted ? 0 : contract_.p_shift;
    EncodeOptions options{.overflow = Overflow::saturate};
    if (fault_ == AttentionFault::probabilities_cut) options.rounding = Rounding::toward_zero;
    return std::ldexp(staged_rounding(contract_.p, std::ldexp(p, shift), options), -shift);
  }

  // `first` to `end`: the keys that the part has met.
  void rescale(Part& part, double next, std::int64_t first, std::int64_t end) {
    const double a = rescaling(part.m, next);
    if (!faulty(AttentionFault::row_sum_not_rescaled, sums_))
      for (double& lane : part.lanes) lane = f32_if(sums_, lane * a);
    if (!faulty(AttentionFault::values_not_rescaled, values_))
      for (double& x : part.o) x = f32_if(values_, x * a);
    for (std::int64_t j = first; j < end; ++j) weights_[static_cast<std::size_t>(j)] *= a;
    part.m = next;
  }

  Part part(std::int64_t begin, std::int64_t end) {
    Part part;
    part.lanes.assign(static_cast<std::size_t>(contract_.row_sum_lanes), 0);
    part.o.assign(static_cast<std::size_t>(head_.dv), 0);
    if (contract_.begins_with_sink()) part.m = sink();
    if (contract_.sink_step == SinkStep::first && part.m != -kInfinity) part.lanes[0] = 1;
    const KeyRange visible = head_.visible(i_);
    const auto step = [&](std::int64_t tile, std::int64_t tile_end, bool) {
      const KeyRange seen{std::max(tile, visible.first), std::min(tile_end, visible.end)};
      std::vector<double> z;
      double next = part.m;
      for (std::int64_t j = seen.first; j < seen.end; ++j) {
        z.push_back(logit(j));
        next = std::max(next, z.back());
      }
      if (z.empty() || next == -kInfinity) return;
      next = reference(part.m, next);
      if (contract_.order == TileOrder::descending)
        rescale(part, next, tile_end, end);
      else
        rescale(part, next, begin, tile);
      add_tile(part, {tile, tile_end}, seen, z);
    };
    // A part begins with a tile, so its tiles are those of the whole.
    for_each_tile(contract_.order, contract_.tile, head_.keys, begin, end, step);
    return part;
  }

  void add_tile(Part& part, KeyRange tile, KeyRange seen, const std::vector<double>& z) {
    const bool adds_rounded =
        (contract_.row_sum == RowSum::rounded) != faulty(AttentionFault::other_row_sum, sums_);
    std::vector<double> lanes(part.lanes.size(), 0);
    const bool goes_on = contract_.row_sum_start == RowSumStart::sum;
    if (goes_on) lanes.swap(part.lanes);
    RealOperands p;  // in units of 2^-p_shift, as V meets them
    p.reserve(static_cast<std::size_t>(tile.end - tile.first));
    for (std::int64_t j = tile.first; j < tile.end; ++j) {
      double to_values = 0;
      if (j >= seen.first && j < seen.end) {
        const double weight =
            exponential(relative(z[static_cast<std::size_t>(j - seen.first)], part.m));
        to_values = rounded(weight);
        weights_[static_cast<std::size_t>(j)] = weight;
        double& lane = lanes[static_cast<std::size_t>((j - tile.first) / 2) % lanes.size()];
        lane = f32_if(sums_, lane + (adds_rounded ? to_values : weight));
      }
      p.append(std::ldexp(to_values, contract_.p_shift), format(contract_.p));
    }
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
      part.lanes[lane] = f32_if(sums_, part.lanes[lane] + lanes[lane]);
    for (std::size_t x = 0; x < part.o.size(); ++x) {
      const std::size_t column = x * static_cast<std::size_t>(head_.keys);
      const RealSpan v =
          RealSpan(staged_.v_).sub(column + static_cast<std::size_t>(tile.first), p.values.size());
      if (head_.v_scales.empty()) {
        part.o[x] = staged_.value_sum_.chain(p, v, part.o[x], {.accumulate = values_});
      } else {
        part.o[x] = with_blocks(part.o[x], tile, p, v);
      }
      if (faulty(AttentionFault::bf16_values, values_))
        part.o[x] = staged_rounding(FormatId::bf16, part.o[x]);
    }
  }

  // o and the tile's products, those of each block of V first added and scaled by themselves.
  double with_blocks(double o, KeyRange tile, const RealOperands& p, RealSpan v) const {
    for (std::int64_t first = tile.first; first < tile.end;) {
      const std::int64_t end = head_.end_of_values(first, tile.end);
      RealOperands own;  // from the tile's start: the unit counts from there
      for (std::int64_t j = tile.first; j < end; ++j) {
        const double own_p = j < first ? 0 : p.values[static_cast<std::size_t>(j - tile.first)];
        own.append(own_p, format(contract_.p));
      }
      const double sum =
          staged_.value_sum_.chain(own, v.sub(0, own.values.size()), 0, {.accumulate = values_});
      const auto scale = static_cast<double>(head_.scale_of_value(first));
      o = values_ ? static_cast<double>(f32_fma(scale, sum, o)) : o + scale * sum;
      first = end;
    }
    return o;
  }

  // Parts brought to one reference and added in their order, then the sink.
  Part joined(const std::vector<Part>& parts, double sink, std::int64_t part_keys) {
    Part all{sink, {0}, std::vector<double>(static_cast<std::size_t>(head_.dv), 0)};
    for (const Part& part : parts) all.m = std::max(all.m, part.m);
    std::int64_t first = 0;
    for (const Part& part : parts) {
      const std::int64_t end = std::min(head_.keys, first + part_keys);
      if (part.m != -kInfinity) {
        const double a = rescaling(part.m, all.m);
        all.lanes[0] = f32_if(sums_, all.lanes[0] + f32_if(sums_, sum_of(part) * a));
        for (std::size_t x = 0; x < all.o.size(); ++x)
          all.o[x] = f32_if(values_, all.o[x] + f32_if(values_, part.o[x] * a));
        for (std::int64_t j = first; j < end; ++j) weights_[static_cast<std::size_t>(j)] *= a;
      }
      first = end;
    }
    if (sink != -kInfinity)
      all.lanes[0] = f32_if(sums_, all.lanes[0] + exponential(relative(sink, all.m)));
    return all;
  }

  double sum_of(const Part& part) const {
    double l = 0;
    for (const double lane : part.lanes) l = f32_if(sums_, l + lane);
    return l;
  }

  Row normalized(const Part& all) {
    Row out;
    out.weights = std::move(weights_);
    out.o.assign(all.o.size(), 0);
    if (all.m == -kInfinity) {
      out.lse = contract_.masked_lse_is_negative ? -kInfinity : kInfinity;
      return out;
    }
    const double l = sum_of(all);
    double inverse = f32_if(normalize_, 1 / l);
    if (faulty(AttentionFault::bf16_inverse, normalize_))
      inverse = staged_rounding(FormatId::bf16, inverse);
    const double v_scale = std::ldexp(static_cast<double>(head_.v_scale), -contract_.p_shift);
    const double factor = f32_if(normalize_, inverse * v_scale);
    for (std::size_t x = 0; x < out.o.size(); ++x) {
      out.o[x] = contract_.normalization == Normalization::reciprocal ||
                         contract_.normalization == Normalization::rcp_approx
                     ? f32_if(normalize_, all.o[x] * factor)
                     : f32_if(normalize_, f32_if(normalize_, all.o[x] / l) * v_scale);
    }
    for (double& weight : out.weights) weight /= l;
    const double ln2 = f32_if(normalize_, std::numbers::ln2);
    const double log2_sum = f32_if(normalize_, std::log2(l));
    if (head_.lse_in_base_2) {
      out.lse = f32_if(normalize_, f32_if(normalize_, all.m * c_) + log2_sum);
      return out;
    }
    if (contract_.sums_lse_in_base_2()) {
      const double sum = f32_if(normalize_, f32_if(normalize_, all.m * c_) + log2_sum);
      out.lse = f32_if(normalize_, sum * ln2);
      return out;
    }
    const double largest =
        head_.natural_units() && unit_ == 1 ? all.m : f32_if(normalize_, all.m * unit_);
    out.lse = f32_if(normalize_, largest + f32_if(normalize_, log2_sum * ln2));
    return out;
  }

  const StagedHead& staged_;
  const AttentionHead& head_;
  const AttentionContract& contract_;
  std::int64_t i_;
  std::span<const double> scores_;
  AttentionFault fault_;
  bool scores_low_, argument_, exponential_, p_rounded_, sums_, values_, normalize_;
  double scale_ = 1, unit_ = 1, c_ = 1;  // unit: natural units per unit of a logit
  std::vector<double> weights_;          // of all keys, relative to m of their part
};

StagedHead::Row StagedHead::row(std::int64_t i, StageSet low, std::span<const double> scores,
                                AttentionFault fault) const {
  return Machine(*this, i, low, scores, fault).run();
}

StagedHead::Sensitivity StagedHead::sensitivity(std::int64_t i, const Row& exact) const {
  const auto d = static_cast<std::size_t>(shape_.d), keys = static_cast<std::size_t>(shape_.keys);
  Sensitivity out;
  out.o.assign(exact.o.size(), 0);
  for (std::size_t j = 0; j < keys; ++j) {
    const double weight = exact.weights[j];
    if (weight == 0) continue;
    const double products = sized_product(matrix_row(q_.values, static_cast<std::size_t>(i), d),
                                          matrix_row(k_.values, j, d))
                                .size;
    const double score = 2 * weight * products *
                         static_cast<double>(shape_.scale_of(i, static_cast<std::int64_t>(j)));
    out.lse += score;
    for (std::size_t x = 0; x < out.o.size(); ++x) {
      const double value = v_.values[x * keys + j] *
                           static_cast<double>(shape_.scale_of_value(static_cast<std::int64_t>(j)));
      out.o[x] += score * std::fabs(value - exact.o[x]) + weight * std::fabs(value);
    }
  }
  if (shape_.lse_in_base_2) out.lse *= std::numbers::log2e;
  return out;
}

}  // namespace plumbline
