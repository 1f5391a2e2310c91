// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/survey.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

#include "oracles/base/numbers.h"
#include "oracles/exact/bound_arithmetic.h"
#include "oracles/exact/exp2.h"
#include "oracles/exact/ordered_product.h"
#include "oracles/exact/real.h"
#include "oracles/reference/attention/definition.h"
#include "oracles/reference/attention/softmax.h"

namespace plumbline {
namespace {

constexpr double kUnit = 0x1p-53;
// Below minus this, in base 2, logits are far: masks, not scores.
constexpr double kFar = 0x1p31;
// Logits that are this much below the largest, in base 2, have no weight in double, however far off
// they are: those of a mask of -1e9 add nothing to the error of a row.
constexpr double kWeightless = 4096;
// Relative error of a probability or a weight beside that of its logits. An exponent x carries
// 3 * 2^-53 |x|; where |x| > 160 the result is below 2^-160 and its error is nothing beside the
// sum, which is at least 1/2. 160 * 3 * 2^-53 * ln 2 + kExp2Error < 2^-44.
constexpr double kExponentError = 0x1p-44;

struct Vectors {
  std::vector<double> elements, norm, lowest;
  std::vector<std::uint8_t> special;
};

// Rows of `width`: finite elements in double, an upper bound of the Euclidean norm, the lowest bit
// set in any element, and whether any is not finite.
Vectors prepared(const std::vector<float>& elements, std::int64_t rows, std::int64_t width) {
  Vectors out;
  out.elements.reserve(elements.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    double squares = 0, lowest = kInfinity;
    bool special = false;
    for (std::int64_t x = 0; x < width; ++x) {
      const float element = elements[static_cast<std::size_t>(i * width + x)];
      const bool finite = std::isfinite(element);
      special = special || !finite;
      out.elements.push_back(finite ? static_cast<double>(element) : 0.0);
      if (!finite || element == 0) continue;
      squares += out.elements.back() * out.elements.back();
      lowest = std::min(lowest, bound::lowest_bit(element));
    }
    // Squares of numbers below 2^-500 would be lost; those of f32 are not.
    out.norm.push_back(std::sqrt(squares) * (1 + 0x1p-40));
    out.lowest.push_back(lowest);
    out.special.push_back(special ? 1 : 0);
  }
  return out;
}

double largest_size(const std::vector<float>& numbers) {
  double largest = 0;
  for (const float x : numbers) largest = std::max(largest, std::fabs(static_cast<double>(x)));
  return largest;
}

double logit_in_natural_units(const AttentionHead& head, double score, std::int64_t i,
                              std::int64_t j) {
  double logit = score * static_cast<double>(head.scale_of(i, j));
  if (head.softcap != 0) {
    const double cap = static_cast<double>(head.softcap);
    logit = cap * std::tanh(logit / cap);
  }
  if (!head.bias.empty())
    logit += static_cast<double>(head.bias[static_cast<std::size_t>(i * head.keys + j)]);
  return logit;
}

// One row on its way through the survey. `scores` becomes weight * rounded probability.
class RowPass {
 public:
  RowPass(const AttentionOperands& operands, std::int64_t query, DetailedRow* detail,
          std::span<const std::size_t> flipped = {})
      : operands_(operands), head_(operands.head()), detail_(detail), flipped_(flipped) {
    row_.query = query;
    row_.keys = head_.visible(query);
    if (row_.keys.empty()) row_.keys = {0, 0};
  }

  SurveyedRow run(double* scores) {
    const auto count = static_cast<std::size_t>(row_.keys.end - row_.keys.first);
    if (detail_ != nullptr) detail_->scores.assign(scores, scores + count);
    find_logits(scores);
    if (row_.kind == AttentionRowKind::nan && operands_.contract().nan_rows_open)
      row_.kind = AttentionRowKind::may_overflow;
    if (row_.kind == AttentionRowKind::regular) find_tiles(scores);
    if (row_.kind == AttentionRowKind::regular && far_leads_ && !operands_.far_tiles_vanish())
      row_.kind = AttentionRowKind::may_overflow;
    if (detail_ != nullptr) {
      detail_->logits.assign(scores, scores + count);
      detail_->probabilities.assign(count, 0);
      detail_->rounded.assign(count, 0);
    }
    if (row_.kind != AttentionRowKind::regular) {
      std::fill(scores, scores + count, 0.0);
      finish_special();
      return std::move(row_);
    }
    // Logits and the maximum are off by near_error_ each.
    tolerance_ = (2 * near_error_ * operands_.to_base_2() + kExponentError) * (1 + 0x1p-20);
    if (!(tolerance_ < 0.25)) {  // f32 knows even less about these logits
      row_.kind = AttentionRowKind::may_overflow;
      std::fill(scores, scores + count, 0.0);
      finish_special();
      return std::move(row_);
    }
    find_probabilities(scores);
    finish(static_cast<double>(count));
    return std::move(row_);
  }

