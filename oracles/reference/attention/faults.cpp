// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string_view>
#include <utility>

#include "oracles/base/numbers.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/ulp.h"
#include "oracles/reference/attention/probability_rounding.h"

namespace plumbline {
namespace {

constexpr double kLargestFloat = std::numeric_limits<float>::max();

// One row's computation, with places to go wrong.
struct RowPlan {
  AttentionHead head;
  std::int64_t query = 0;
  std::int64_t tile = 64, part = 64;  // keys
  TileOrder order = TileOrder::ascending;
  FormatId p = FormatId::bf16;
  int p_shift = 0;
  std::int64_t diagonal = 0;                       // the whole mask moves by this many keys
  std::int64_t skipped_from = 0, skipped_end = 0;  // keys that are left out
  std::int64_t blank_keys = 0;                     // counted beyond the end, with a score of 0
  std::optional<FormatId> scores_in;               // rounded to this format
  double exponent_factor = 1;                      // of (logit - maximum)
  double threshold = 0;  // of a rise of the maximum that counts, in natural units
  bool rescale_o = true, rescale_l = true, rescale_parts = true, restart_parts = true;
  bool below_threshold_too = false;  // the maximum rises, and nothing is rescaled
  bool round_p = true, truncate_p = false, p_shift_taken_back = true;
  bool subtract_maximum = true;
  bool sum_rounded = false, normalize = true;
  bool scales_all_of_o = false;  // a block of V's scale, what O had before it too
  bool sink_in_maximum = true, sink_in_sum = true;
  double lse_factor = 1, lse_sum_factor = 1;
  bool lse_has_maximum = true, lse_has_sum = true, lse_unscaled = false;
  std::int64_t column_offset = 0;
  bool truncate_output = false;
  double masked = 0, masked_lse = -kInfinity;
  // Keys that are not visible: which take part all the same, with which logit, or with that added
  // to their own.
  enum class Hidden { none, all, of_tiles } hidden = Hidden::none;
  double hidden_logit = 0;
  bool hidden_added = false;
  bool padding_is_nan = false;  // values behind the last key, up to the end of a tile, times 0
  bool cap_after_bias = false, cap_by_exponentials = false;
  double first_maximum = -kInfinity;
  bool nan_row_is_empty = false;  // its maximum stays -infinity where a comparison ignores NaN
};

struct RowValues {
  std::vector<double> o, magnitude;
  double lse = 0;
};

KeyRange visible_keys(const RowPlan& plan) {
  // Moving the diagonal is looking from another query; the mask has no rows of its own.
  const AttentionHead& head = plan.head;
  KeyRange keys = head.mask.visible(plan.query + plan.diagonal, head.queries, head.keys);
  keys.first = std::max<std::int64_t>(keys.first, 0);
  keys.end = std::min(keys.end, head.keys);
  return keys;
}

// As far as f32 goes: what a kernel makes of its infinities tells faults apart as well.
double within_f32(double x) {
  return std::fabs(x) > kLargestFloat ? std::copysign(kInfinity, x) : x;
}

// Keys from the first to the last one that a row of the query's tile sees.
bool in_tiles_of_block(const RowPlan& plan, std::int64_t j) {
  const AttentionHead& head = plan.head;
  constexpr std::int64_t kRows = 64;
  const std::int64_t first_row = plan.query / kRows * kRows;
  const std::int64_t last_row = std::min(first_row + kRows, head.queries) - 1;
  const KeyRange first = head.mask.visible(first_row, head.queries, head.keys),
                 last = head.mask.visible(last_row, head.queries, head.keys);
  return j >= std::max<std::int64_t>(first.first, 0) / plan.tile * plan.tile &&
         j < (last.end + plan.tile - 1) / plan.tile * plan.tile;
}

double logit(const RowPlan& plan, std::int64_t j) {
  const AttentionHead& head = plan.head;
  double score = 0;
  for (std::int64_t x = 0; x < head.d; ++x) {
    score += static_cast<double>(head.q[static_cast<std::size_t>(plan.query * head.d + x)]) *
             static_cast<double>(head.k[static_cast<std::size_t>(j * head.d + x)]);
  }
  score = within_f32(score);
  if (plan.scores_in)
    score = to_double(format(*plan.scores_in), encode(format(*plan.scores_in), score));
  score = within_f32(score * static_cast<double>(head.scale_of(plan.query, j)));
  const auto capped = [&](double x) {
    const double cap = static_cast<double>(head.softcap);
    if (head.softcap == 0) return x;
    if (!plan.cap_by_exponentials) return cap * std::tanh(x / cap);
    const double e = within_f32(std::exp(2 * x / cap));
    return cap * (e - 1) / (e + 1);
  };
  if (!plan.cap_after_bias) score = capped(score);
  if (!head.bias.empty())
    score += static_cast<double>(head.bias[static_cast<std::size_t>(plan.query * head.keys + j)]);
  return plan.cap_after_bias ? capped(score) : score;
}

RowValues compute(const RowPlan& plan) {
  const AttentionHead& head = plan.head;
  const KeyRange keys = visible_keys(plan);
  const ProbabilityRounding rounding(plan.p, plan.p_shift);
  const auto cut = [&](double p) {
    return to_double(*rounding.to, encode(*rounding.to, p * rounding.scale,
                                          {.rounding = Rounding::toward_zero})) *
           rounding.unscale;
  };
  RowValues row;
  row.o.assign(static_cast<std::size_t>(head.dv), 0);
  row.magnitude = row.o;
  double maximum = plan.first_maximum, sum = 0;
  // Parts that are done.
  double all_maximum = -kInfinity, all_sum = 0;
  std::vector<double> all_o(row.o.size(), 0), all_magnitude = all_o;
  const auto join = [&] {
    const double to = std::max(all_maximum, maximum);
    if (to == -kInfinity) {
      all_sum += sum;  // 0, or NaN where all logits are
      return;
    }
    const auto factor = [&](double from) {
      if (from == -kInfinity) return 0.0;
      return plan.rescale_parts ? std::exp((from - to) * plan.exponent_factor) : 1;
    };
    const double old = factor(all_maximum), own = factor(maximum);
    all_sum = all_sum * old + sum * own;
    for (std::size_t x = 0; x < row.o.size(); ++x) {
      all_o[x] = all_o[x] * old + row.o[x] * own;
      all_magnitude[x] = all_magnitude[x] * old + row.magnitude[x] * own;
      row.o[x] = row.magnitude[x] = 0;
    }
    all_maximum = to;
    sum = 0;
    maximum = -kInfinity;
  };
  const auto rescale = [&](double to) {
    if (!(to > maximum)) return;
    if (maximum != -kInfinity && to - maximum <= plan.threshold) {
      if (plan.below_threshold_too) maximum = to;
      return;
    }
    const double factor =
        maximum == -kInfinity ? 0 : std::exp((maximum - to) * plan.exponent_factor);
    if (plan.rescale_l) sum *= factor;
    for (std::size_t x = 0; x < row.o.size(); ++x) {
      if (!plan.rescale_o) continue;
      row.o[x] *= factor;
      row.magnitude[x] *= factor;
    }
    maximum = to;
  };
  const std::int64_t end_of_all = head.keys + plan.blank_keys;
  const auto step = [&](std::int64_t begin, std::int64_t end, bool begins) {
    if (plan.restart_parts && begins) join();
    std::vector<std::pair<std::int64_t, double>> logits;
    double here = maximum;
    for (std::int64_t j = begin; j < end; ++j) {
      const bool blank = j >= head.keys;
      const bool hidden = !blank && (j < keys.first || j >= keys.end);
      if (hidden && (plan.hidden == RowPlan::Hidden::none ||
                     (plan.hidden == RowPlan::Hidden::of_tiles && !in_tiles_of_block(plan, j))))
        continue;
      if (j >= plan.skipped_from && j < plan.skipped_end) continue;
      const double own = blank || (hidden && !plan.hidden_added) ? 0 : logit(plan, j);
      const double value = own + (hidden ? plan.hidden_logit : 0);
      if (value == -kInfinity) continue;
      logits.emplace_back(j, value);
      here = std::max(here, value);
    }
    if (logits.empty()) return;
    rescale(here);
    for (const auto& [j, value] : logits) {
      const double reference = plan.subtract_maximum ? maximum : 0;
      double p = within_f32(std::exp((value - reference) * plan.exponent_factor));
      if (p < 0x1p-126) p = 0;
      double rounded = !plan.round_p ? p : plan.truncate_p ? cut(p) : rounding(p);
      sum = within_f32(sum + (plan.sum_rounded ? rounded : p));
      if (j >= head.keys) continue;
      if (!plan.p_shift_taken_back) rounded *= rounding.scale;
      if (!plan.scales_all_of_o) rounded *= static_cast<double>(head.scale_of_value(j));
      for (std::int64_t x = 0; x < head.dv; ++x) {
        const std::int64_t from = std::clamp<std::int64_t>(x + plan.column_offset, 0, head.dv - 1);
        const double product =
            rounded * static_cast<double>(head.v[static_cast<std::size_t>(j * head.dv + from)]);
        double& o = row.o[static_cast<std::size_t>(x)];
        o = within_f32(o + product);
        row.magnitude[static_cast<std::size_t>(x)] += std::fabs(product);
      }
    }
    for (std::int64_t j = begin; plan.scales_all_of_o && j < std::min(begin + plan.tile, head.keys);
         j = head.end_of_values(j, begin + plan.tile)) {
      for (double& o : row.o) o *= static_cast<double>(head.scale_of_value(j));
    }
  };
  for_each_tile(plan.order, plan.tile, plan.part, 0, end_of_all, step);
  join();
  if (plan.padding_is_nan) std::ranges::fill(all_o, kNan);
  maximum = all_maximum;
  sum = all_sum;
  row.o = all_o;
  row.magnitude = all_magnitude;
  if (head.has_sink && head.sink != -kInfinity) {
    const double sink = static_cast<double>(head.sink);
    if (plan.sink_in_maximum) rescale(std::max(maximum, sink));
    const double share =
        std::exp((sink - (plan.subtract_maximum ? maximum : 0)) * plan.exponent_factor);
    if (plan.sink_in_sum) sum += share > kLargestFloat ? kInfinity : share;
  }
  if (maximum == -kInfinity && (plan.nan_row_is_empty || !std::isnan(sum))) {
    std::fill(row.o.begin(), row.o.end(), plan.masked);
    row.lse = plan.masked_lse;
    return row;
  }
  for (std::size_t x = 0; x < row.o.size(); ++x) {
    if (plan.normalize) row.o[x] /= sum;
    row.magnitude[x] /= sum;
  }
  const double top = plan.lse_unscaled ? maximum / static_cast<double>(head.scale) : maximum;
  row.lse = (plan.lse_has_maximum && plan.subtract_maximum ? top : 0) +
            (plan.lse_has_sum ? std::log(sum) * plan.lse_sum_factor : 0);
  row.lse *= plan.lse_factor;
  return row;
}

// What a fault knows.
struct Setting {
  const PreparedAttention& attention;
  const HeadPlace& place;
  RowPlan& plan;

