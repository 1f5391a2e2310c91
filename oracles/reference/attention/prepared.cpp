// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/prepared.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "oracles/base/assert.h"

namespace plumbline {
namespace {

// The classes of x + y where y may be left out.
ClassSet with_or_without(ClassSet x, ClassSet y) {
  ClassSet both = ClassSet::of_sum(x, y);
  for (const ResultClass one : {ResultClass::finite, ResultClass::plus_infinity,
                                ResultClass::minus_infinity, ResultClass::nan}) {
    if (x.has(one)) both.add(one);
  }
  return both;
}

// A row whose chosen keys have all the weight, in equal parts: P is 1 of each of them, which every
// format has, and 0 of all others. What is left are the errors of two sums. nullopt where V has a
// NaN or Inf, or LSE is in base 2: m log2(e) may be too large for f32.
std::optional<AttentionKnowledge> knowledge_of_chosen(int output, const AttentionOperands& operands,
                                                      const SurveyedRow& row, std::int64_t column) {
  const AttentionHead& head = operands.head();
  const bool is_lse = output == kAttentionLse;
  if (row.chosen.empty() || (is_lse ? head.lse_in_base_2 : !operands.special_values().empty()))
    return std::nullopt;
  AttentionKnowledge known;
  known.classes = ResultClass::finite;
  const auto count = static_cast<double>(row.chosen.size());
  if (is_lse) {
    known.exact = row.maximum * operands.to_natural() + std::log(count);
    known.bound = std::fabs(row.maximum) * operands.to_natural() * 0x1p-21 + std::log(count) + 1;
    return known;
  }
  double sum = 0;
  for (const std::int64_t j : row.chosen)
    sum += operands.v_columns()[static_cast<std::size_t>(column * head.keys + j)];
  known.exact = sum / count * operands.v_scale();
  // No accumulator of a tensor core keeps fewer than 13 bits, nor those of 16-bit elements fewer
  // than 21; and a mean is no larger than the largest value.
  const double unit = format(operands.contract().p).mantissa_bits >= 7 ? 0x1p-21 : 0x1p-12;
  const double keys = static_cast<double>(head.keys) + 16;
  known.bound = operands.v_largest(column) * std::min(2.0, keys * unit) + 0x1p-120;
  return known;
}

// Of all heads together, before their values are held twice over in double: 400 MB.
constexpr std::int64_t kMostElements = 1 << 25;

}  // namespace

std::shared_ptr<const AttentionOperands> PreparedAttention::operands(std::size_t head) const {
  const std::scoped_lock lock(mutex_);
  prepared_.resize(places.size());
  std::shared_ptr<const AttentionOperands>& kept = prepared_[head];
  if (kept) return kept;
  const std::int64_t elements = rows() * problem.d() +
                                problem.k->layout.count() / problem.kv_heads() * problem.heads() +
                                problem.v->layout.count() / problem.kv_heads() * problem.heads();
  if (elements > kMostElements) prepared_.assign(places.size(), nullptr);
  return kept = std::make_shared<const AttentionOperands>(attention_head(problem, places[head]),
                                                          contract);
}

AttentionPlace PreparedAttention::place(int output, std::int64_t index) const {
  const std::int64_t row = index / width(output), length = problem.q->layout.shape[2];
  const std::int64_t batch = row / length / problem.heads(), head = row / length % problem.heads();
  for (std::size_t h = 0; h < places.size(); ++h) {
    const HeadPlace& at = places[h];
    const std::int64_t query = row % length - at.first_query;
    if (at.batch == batch && at.head == head && query >= 0 && query < at.queries)
      return {h, query, index % width(output)};
  }
  PLUMB_ASSERT(false);
  return {};
}

ClassSet row_classes(AttentionRowKind kind, double lse) {
  if (kind == AttentionRowKind::nan && std::isnan(lse)) return ResultClass::nan;
  if (kind == AttentionRowKind::masked || kind == AttentionRowKind::nan)
    return lse < 0 ? ResultClass::minus_infinity : ResultClass::plus_infinity;
  return ResultClass::finite;
}

ClassSet output_classes(const AttentionOperands& operands, const DetailedRow& detail,
                        std::int64_t column) {
  const SurveyedRow& row = detail.row;
  if (row.kind == AttentionRowKind::nan) return ResultClass::nan;
  ClassSet classes = ResultClass::finite;
  const AttentionHead& head = operands.head();
  for (const std::int64_t j : operands.special_values()) {
    const float value = head.v[static_cast<std::size_t>(j * head.dv + column)];
    if (std::isfinite(value)) continue;
    const bool hidden = row.kind != AttentionRowKind::regular || j < row.keys.first ||
                        j >= row.keys.end ||
                        std::isinf(detail.logits[static_cast<std::size_t>(j - row.keys.first)]);
    if (hidden) {  // a kernel multiplies by 0, or not at all
      classes = with_or_without(classes, ResultClass::nan);
      continue;
    }
    const double p = detail.probabilities[static_cast<std::size_t>(j - row.keys.first)];
    const ProbabilityRounding& rounding = operands.rounding();
    ClassSet own = std::isnan(value) ? ResultClass::nan
                   : value > 0       ? ResultClass::plus_infinity
                                     : ResultClass::minus_infinity;
    // 0 * Inf is NaN, whether P is 0 or a later factor.
    double weight = 1;
    for (const SurveyedTile& tile : row.tiles) {
      if (j >= tile.first && j < tile.end) weight = tile.weight;
    }
    const double room = 4 * std::exp2(operands.contract().rescale_threshold);
    const bool surely_zero = rounding(p * room) == 0 || weight < 0x1p-140;
    const bool surely_not = rounding(p / room) > 0 && weight > 0x1p-100;
    if (surely_zero) own = ResultClass::nan;
    if (!surely_zero && !surely_not) own.add(ResultClass::nan);
    classes = ClassSet::of_sum(classes, own);
  }
  return classes;
}

AttentionKnowledge knowledge(int output, const AttentionOperands& operands, const DetailedRow& row,
                             std::int64_t column) {
  if (const auto chosen = knowledge_of_chosen(output, operands, row.row, column)) return *chosen;
  AttentionKnowledge known;
  if (output == kAttentionLse) {
    known.classes = row_classes(row.row.kind, row.row.lse);
    known.exact = row.row.lse;
    known.error = row.row.lse_error;
  } else {
    known.classes = output_classes(operands, row, column);
    known.exact =
        row.row.kind == AttentionRowKind::regular ? row.o[static_cast<std::size_t>(column)] : 0;
    known.error =
        row.row.kind == AttentionRowKind::regular ? output_error(row.row, operands, column) : 0;
    if (row.row.kind == AttentionRowKind::masked) known.bound = 0;
  }
  if (row.row.kind == AttentionRowKind::may_overflow) {
    known.bound = std::numeric_limits<double>::infinity();
    known.exact = 0;
  }
  return known;
}

AttentionKnowledge bounded_knowledge(int output, const AttentionOperands& operands,
                                     const DetailedRow& row, const RowBound& bound,
                                     std::int64_t column) {
  AttentionKnowledge known = knowledge(output, operands, row, column);
  if (row.row.kind != AttentionRowKind::regular) return known;
  if (output == kAttentionLse) {
    known.bound = bound.lse_error;
  } else {
    known.bound = bound.o_error[static_cast<std::size_t>(column)];
    known.magnitude = bound.magnitude[static_cast<std::size_t>(column)];
    known.error = std::min(known.error, row.row.error * known.magnitude * (1 + 0x1p-20) +
                                            0x1p-980 * operands.v_largest(column));
  }
  return known;
}

}  // namespace plumbline