 private:
  void find_logits(double* scores) {
    score_error_ = operands_.score_error(row_.query, row_.keys);
    if (operands_.may_overflow(row_.query, row_.keys)) row_.kind = AttentionRowKind::may_overflow;
    const bool special = operands_.any_special_pair();
    if (!special && !head_.natural_units()) {  // the scores are the logits
      logit_error_ = near_error_ = score_error_;
      return;
    }
    for (std::int64_t j = row_.keys.first; j < row_.keys.end; ++j) {
      double& value = scores[j - row_.keys.first];
      if (special && operands_.special_pair(row_.query, j)) {
        value = special_score(j);
        if (detail_ != nullptr)
          detail_->scores[static_cast<std::size_t>(j - row_.keys.first)] = value;
      }
      if (head_.natural_units()) value = operands_.logit(value, row_.query, j);
      if (std::isnan(value) || value == kInfinity) {
        row_.kind = AttentionRowKind::nan;
        return;
      }
    }
    const double sink = operands_.sink();
    if (head_.has_sink && (std::isnan(sink) || sink == kInfinity))
      row_.kind = AttentionRowKind::nan;
    if (head_.has_sink && std::isfinite(sink)) largest_ = std::fabs(sink);
    double near = largest_;
    if (!head_.bias.empty()) hide_far_logits(scores);
    const std::int64_t count = row_.keys.end - row_.keys.first;
    const double least = largest_of(scores, count) - kWeightless / operands_.to_base_2();
    for (std::int64_t j = 0; j < count; ++j) {
      if (scores[j] == -kInfinity) continue;
      largest_ = std::max(largest_, std::fabs(scores[j]));
      if (!(scores[j] < least)) near = std::max(near, std::fabs(scores[j]));
    }
    if (row_.kind == AttentionRowKind::regular && largest_ >= kFarFromOverflow)
      row_.kind = AttentionRowKind::may_overflow;
    logit_error_ = operands_.logit_error(row_.query, score_error_, largest_);
    near_error_ = operands_.logit_error(row_.query, score_error_, near);
  }

  // Keys that a bias puts far below the maximum have no weight, in every step in which they may
  // come: p or the factor after it is exactly 0. Rounding, by at most half of the distance, does
  // not change that.
  void hide_far_logits(double* logits) {
    const std::int64_t count = row_.keys.end - row_.keys.first;
    double maximum = largest_of(logits, count);
    if (head_.has_sink) maximum = std::max(maximum, operands_.sink());
    const double least =
        std::max(kFar / operands_.to_base_2(), 16 * operands_.largest_product(row_.query));
    for (std::int64_t j = 0; j < count; ++j) {
      if (!std::isfinite(logits[j]) || logits[j] > -least || logits[j] > 2 * maximum) continue;
      logits[j] = -kInfinity;
      far_.push_back(row_.keys.first + j);
    }
  }

  // Whether one of the far keys is in the tile.
  bool holds_far(std::int64_t first, std::int64_t end) const {
    const auto at = std::lower_bound(far_.begin(), far_.end(), first);
    return at != far_.end() && *at < end;
  }

  // By IEEE arithmetic in double, where finite f32 products cannot overflow.
  double special_score(std::int64_t j) const {
    double score = 0;
    for (std::int64_t x = 0; x < head_.d; ++x) {
      score += static_cast<double>(head_.q[static_cast<std::size_t>(row_.query * head_.d + x)]) *
               static_cast<double>(head_.k[static_cast<std::size_t>(j * head_.d + x)]);
    }
    return score;
  }