  // The row's data from another place.
  bool take(HeadPlace other) const {
    const AttentionProblem& problem = attention.problem;
    if (other.head < 0 || other.head >= problem.heads() || other.kv_head < 0 ||
        other.kv_head >= problem.kv_heads() || other.batch < 0 || other.batch >= problem.batch())
      return false;
    plan.head = attention_head(problem, other);
    return true;
  }

  bool take_kv_head(std::int64_t kv_head) const {
    if (kv_head == place.kv_head) return false;
    HeadPlace other = place;
    other.kv_head = kv_head;
    return take(other);
  }
};

// The scales of a head's Q, K and V as the fault has them. A problem without has none to change.
bool rescaled(const Setting& at, HeadScales (*change)(const Setting&, HeadScales)) {
  const AttentionProblem& problem = at.attention.problem;
  if (!problem.q_scale || problem.scale_block > 0) return false;
  const HeadScales scales = change(at, head_scales(problem, at.place));
  const float scale = scale_in_effect(problem.scale, scales);
  const bool other_scale = std::exchange(at.plan.head.scale, scale) != scale;
  return std::exchange(at.plan.head.v_scale, scales.v) != scales.v || other_scale;
}

// Those of other heads, of Q and of K and V.
HeadScales scales_of(const Setting& at, std::int64_t head, std::int64_t kv_head) {
  HeadPlace place = at.place;
  place.head = head;
  place.kv_head = kv_head;
  return head_scales(at.attention.problem, place);
}

// Scales of blocks of rows, taken from a row that lies this far from the right one.
bool blocks_of_q(const Setting& at, std::int64_t head, std::int64_t rows_away) {
  const AttentionProblem& problem = at.attention.problem;
  std::vector<float>& scales = at.plan.head.q_scales;
  if (scales.empty()) return false;
  const HeadPlace& place = at.place;
  return std::exchange(scales, block_scales(problem, *problem.q_scale, place.batch, head,
                                            place.first_query + rows_away, place.queries)) !=
         scales;
}

bool blocks_of_q_from_k(const Setting& at) {
  const AttentionProblem& problem = at.attention.problem;
  std::vector<float>& scales = at.plan.head.q_scales;
  if (scales.empty() || at.place.head >= problem.kv_heads()) return false;
  return std::exchange(scales,
                       block_scales(problem, *problem.k_scale, at.place.batch, at.place.head,
                                    at.place.first_query, at.place.queries)) != scales;
}

// `scales`: of K's rows, or of V's; `from`: the tensor.
bool blocks_of_keys(const Setting& at, std::vector<float>& scales, const Tensor* from,
                    std::int64_t kv_head, std::int64_t rows_away) {
  if (scales.empty()) return false;
  const HeadPlace& place = at.place;
  return std::exchange(scales, block_scales(at.attention.problem, *from, place.batch, kv_head,
                                            place.first_key + rows_away, place.keys)) != scales;
}

bool blocks_of_k(const Setting& at, std::int64_t kv_head, std::int64_t rows_away) {
  return blocks_of_keys(at, at.plan.head.k_scales, at.attention.problem.k_scale, kv_head,
                        rows_away);
}

bool blocks_of_v(const Setting& at, std::int64_t kv_head, std::int64_t rows_away) {
  return blocks_of_keys(at, at.plan.head.v_scales, at.attention.problem.v_scale, kv_head,
                        rows_away);
}

// Where a sequence's tile begins within a block, its last keys have another scale than its first.
bool scales_of_first_keys(const Setting& at, std::vector<float>& scales) {
  const std::vector<float> right = scales;
  for (std::size_t j = 0; j < right.size(); ++j)
    scales[j] = right[j - j % static_cast<std::size_t>(at.plan.tile)];
  return scales != right;
}

// All rows of Q, K or V stand for themselves.
bool without(std::vector<float>& scales) {
  const std::vector<float> right = scales;
  std::fill(scales.begin(), scales.end(), 1.0f);
  return scales != right;
}

// What hides a key in place of -infinity.
bool hides_by(const Setting& at, RowPlan::Hidden which, double logit, bool added) {
  at.plan.hidden = which;
  at.plan.hidden_logit = logit;
  at.plan.hidden_added = added;
  const KeyRange keys = visible_keys(at.plan);
  return keys.first > 0 || keys.end < at.plan.head.keys;
}

template <std::int64_t kLogit, RowPlan::Hidden kWhich, bool kAdded = false>
bool hides_by(const Setting& at) {
  return hides_by(at, kWhich, static_cast<double>(kLogit), kAdded);
}

template <RowPlan::Hidden kWhich>
bool hides_by_least(const Setting& at) {
  return hides_by(at, kWhich, -kLargestFloat, false);
}

// The cap makes of -infinity what it makes of any large score.
template <RowPlan::Hidden kWhich>
bool caps_masked(const Setting& at) {
  at.plan.cap_after_bias = true;
  const auto cap = static_cast<double>(at.plan.head.softcap);
  return hides_by(at, kWhich, -cap, false) && cap != 0;
}

bool starts_at(const Setting& at, double maximum) {
  at.plan.first_maximum = maximum;
  return true;
}

bool starts_at_sink(const Setting& at) {
  const AttentionHead& head = at.plan.head;
  if (at.attention.contract.begins_with_sink()) return false;
  at.plan.restart_parts = false;
  return head.has_sink && std::isfinite(head.sink) && starts_at(at, static_cast<double>(head.sink));
}

bool starts_without_sink(const Setting& at) {
  return std::exchange(at.plan.first_maximum, -kInfinity) != -kInfinity;
}

struct Fault {
  std::string_view words;
  bool (*set)(const Setting&);  // false: it would change nothing here
};

bool moved(const Setting& at, std::int64_t by) {
  at.plan.query += by;
  return at.plan.query >= 0 && at.plan.query < at.plan.head.queries;
}

// Rows of Q, K and V taken to lie one after the other, as far as storage goes.
bool contiguous(const Setting& at) {
  AttentionProblem problem = at.attention.problem;
  std::array<Tensor, 3> taken = {*problem.q, *problem.k, *problem.v};
  bool differs = false;
  for (Tensor& tensor : taken) {
    TensorLayout& layout = tensor.layout;
    differs = differs || layout.strides[2] != layout.shape[3];
    layout.strides[2] = layout.shape[3];
  }
  problem.q = &taken[0];
  problem.k = &taken[1];
  problem.v = &taken[2];
  if (differs) at.plan.head = attention_head(problem, at.place);
  return differs;
}

bool scaled_by_width(const Setting& at, std::int64_t width) {
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
  return std::exchange(at.plan.head.scale, scale) != scale;
}

template <std::int64_t kTile>
bool in_tiles(const Setting& at) {
  return std::exchange(at.plan.tile, kTile) != kTile;
}

// Pointers exchanged, as far as one head shows it: its matrices have the same shape and place.
bool with_q_for_k(const Setting& at) {
  AttentionHead& head = at.plan.head;
  if (at.place.head != at.place.kv_head || head.queries != head.keys) return false;
  std::swap(head.q, head.k);
  return true;
}

bool with_k_for_v(const Setting& at) {
  AttentionHead& head = at.plan.head;
  if (head.d != head.dv) return false;
  std::swap(head.k, head.v);
  return true;
}

std::int64_t last_tile(const RowPlan& plan) {
  return (visible_keys(plan).end - 1) / plan.tile * plan.tile;
}

// clang-format off
constexpr std::array kFaults = {
    Fault{"the scales of Q and K are left out", [](const Setting& at) { return rescaled(at, [](const Setting&, HeadScales s) { return HeadScales{1, 1, s.v}; }); }},
    Fault{"the scale of Q is left out", [](const Setting& at) { return rescaled(at, [](const Setting&, HeadScales s) { return HeadScales{1, s.k, s.v}; }); }},
    Fault{"the scale of K is left out", [](const Setting& at) { return rescaled(at, [](const Setting&, HeadScales s) { return HeadScales{s.q, 1, s.v}; }); }},
    Fault{"the scale of V is left out", [](const Setting& at) { return rescaled(at, [](const Setting&, HeadScales s) { return HeadScales{s.q, s.k, 1}; }); }},
    Fault{"the scale of V is applied twice", [](const Setting& at) { return rescaled(at, [](const Setting&, HeadScales s) { return HeadScales{s.q, s.k, s.v * s.v}; }); }},
    Fault{"the scales of K and V are exchanged", [](const Setting& at) { return rescaled(at, [](const Setting&, HeadScales s) { return HeadScales{s.q, s.v, s.k}; }); }},
    Fault{"the scale of Q is head 0's", [](const Setting& at) { return rescaled(at, [](const Setting& of, HeadScales s) { return HeadScales{scales_of(of, 0, 0).q, s.k, s.v}; }); }},
    Fault{"the scales of K and V are head 0's", [](const Setting& at) { return rescaled(at, [](const Setting& of, HeadScales s) { const HeadScales first = scales_of(of, 0, 0); return HeadScales{s.q, first.k, first.v}; }); }},
    Fault{"the scales of K and V are those of head h mod kv_heads", [](const Setting& at) { return rescaled(at, [](const Setting& of, HeadScales s) { const HeadScales other = scales_of(of, 0, of.place.head % of.attention.problem.kv_heads()); return HeadScales{s.q, other.k, other.v}; }); }},
    Fault{"all scales are those of the first sequence", [](const Setting& at) { return rescaled(at, [](const Setting& of, HeadScales) { HeadPlace place = of.place; place.sequence = 0; return head_scales(of.attention.problem, place); }); }},
    Fault{"the scales of Q's blocks are left out", [](const Setting& at) { return without(at.plan.head.q_scales); }},
    Fault{"the scales of K's blocks are left out", [](const Setting& at) { return without(at.plan.head.k_scales); }},
    Fault{"the scales of Q's blocks are those of K's", blocks_of_q_from_k},
    Fault{"the scales of Q are those of the next block", [](const Setting& at) { return blocks_of_q(at, at.place.head, at.attention.problem.scale_block); }},
    Fault{"the scales of Q are those of the block before", [](const Setting& at) { return blocks_of_q(at, at.place.head, -at.attention.problem.scale_block); }},
    Fault{"the scales of K are those of the next block", [](const Setting& at) { return blocks_of_k(at, at.place.kv_head, at.attention.problem.scale_block); }},
    Fault{"the scales of K are those of the block before", [](const Setting& at) { return blocks_of_k(at, at.place.kv_head, -at.attention.problem.scale_block); }},
    Fault{"the blocks of Q are counted from the sequence's first row", [](const Setting& at) { return blocks_of_q(at, at.place.head, -at.place.first_query); }},
    Fault{"the blocks of K are counted from the sequence's first row", [](const Setting& at) { return blocks_of_k(at, at.place.kv_head, -at.place.first_key); }},
    Fault{"all keys of a tile have the scale of its first one", [](const Setting& at) { return scales_of_first_keys(at, at.plan.head.k_scales); }},
    Fault{"the scales of Q's blocks are head 0's", [](const Setting& at) { return blocks_of_q(at, 0, 0); }},
    Fault{"the scales of K's blocks are those of head h mod kv_heads", [](const Setting& at) { return blocks_of_k(at, at.place.head % at.attention.problem.kv_heads(), 0); }},
    Fault{"the scales of V's blocks are left out", [](const Setting& at) { return without(at.plan.head.v_scales); }},
    Fault{"the scales of V's blocks are those of K's", [](const Setting& at) { return blocks_of_keys(at, at.plan.head.v_scales, at.attention.problem.k_scale, at.place.kv_head, 0); }},
    Fault{"the scales of V are those of the next block", [](const Setting& at) { return blocks_of_v(at, at.place.kv_head, at.attention.problem.scale_block); }},
    Fault{"the scales of V are those of the block before", [](const Setting& at) { return blocks_of_v(at, at.place.kv_head, -at.attention.problem.scale_block); }},
    Fault{"all values of a tile have the scale of its first one", [](const Setting& at) { return scales_of_first_keys(at, at.plan.head.v_scales); }},
    Fault{"the scale of a block of V multiplies all of O", [](const Setting& at) { at.plan.scales_all_of_o = true; return !at.plan.head.v_scales.empty(); }},
    Fault{"the scales of V's blocks are head 0's", [](const Setting& at) { return blocks_of_v(at, 0, 0); }},
    Fault{"the scales of V's blocks are those of head h mod kv_heads", [](const Setting& at) { return blocks_of_v(at, at.place.head % at.attention.problem.kv_heads(), 0); }},
    Fault{"the blocks of V are counted from the sequence's first key", [](const Setting& at) { return blocks_of_keys(at, at.plan.head.v_scales, at.attention.problem.v_scale, at.place.kv_head, -at.place.first_key); }},
    Fault{"the softcap is left out", [](const Setting& at) { return std::exchange(at.plan.head.softcap, 0.0f) != 0; }},
    Fault{"the bias is left out", [](const Setting& at) { const bool had = !at.plan.head.bias.empty(); at.plan.head.bias.clear(); return had; }},
    Fault{"the sink is left out", [](const Setting& at) { return std::exchange(at.plan.head.has_sink, false); }},
    Fault{"the sink is left out of the maximum", [](const Setting& at) { return std::exchange(at.plan.sink_in_maximum, false) && at.plan.head.has_sink; }},
    Fault{"the maximum begins with the sink, which the contract takes last", starts_at_sink},
    Fault{"the sink comes after all keys, which the contract's maximum begins with", starts_without_sink},
    Fault{"the sink is left out of the sum", [](const Setting& at) { return std::exchange(at.plan.sink_in_sum, false) && at.plan.head.has_sink; }},
    Fault{"the sink is multiplied by the scale", [](const Setting& at) { at.plan.head.sink *= at.plan.head.scale; return at.plan.head.has_sink && at.plan.head.scale != 1; }},
    Fault{"the sink goes through the softcap", [](const Setting& at) { AttentionHead& head = at.plan.head; if (!head.has_sink || head.softcap == 0) return false; head.sink = head.softcap * std::tanh(head.sink / head.softcap); return true; }},
    Fault{"the softcap's tanh is a quotient of exponentials, and they overflow", [](const Setting& at) { at.plan.cap_by_exponentials = true; return at.plan.head.softcap != 0; }},
    Fault{"a row whose logits are all NaN is taken for one that sees no key", [](const Setting& at) { at.plan.nan_row_is_empty = true; return true; }},
    Fault{"the scale is 1 / sqrt(d)", [](const Setting& at) { return scaled_by_width(at, at.plan.head.d); }},
    Fault{"the scale is 1 / sqrt(64), as of a padded width", [](const Setting& at) { return scaled_by_width(at, 64); }},
    Fault{"the scale is 1 / sqrt(128), as of a padded width", [](const Setting& at) { return scaled_by_width(at, 128); }},
    Fault{"the scale is 1 / sqrt(256), as of a padded width", [](const Setting& at) { return scaled_by_width(at, 256); }},
    Fault{"rows are taken as contiguous", contiguous},
    Fault{"the scale is left out", [](const Setting& at) { return std::exchange(at.plan.head.scale, 1.0f) != 1; }},
    Fault{"the scale is applied twice", [](const Setting& at) { const float s = at.plan.head.scale; at.plan.head.scale = s * s; return s != 1; }},
    Fault{"log2(e) is applied twice", [](const Setting& at) { at.plan.exponent_factor = std::numbers::log2e; return true; }},
    Fault{"log2(e) is left out of the exponents", [](const Setting& at) { at.plan.exponent_factor = std::numbers::ln2; return true; }},
    Fault{"the scale is sqrt(d)", [](const Setting& at) { const auto scale = std::sqrt(static_cast<float>(at.plan.head.d)); return std::exchange(at.plan.head.scale, scale) != scale; }},
    Fault{"the scale is 1 / d", [](const Setting& at) { const float scale = 1 / static_cast<float>(at.plan.head.d); return std::exchange(at.plan.head.scale, scale) != scale; }},
    Fault{"the causal diagonal starts in the other corner", [](const Setting& at) {
       Causal& causal = at.plan.head.mask.causal;
       if (causal == Causal::none || at.plan.head.queries == at.plan.head.keys) return false;
       causal = causal == Causal::top_left ? Causal::bottom_right : Causal::top_left;
       return true; }},
    Fault{"the causal mask is left out", [](const Setting& at) { return std::exchange(at.plan.head.mask.causal, Causal::none) != Causal::none; }},
    Fault{"the mask is one key too far to the right", [](const Setting& at) { at.plan.diagonal = 1; return true; }},
    Fault{"the mask is one key too far to the left", [](const Setting& at) { at.plan.diagonal = -1; return true; }},
    Fault{"the window is one key too wide on the left", [](const Setting& at) { return at.plan.head.mask.window_left++ >= 0; }},
    Fault{"the window is one key too narrow on the left", [](const Setting& at) { return at.plan.head.mask.window_left-- > 0; }},
    Fault{"the window is left out on the left", [](const Setting& at) { return std::exchange(at.plan.head.mask.window_left, -1) >= 0; }},
    Fault{"the window is one key too wide on the right", [](const Setting& at) { return at.plan.head.mask.window_right++ >= 0; }},
    Fault{"the window is one key too narrow on the right", [](const Setting& at) { return at.plan.head.mask.window_right-- > 0; }},
    Fault{"the window is left out on the right", [](const Setting& at) { return std::exchange(at.plan.head.mask.window_right, -1) >= 0; }},
    Fault{"hidden keys have a logit like -10000, not -infinity", hides_by<-10000, RowPlan::Hidden::all>},
    Fault{"hidden keys have a logit like -10000, not -infinity", hides_by<-10000, RowPlan::Hidden::of_tiles>},
    Fault{"hidden keys have a number like -10000 added to their logits", hides_by<-10000, RowPlan::Hidden::all, true>},
    Fault{"hidden keys have a number like -10000 added to their logits", hides_by<-10000, RowPlan::Hidden::of_tiles, true>},
    Fault{"hidden keys have a logit of -1e9, not -infinity", hides_by<-1'000'000'000, RowPlan::Hidden::all>},
    Fault{"hidden keys have a logit of -1e9, not -infinity", hides_by<-1'000'000'000, RowPlan::Hidden::of_tiles>},
    Fault{"hidden keys have the least f32 for a logit, not -infinity", hides_by_least<RowPlan::Hidden::all>},
    Fault{"hidden keys have the least f32 for a logit, not -infinity", hides_by_least<RowPlan::Hidden::of_tiles>},
    Fault{"hidden keys have a logit of 0, not -infinity", hides_by<0, RowPlan::Hidden::all>},
    Fault{"hidden keys have a logit of 0, not -infinity", hides_by<0, RowPlan::Hidden::of_tiles>},
    Fault{"the softcap is applied after the mask", caps_masked<RowPlan::Hidden::all>},
    Fault{"the softcap is applied after the mask", caps_masked<RowPlan::Hidden::of_tiles>},
    Fault{"the softcap is applied after the bias", [](const Setting& at) { at.plan.cap_after_bias = true; return at.plan.head.softcap != 0 && !at.plan.head.bias.empty(); }},
    Fault{"the maximum starts at 0, not at -infinity", [](const Setting& at) { return starts_at(at, 0); }},
    Fault{"the maximum starts at -10000, not at -infinity", [](const Setting& at) { return starts_at(at, -10000); }},
    Fault{"the last visible key is missing", [](const Setting& at) { const KeyRange keys = visible_keys(at.plan); at.plan.skipped_from = keys.end - 1; at.plan.skipped_end = keys.end; return !keys.empty(); }},
    Fault{"the first visible key is missing", [](const Setting& at) { const KeyRange keys = visible_keys(at.plan); at.plan.skipped_from = keys.first; at.plan.skipped_end = keys.first + 1; return !keys.empty(); }},
    Fault{"the last tile of keys is missing", [](const Setting& at) { at.plan.skipped_from = last_tile(at.plan); at.plan.skipped_end = at.plan.head.keys; return !visible_keys(at.plan).empty(); }},
    Fault{"the first tile of keys is missing", [](const Setting& at) { at.plan.skipped_end = (visible_keys(at.plan).first / at.plan.tile + 1) * at.plan.tile; return !visible_keys(at.plan).empty(); }},
    Fault{"keys beyond the end are counted, with a score of 0", [](const Setting& at) { at.plan.blank_keys = (at.plan.tile - at.plan.head.keys % at.plan.tile) % at.plan.tile; return at.plan.blank_keys > 0; }},
    Fault{"K and V are exchanged", with_k_for_v},
    Fault{"Q and K are exchanged", with_q_for_k},
    Fault{"O is not rescaled when the maximum rises", [](const Setting& at) { at.plan.rescale_o = false; return true; }},
    Fault{"l is not rescaled when the maximum rises", [](const Setting& at) { at.plan.rescale_l = false; return true; }},
    Fault{"neither O nor l is rescaled when the maximum rises", [](const Setting& at) { at.plan.rescale_o = at.plan.rescale_l = false; return true; }},
    Fault{"a maximum that rises by less than the threshold is taken, and nothing is rescaled", [](const Setting& at) { at.plan.below_threshold_too = true; return at.plan.threshold > 0; }},
    Fault{"the maximum is kept until it rises by more than 2^8 in p: rescale_threshold = 8", [](const Setting& at) { return std::exchange(at.plan.threshold, 8 * std::numbers::ln2) == 0; }},
    Fault{"every new maximum is taken, also below the threshold", [](const Setting& at) { return std::exchange(at.plan.threshold, 0) > 0; }},
    Fault{"parts are joined without regard to their maxima", [](const Setting& at) { at.plan.rescale_parts = false; return at.attention.contract.parts > 1; }},
    Fault{"the keys are not cut into parts", [](const Setting& at) { at.plan.restart_parts = false; return at.attention.contract.parts > 1; }},
    Fault{"the first part is missing", [](const Setting& at) { at.plan.skipped_end = at.plan.part; return at.plan.part < at.plan.head.keys; }},
    Fault{"the last part is missing", [](const Setting& at) { at.plan.skipped_from = (at.plan.head.keys - 1) / at.plan.part * at.plan.part; at.plan.skipped_end = at.plan.head.keys; return at.plan.part < at.plan.head.keys; }},
    Fault{"O is not divided by l", [](const Setting& at) { at.plan.normalize = false; return true; }},
    Fault{"the maximum is not subtracted", [](const Setting& at) { at.plan.subtract_maximum = false; return true; }},
    Fault{"P is not rounded", [](const Setting& at) { at.plan.round_p = false; return true; }},
    Fault{"P is truncated instead of rounded to nearest", [](const Setting& at) { at.plan.truncate_p = true; return true; }},
    Fault{"scores are rounded to bf16", [](const Setting& at) { at.plan.scores_in = FormatId::bf16; return true; }},
    Fault{"scores are rounded to f16", [](const Setting& at) { at.plan.scores_in = FormatId::f16; return true; }},
    Fault{"P is rounded to bf16", [](const Setting& at) { return std::exchange(at.plan.p, FormatId::bf16) != FormatId::bf16; }},
    Fault{"P is rounded to f16", [](const Setting& at) { return std::exchange(at.plan.p, FormatId::f16) != FormatId::f16; }},
    Fault{"P is rounded to e4m3", [](const Setting& at) { return std::exchange(at.plan.p, FormatId::e4m3) != FormatId::e4m3; }},
    Fault{"P is rounded to e5m2", [](const Setting& at) { return std::exchange(at.plan.p, FormatId::e5m2) != FormatId::e5m2; }},
    Fault{"P is rounded without its shift", [](const Setting& at) { return std::exchange(at.plan.p_shift, 0) != 0; }},
    Fault{"the shift of P is not taken back", [](const Setting& at) { at.plan.p_shift_taken_back = false; return at.plan.p_shift != 0; }},
    Fault{"the row sum adds rounded probabilities", [](const Setting& at) { return !std::exchange(at.plan.sum_rounded, true); }},
    Fault{"the row sum adds probabilities before their rounding", [](const Setting& at) { return std::exchange(at.plan.sum_rounded, false); }},
    Fault{"LSE is in base 2", [](const Setting& at) { at.plan.lse_factor = std::numbers::log2e; return !at.plan.head.lse_in_base_2; }},
    Fault{"LSE adds the sum's logarithm in base 2 to a natural maximum", [](const Setting& at) { at.plan.lse_sum_factor = std::numbers::log2e; return !at.plan.head.lse_in_base_2; }},
    Fault{"LSE is the natural logarithm", [](const Setting& at) { at.plan.lse_factor = 1; return at.plan.head.lse_in_base_2; }},
    Fault{"LSE lacks the maximum", [](const Setting& at) { at.plan.lse_has_maximum = false; return true; }},
    Fault{"LSE is the maximum alone", [](const Setting& at) { at.plan.lse_has_sum = false; return true; }},
    Fault{"LSE has the maximum before the scale", [](const Setting& at) { at.plan.lse_unscaled = true; return at.plan.head.scale != 1; }},
    Fault{"K and V are those of head h mod kv_heads", [](const Setting& at) { return at.take_kv_head(at.place.head % at.attention.problem.kv_heads()); }},
    Fault{"K and V are those of the next head", [](const Setting& at) { return at.take_kv_head(at.place.kv_head + 1); }},
    Fault{"K and V are those of the previous head", [](const Setting& at) { return at.take_kv_head(at.place.kv_head - 1); }},
    Fault{"K and V are those of head 0", [](const Setting& at) { return at.take_kv_head(0); }},
    Fault{"this is the next head's result", [](const Setting& at) { HeadPlace other = at.place; ++other.head; other.kv_head = other.head / (at.attention.problem.heads() / at.attention.problem.kv_heads()); return at.take(other); }},
    Fault{"this is the previous head's result", [](const Setting& at) { HeadPlace other = at.place; --other.head; other.kv_head = other.head / (at.attention.problem.heads() / at.attention.problem.kv_heads()); return other.head >= 0 && at.take(other); }},
    Fault{"this is the next batch element's result", [](const Setting& at) { HeadPlace other = at.place; ++other.batch; ++other.sequence; return at.take(other); }},
    Fault{"this is the previous batch element's result", [](const Setting& at) { HeadPlace other = at.place; --other.batch; --other.sequence; return at.take(other); }},
    Fault{"this is the next query's result", [](const Setting& at) { return moved(at, 1); }},
    Fault{"this is the previous query's result", [](const Setting& at) { return moved(at, -1); }},
    Fault{"every column holds the next one's value", [](const Setting& at) { at.plan.column_offset = 1; return at.plan.head.dv > 1; }},
    Fault{"every column holds the previous one's value", [](const Setting& at) { at.plan.column_offset = -1; return at.plan.head.dv > 1; }},
    Fault{"the output is truncated instead of rounded to nearest", [](const Setting& at) { at.plan.truncate_output = true; return true; }},
    Fault{"tiles hold 16 keys", in_tiles<16>},
    Fault{"tiles hold 32 keys", in_tiles<32>},
    Fault{"tiles hold 48 keys", in_tiles<48>},
    Fault{"tiles hold 64 keys", in_tiles<64>},
    Fault{"tiles hold 80 keys", in_tiles<80>},
    Fault{"tiles hold 96 keys", in_tiles<96>},
    Fault{"tiles hold 128 keys", in_tiles<128>},
    Fault{"tiles hold 256 keys", in_tiles<256>},
    Fault{"tiles of keys are taken from the other end", [](const Setting& at) { at.plan.order = at.plan.order == TileOrder::ascending ? TileOrder::descending : TileOrder::ascending; return true; }},
    Fault{"LSE of a row that sees no key has the other sign", [](const Setting& at) { at.plan.masked_lse = -at.plan.masked_lse; return visible_keys(at.plan).empty(); }},
    Fault{"a row that sees no key is 0 / 0", [](const Setting& at) { at.plan.masked = at.plan.masked_lse = kNan; return visible_keys(at.plan).empty(); }},
    Fault{"values behind the last key are multiplied by 0, and they are NaN", [](const Setting& at) { at.plan.padding_is_nan = true; return at.plan.head.keys % at.plan.tile != 0; }},
};

// clang-format on

RowPlan plan_of(const PreparedAttention& attention, const AttentionPlace& at) {
  RowPlan plan;
  plan.head = attention_head(attention.problem, attention.places[at.head]);
  plan.query = at.query;
  plan.tile = attention.contract.tile;
  plan.part = attention.contract.part_keys(plan.head.keys);
  plan.order = attention.contract.order;
  plan.p = attention.contract.p;
  plan.p_shift = attention.contract.p_shift;
  plan.threshold = attention.contract.rescale_threshold * std::numbers::ln2;
  if (attention.contract.begins_with_sink() && plan.head.has_sink) {  // of one part
    plan.restart_parts = false;
    plan.first_maximum = static_cast<double>(plan.head.sink);
  }
  plan.sum_rounded = attention.contract.row_sum == RowSum::rounded;
  plan.lse_factor = plan.head.lse_in_base_2 ? std::numbers::log2e : 1;
  plan.masked_lse = attention.contract.masked_lse_is_negative ? -kInfinity : kInfinity;
  return plan;
}

// One output of a row as a number, how far its last rounding may move it, and the size of the terms
// that it is a sum of; the largest number there is.
struct Expected {
  double value, rounding, magnitude, largest;
};

Expected expected(int output, const RowPlan& plan, const RowValues& row, std::int64_t column,
                  const Format& format) {
  if (output == kAttentionLse) return {row.lse, 0, 1 + std::fabs(row.lse), kLargestFloat};
  const auto x = static_cast<std::size_t>(column);
  const double largest = to_double(format, format.max_finite());
  double value = row.o[x];
  const double unit = std::isfinite(value) ? ulp(format, value) : 0;
  if (plan.truncate_output && std::isfinite(value)) {
    value = std::trunc(value / unit) * unit;
    return {value, unit / 8, row.magnitude[x], largest};
  }
  return {value, 0.51 * unit, row.magnitude[x], largest};
}

// A faulty kernel may be off by so many times what the bound allows a conforming one.
constexpr double kRoom = 4;

// That much on this row, relative to the terms of its sums.
double precision_of(const PreparedAttention& attention, const AttentionPlace& at) {
  double precision = 0x1p-18;
  const auto held = attention.operands(at.head);
  const AttentionOperands& operands = *held;
  const DetailedRow row = survey_row(operands, at.query);
  if (row.row.kind != AttentionRowKind::regular) return precision;
  const RowBound bound = attention.bounds(operands)(row);
  for (std::size_t x = 0; x < bound.o_error.size(); ++x) {
    if (std::isfinite(bound.o_error[x]) && bound.magnitude[x] > 0)
      precision = std::max(precision, kRoom * bound.o_error[x] / bound.magnitude[x]);
  }
  return std::min(precision, 0x1p-6);
}

// How far the stored value is from the one due beyond the last rounding, relative to its terms;
// infinite where classes differ.
double distance(const Expected& due, double got) {
  if (due.value == got || (std::isnan(due.value) && std::isnan(got))) return 0;
  // Rounding alone makes an infinity of what is larger than all numbers of the format.
  if (std::isinf(got) && due.value * got > 0 && std::fabs(due.value) > due.largest) return 0;
  if (!std::isfinite(due.value) || !std::isfinite(got)) return kInfinity;
  const double beyond = std::fabs(got - due.value) - due.rounding;
  return beyond <= 0 ? 0 : beyond / due.magnitude;
}

// A row with what is stored in it.
struct StoredRow {
  const HeadPlace* place = nullptr;
  RowPlan right;
  std::vector<double> stored;
  double precision = 0, far = 0;  // from the right row

  // What the right computation would give as well tells nothing.
  bool close_to_right() const { return far <= precision / kRoom; }
};

double farthest(const StoredRow& row, const RowPlan& plan, int output, const Format& format) {
  const RowValues values = compute(plan);
  double most = 0;
  for (std::size_t x = 0; x < row.stored.size(); ++x) {
    const Expected due = expected(output, plan, values, static_cast<std::int64_t>(x), format);
    most = std::max(most, distance(due, row.stored[x]));
  }
  return most;
}

StoredRow stored_row(const PreparedAttention& attention, int output, const AttentionPlace& at,
                     const Tensor& got) {
  StoredRow row;
  row.place = &attention.places[at.head];
  row.right = plan_of(attention, at);
  row.precision = precision_of(attention, at);
  const Format& format = attention.output_format(output);
  const std::int64_t width = attention.width(output);
  const std::int64_t first = attention.row(*row.place, at.query) * width;
  for (std::int64_t x = 0; x < width; ++x)
    row.stored.push_back(to_double(format, got.bits(first + x)));
  row.far = farthest(row, row.right, output, format);
  return row;
}

// Nor does what is hardly nearer than the right row.
bool fits(const PreparedAttention& attention, const StoredRow& row, const Fault& fault, int output,
          const Format& format) {
  RowPlan plan = row.right;
  if (!fault.set(Setting{attention, *row.place, plan})) return false;
  const double distance = farthest(row, plan, output, format);
  return distance <= row.precision && 2 * distance < row.far;
}

// Whether a row that is right would be right with the fault as well.
bool stays_right(const PreparedAttention& attention, const StoredRow& row, const Fault& fault,
                 int output, const Format& format) {
  RowPlan plan = row.right;
  if (!fault.set(Setting{attention, *row.place, plan})) return true;
  return farthest(row, plan, output, format) <= std::max(row.precision, row.far);
}

// Rows of all heads, at even distances.
std::vector<StoredRow> other_rows(const PreparedAttention& attention, int output,
                                  const Tensor& got) {
  constexpr std::int64_t kRows = 24;
  constexpr std::int64_t kMostWork = 1 << 22;
  std::int64_t all = 0, work = 1;
  for (const HeadPlace& place : attention.places) {
    all += place.queries;
    work = std::max(work, place.keys * (attention.problem.d() + attention.problem.dv()));
  }
  const std::int64_t wanted = std::clamp<std::int64_t>(kMostWork / work, 1, kRows);
  std::vector<StoredRow> rows;
  for (std::int64_t n = 0; n < std::min(wanted, all); ++n) {
    std::int64_t number = n * all / std::min(wanted, all);
    AttentionPlace at;
    while (number >= attention.places[at.head].queries)
      number -= attention.places[at.head++].queries;
    at.query = number;
    rows.push_back(stored_row(attention, output, at, got));
  }
  return rows;
}

}  // namespace

NamedFaults attention_faults(const PreparedAttention& attention, int output, std::int64_t index,
                             const Tensor& got) {
  const Format& format = attention.output_format(output);
  const StoredRow row = stored_row(attention, output, attention.place(output, index), got);
  FaultRanking ranking;
  if (row.close_to_right()) return NamedFaults::none(kCloseToRight);
  std::vector<StoredRow> others;
  for (const Fault& fault : kFaults) {
    if (!fits(attention, row, fault, output, format)) continue;
    if (ranking.empty()) others = other_rows(attention, output, got);
    std::int64_t wrong = 0, right = 0;  // other rows that it explains, and leaves right
    for (const StoredRow& other : others) {
      if (other.close_to_right())
        right += stays_right(attention, other, fault, output, format);
      else
        wrong += fits(attention, other, fault, output, format);
    }
    ranking.add({.words = std::string(fault.words),
                 .agreement = {wrong, right},
                 .evidence = "all of this row agrees with it"});
  }
  // What explains less of the case by chance is not told. Of a wrong class, neither is what
  // contradicts more of what is right.
  const bool is_of_class = std::isinf(row.far);
  return std::move(ranking).named(is_of_class ? 2 : 1);
}

}  // namespace plumbline