  void find_tiles(const double* logits) {
    const AttentionContract& contract = operands_.contract();
    const bool descending = contract.order == TileOrder::descending;
    const double sink = head_.has_sink ? operands_.sink() : -kInfinity;
    const double start = contract.begins_with_sink() ? sink : -kInfinity;
    double maximum = -kInfinity;
    std::optional<SurveyedTile> before;  // of the same part
    for_each_tile(contract.order, contract.tile, operands_.part_keys(), row_.keys.first,
                  row_.keys.end, [&](std::int64_t first, std::int64_t end, bool begins) {
                    const double here = largest_of(logits + (first - row_.keys.first), end - first);
                    if (begins) before.reset();
                    if (here == -kInfinity) {
                      blank_.push_back({first, end});
                      far_leads_ =
                          far_leads_ || (!before && start == -kInfinity && holds_far(first, end));
                      return;
                    }
                    SurveyedTile tile{first, end, std::max(here, start), 1, {first, end}};
                    if (before && contract.rescale_threshold == 0) {
                      tile.maximum = std::max(before->maximum, here);
                      tile.holders = descending ? KeyRange{first, before->holders.end}
                                                : KeyRange{before->holders.first, end};
                    } else if (before && !rises(*before, here, tile.holders)) {
                      tile.maximum = before->maximum;
                      tile.holders = before->holders;
                    }
                    maximum = std::max(maximum, tile.maximum);
                    row_.tiles.push_back(tile);
                    before = tile;
                  });
    const bool kept = before && contract.rescale_threshold > 0 && contract.parts == 1 &&
                      sink != -kInfinity && !rises(*before, sink, {});
    row_.maximum = kept ? maximum : std::max(maximum, sink);
    if (row_.maximum == -kInfinity) row_.kind = AttentionRowKind::masked;
    for (SurveyedTile& at : row_.tiles)
      at.weight = exp2_of((at.maximum - row_.maximum) * operands_.to_base_2());
  }

  // Whether the next step, whose largest logit is `here`, refers to that under a rescale threshold,
  // and not to what the step before does. `keys`: the step's; none: it is the sink's.
  bool rises(const SurveyedTile& before, double here, KeyRange keys) const {
    const double threshold = operands_.contract().rescale_threshold, c = operands_.to_base_2();
    const double rise = (here - before.maximum) * c;
    const double margin = 2 * c * logit_error_ + (std::fabs(rise) + threshold) * kExponentError;
    bool up = rise > threshold;
    if (std::fabs(rise - threshold) <= margin) {
      using Number = RealOf<256>;
      const Number next =
          keys.empty() ? Number(operands_.sink()) : exact_maximum<Number>(keys, here);
      const Number apart = next - exact_maximum<Number>(before.holders, before.maximum);
      up = apart > Number(threshold) * log(Number(2));
    }
    return up != std::ranges::binary_search(flipped_, row_.tiles.size());
  }

  void find_probabilities(double* logits) {
    const ProbabilityRounding& rounding = operands_.rounding();
    const double c = operands_.to_base_2();
    const bool rounded_sum = operands_.contract().row_sum == RowSum::rounded;
    double sum = 0;
    for (const KeyRange& tile : blank_)
      std::fill(logits + (tile.first - row_.keys.first), logits + (tile.end - row_.keys.first),
                0.0);
    for (const SurveyedTile& tile : row_.tiles) {
      for (std::int64_t begin = tile.first; begin < tile.end; begin += kMostSoftmaxKeys) {
        const std::int64_t end = std::min(tile.end, begin + kMostSoftmaxKeys);
        SoftmaxTile part;
        part.sure = false;
        if (detail_ == nullptr) {
          part = softmax_tile(logits + (begin - row_.keys.first), end - begin, tile.maximum, c,
                              tile.weight, rounding, tolerance_);
        }
        if (!part.sure) part = softmax_by_keys(tile, begin, end, logits);
        sum += (rounded_sum ? part.rounded_sum : part.sum) * tile.weight;
      }
    }
    row_.sum = sum;
    if (head_.has_sink) row_.sum += exp2_of((operands_.sink() - row_.maximum) * c);
    row_.share = sum / row_.sum;
  }

  // softmax_tile() key by key, with MPFR where FP64 cannot tell.
  SoftmaxTile softmax_by_keys(const SurveyedTile& tile, std::int64_t begin, std::int64_t end,
                              double* logits) {
    const ProbabilityRounding& rounding = operands_.rounding();
    SoftmaxTile sums;
    for (std::int64_t j = begin; j < end; ++j) {
      double& value = logits[j - row_.keys.first];
      const double p = exp2_of((value - tile.maximum) * operands_.to_base_2());
      const double rounded = rounding.sure(p, tolerance_) ? rounding(p) : exactly_rounded(tile, j);
      if (detail_ != nullptr) {
        const auto at = static_cast<std::size_t>(j - row_.keys.first);
        detail_->probabilities[at] = p;
        detail_->rounded[at] = rounded;
      }
      sums.sum += p;
      sums.rounded_sum += rounded;
      value = rounded * tile.weight;
    }
    return sums;
  }

  // The rounding of key j's probability as the definition has it.
  double exactly_rounded(const SurveyedTile& tile, std::int64_t j) const {
    using Number = RealOf<256>;
    const Number own = attention_definition::logit<Number>(head_, row_.query, j);
    const Number largest = exact_maximum<Number>(tile.holders, tile.maximum);
    const int shift = operands_.contract().p_shift;
    const Number shifted = ldexp(Number(exp(own - largest)), shift);
    return static_cast<double>(
        ldexp(attention_definition::rounded(operands_.contract().p, shifted), -shift));
  }

  // The largest logit of these keys, and of a sink that maxima begin with, in natural units;
  // `about_maximum`: as FP64 has it.
  template <typename Number>
  Number exact_maximum(KeyRange keys, double about_maximum) const {
    std::optional<Number> largest;
    if (operands_.contract().begins_with_sink() && head_.has_sink && std::isfinite(head_.sink))
      largest = Number(operands_.sink());
    for (std::int64_t other = keys.first; other < keys.end; ++other) {
      const double score = std::inner_product(operands_.q().begin() + row_.query * head_.d,
                                              operands_.q().begin() + (row_.query + 1) * head_.d,
                                              operands_.k().begin() + other * head_.d, 0.0);
      const double about =
          head_.natural_units() ? operands_.logit(score, row_.query, other) : score;
      const bool special = operands_.special_pair(row_.query, other);
      if (!special && !(about >= about_maximum - 4 * logit_error_)) continue;
      const Number logit = attention_definition::logit<Number>(head_, row_.query, other);
      if (!largest || logit > *largest) largest = logit;
      if (logit_error_ == 0 && !special) break;  // all that are as large are equal
    }
    return *largest;
  }

  void finish(double count) {
    // l: each term is off by the tolerance, and the sum by one rounding per term.
    row_.sum_error = tolerance_ + (count + 8) * kUnit * 2;
    row_.error = (2 * tolerance_ + 3 * (count + 8) * kUnit) * 1.25;
    const bool base_2 = head_.lse_in_base_2;
    const double unit = base_2 ? operands_.to_base_2() : operands_.to_natural();
    const double head = row_.maximum * unit,
                 tail = base_2 ? std::log2(row_.sum) : std::log(row_.sum);
    row_.lse = head + tail;
    row_.lse_error = near_error_ * unit +
                     row_.sum_error * (base_2 ? std::numbers::log2e : 1) * (1 + 0x1p-10) +
                     0x1p-49 * (std::fabs(head) + std::fabs(tail));
  }

  // A bias like the least f32 on every key of a row: all logits are that number, and the difference
  // from the maximum is 0 or too large for any weight. Only where exponents are of such
  // differences: m c may overflow.
  void find_chosen() {
    const double product = operands_.largest_product(row_.query);
    if (operands_.contract().logit_base != LogitBase::natural_difference ||
        operands_.contract().exponential_bits > 0 || head_.bias.empty() ||
        operands_.may_overflow(row_.query, row_.keys) || operands_.any_special_pair())
      return;
    const auto bias = [&](std::int64_t j) {
      return static_cast<double>(head_.bias[static_cast<std::size_t>(row_.query * head_.keys + j)]);
    };
    double maximum = -kInfinity;
    for (std::int64_t j = row_.keys.first; j < row_.keys.end; ++j)
      maximum = std::max(maximum, bias(j));
    const double size = std::fabs(maximum), absorbed = size * 0x1p-28;
    const bool sink_counts = head_.has_sink && operands_.sink() > maximum - size * 0x1p-20;
    if (!std::isfinite(maximum) || size < kFar || product > absorbed || sink_counts) return;
    if (head_.softcap != 0 && static_cast<double>(head_.softcap) > absorbed) return;
    for (std::int64_t j = row_.keys.first; j < row_.keys.end; ++j)
      if (bias(j) == maximum) row_.chosen.push_back(j);
    row_.maximum = maximum;
  }

  void finish_special() {
    row_.tiles.clear();
    if (row_.kind == AttentionRowKind::may_overflow) find_chosen();
    row_.lse = kNan;
    const NanLse nan_lse = operands_.contract().nan_lse;
    if (row_.kind == AttentionRowKind::nan && nan_lse != NanLse::nan)
      row_.lse = nan_lse == NanLse::plus_infinity ? kInfinity : -kInfinity;
    if (row_.kind != AttentionRowKind::masked) return;
    row_.lse = operands_.contract().masked_lse_is_negative ? -kInfinity : kInfinity;
  }

  const AttentionOperands& operands_;
  const AttentionHead& head_;
  DetailedRow* detail_;
  std::span<const std::size_t> flipped_;
  SurveyedRow row_;
  std::vector<KeyRange> blank_;  // tiles without a logit above -Inf
  std::vector<std::int64_t> far_;
  bool far_leads_ = false;  // a part's first logits are far
  double score_error_ = 0, logit_error_ = 0, near_error_ = 0, largest_ = 0, tolerance_ = 0;
};

}  // namespace

AttentionOperands::AttentionOperands(AttentionHead head, const AttentionContract& contract)
    : head_(std::move(head)), contract_(contract), rounding_(contract.p, contract.p_shift) {
  Vectors q = prepared(head_.q, head_.queries, head_.d), k = prepared(head_.k, head_.keys, head_.d);
  q_ = std::move(q.elements);
  q_norm_ = std::move(q.norm);
  q_lowest_ = std::move(q.lowest);
  q_special_ = std::move(q.special);
  k_ = std::move(k.elements);
  k_special_ = std::move(k.special);
  const auto special = [](std::uint8_t flag) { return flag != 0; };
  any_special_pair_ = std::any_of(q_special_.begin(), q_special_.end(), special) ||
                      std::any_of(k_special_.begin(), k_special_.end(), special);
  for (const double norm : k.norm) k_norm_largest_ = std::max(k_norm_largest_, norm);
  for (const double lowest : k.lowest) k_lowest_smallest_ = std::min(k_lowest_smallest_, lowest);

  v_columns_.assign(static_cast<std::size_t>(head_.keys * head_.dv), 0);
  v_largest_.assign(static_cast<std::size_t>(head_.dv), 0);
  for (std::int64_t j = 0; j < head_.keys; ++j) {
    bool special_row = false;
    const double unit = head_.v_scales.empty() ? 1 : static_cast<double>(head_.scale_of_value(j));
    for (std::int64_t x = 0; x < head_.dv; ++x) {
      const float value = head_.v[static_cast<std::size_t>(j * head_.dv + x)];
      if (!std::isfinite(value)) {
        special_row = true;
        continue;
      }
      const double scaled = static_cast<double>(value) * unit;
      v_columns_[static_cast<std::size_t>(x * head_.keys + j)] = scaled;
      double& largest = v_largest_[static_cast<std::size_t>(x)];
      largest = std::max(largest, std::fabs(scaled));
      largest_value_ = std::max(largest_value_, largest);
    }
    if (special_row) v_special_.push_back(j);
  }
  for (double& largest : v_largest_) largest *= v_scale();
  for (const float bias : head_.bias) {
    if (std::isfinite(bias)) {
      largest_bias_ = std::max(largest_bias_, std::fabs(static_cast<double>(bias)));
    }
  }
  const double scale = static_cast<double>(head_.scale);
  to_natural_ = head_.natural_units() ? 1 : scale;
  to_base_2_ = to_natural_ * std::numbers::log2e;
  largest_scale_ = std::fabs(scale);
  if (head_.scales_of_blocks())
    largest_scale_ *= largest_size(head_.q_scales) * largest_size(head_.k_scales) * (1 + 0x1p-20);
}

double AttentionOperands::logit(double score, std::int64_t i, std::int64_t j) const {
  return logit_in_natural_units(head_, score, i, j);
}

double AttentionOperands::score_error(std::int64_t i, KeyRange) const {
  const auto at = static_cast<std::size_t>(i);
  const double size = q_norm_[at] * k_norm_largest_;
  // All partial sums are multiples of the lattice in every order.
  const double lattice = q_lowest_[at] * k_lowest_smallest_;
  if (size <= 0x1p53 * lattice) return 0;
  return static_cast<double>(head_.d + 1) * kUnit * size * (1 + 0x1p-20);
}

double AttentionOperands::logit_error(std::int64_t i, double score_error, double largest) const {
  if (!head_.natural_units()) return score_error;
  // A product by the scale, two more and tanh for a cap, a sum; tanh within 2^-50.
  const double cap = std::fabs(static_cast<double>(head_.softcap));
  const double bias = std::min(largest_bias_, largest + largest_product(i) + cap);
  const double error = score_error * largest_scale_ + 0x1p-50 * (largest + bias + 4 * cap);
  return error * (1 + 0x1p-20);
}

double AttentionOperands::largest_product(std::int64_t i) const {
  return q_norm_[static_cast<std::size_t>(i)] * k_norm_largest_ * largest_scale_;
}

bool AttentionOperands::may_overflow(std::int64_t i, KeyRange keys) const {
  if (keys.empty()) return false;
  return q_norm_[static_cast<std::size_t>(i)] * k_norm_largest_ >= kFarFromOverflow;
}

bool AttentionOperands::far_tiles_vanish() const {
  const double largest =
      std::ldexp(largest_value_, contract_.p_shift) * std::exp2(contract_.rescale_threshold);
  return contract_.exact_at_maximum() &&
         static_cast<double>(head_.keys) * largest < kFarFromOverflow;
}

DetailedRow survey_row(const AttentionOperands& operands, std::int64_t query,
                       std::span<const std::size_t> flipped) {
  const AttentionHead& head = operands.head();
  DetailedRow detail;
  RowPass pass(operands, query, &detail, flipped);
  KeyRange keys = head.visible(query);
  if (keys.empty()) keys = {0, 0};
  const std::int64_t count = keys.end - keys.first;
  std::vector<double> scores(static_cast<std::size_t>(count));
  if (count > 0 && head.d > 0) {
    add_ordered_product(1, count, head.d, operands.q().data() + query * head.d, head.d,
                        operands.k().data() + keys.first * head.d, head.d, scores.data(), count);
  }
  detail.row = pass.run(scores.data());
  detail.o.assign(static_cast<std::size_t>(head.dv), 0);
  if (count > 0 && detail.row.kind == AttentionRowKind::regular) {
    add_ordered_product(1, head.dv, count, scores.data(), count,
                        operands.v_columns().data() + keys.first, head.keys, detail.o.data(),
                        head.dv);
    for (double& o : detail.o) o = o / detail.row.sum * operands.v_scale();
  }
  return detail;
}

std::int64_t RowSurveyor::block_rows() const {
  const std::int64_t keys = std::max<std::int64_t>(operands_.head().keys, 1);
  return std::clamp<std::int64_t>((std::int64_t{1} << 19) / keys, 8, 64);
}

void RowSurveyor::survey(std::int64_t first, std::int64_t end) {
  const AttentionHead& head = operands_.head();
  KeyRange keys{head.keys, 0};
  for (std::int64_t i = first; i < end; ++i) {
    const KeyRange visible = head.visible(i);
    if (visible.empty()) continue;
    keys.first = std::min(keys.first, visible.first);
    keys.end = std::max(keys.end, visible.end);
  }
  const std::int64_t rows = end - first, count = std::max<std::int64_t>(keys.end - keys.first, 0);
  scores_.assign(static_cast<std::size_t>(rows * count), 0);
  o_.assign(static_cast<std::size_t>(rows * head.dv), 0);
  if (count > 0) {
    add_ordered_product(rows, count, head.d, operands_.q().data() + first * head.d, head.d,
                        operands_.k().data() + keys.first * head.d, head.d, scores_.data(), count);
  }
  rows_.clear();
  for (std::int64_t i = first; i < end; ++i) {
    RowPass pass(operands_, i, nullptr);
    const KeyRange visible = head.visible(i);
    double* row = scores_.data() + (i - first) * count;
    if (visible.empty()) {
      rows_.push_back(pass.run(row));
      std::fill(row, row + count, 0.0);
      continue;
    }
    std::fill(row, row + (visible.first - keys.first), 0.0);
    std::fill(row + (visible.end - keys.first), row + count, 0.0);
    rows_.push_back(pass.run(row + (visible.first - keys.first)));
  }
  if (count > 0) {
    add_ordered_product(rows, head.dv, count, scores_.data(), count,
                        operands_.v_columns().data() + keys.first, head.keys, o_.data(), head.dv);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const SurveyedRow& row = rows_[static_cast<std::size_t>(i)];
    for (std::int64_t x = 0; x < head.dv; ++x) {
      double& o = o_[static_cast<std::size_t>(i * head.dv + x)];
      o = row.kind == AttentionRowKind::regular  ? o / row.sum * operands_.v_scale()
          : row.kind == AttentionRowKind::masked ? 0
                                                 : kNan;
    }
  }
}

}  // namespace plumbline
