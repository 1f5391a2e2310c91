// SPDX-License-Identifier: MIT
// Value classes of attention, as patterns: functions from a logical position to a value. What
// decides is the scores, so most classes choose those: their level, where along the keys the
// largest stand, and how far they lie apart.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "fuzz/attention/lengths.h"
#include "oracles/base/random.h"
#include "oracles/formats/format.h"
#include "oracles/reference/attention/mask.h"

namespace plumbline {

// A row counts within its sequence. Heads are query heads for q and bias, heads of K and V for k
// and v. Of a bias the row is the query, the column the key.
struct AttentionSpot {
  std::int64_t sequence = 0, head = 0, row = 0, column = 0;
};

// Draws of their own for every spot of one tensor.
class AttentionStream {
 public:
  AttentionStream(const Random& random, std::string_view tensor);

  Random operator()(const AttentionSpot& at) const {
    const auto of = [](std::int64_t index) { return static_cast<std::uint64_t>(index); };
    return random_.fork((of(at.sequence) << 53) ^ (of(at.head) << 41) ^ (of(at.row) << 15) ^
                        of(at.column));
  }

 private:
  Random random_;
};

struct AttentionContext {
  std::vector<SequenceLengths> sequences;
  std::int64_t heads = 1, kv_heads = 1;
  std::int64_t d = 1, dv = 1;
  double scale = 1;
  AttentionMask mask;
  bool has_bias = false;
  const Format* q = nullptr;
  const Format* k = nullptr;
  const Format* v = nullptr;
  Random random{0};  // of (class, seed)

  AttentionStream stream(std::string_view tensor) const { return {random, tensor}; }

  const SequenceLengths& lengths(const AttentionSpot& at) const {
    return sequences[static_cast<std::size_t>(at.sequence)];
  }

  std::int64_t kv_head(std::int64_t query_head) const { return query_head / (heads / kv_heads); }

  std::int64_t longest() const;  // keys of the longest sequence
};

using AttentionValues = std::function<double(const AttentionSpot&)>;

// One element set after the pattern has filled everything.
struct AttentionPlacement {
  std::string_view tensor;  // "q", "k", "v", "bias", or "sink", of which only the head counts
  AttentionSpot at;
  double value = 0;
};

struct AttentionPattern {
  AttentionValues q, k, v, bias;
  std::function<double(std::int64_t)> sink;  // of a query head
  std::vector<AttentionPlacement> placements;
};

struct AttentionValueClass {
  std::string_view name;
  AttentionPattern (*pattern)(const AttentionContext&);
};

std::span<const AttentionValueClass> attention_value_classes();

// Unit normal values of one tensor.
AttentionValues attention_normal_values(const AttentionContext& context, std::string_view tensor);

// Queries and keys whose scores, times scale, are `level` of the key (at most `most` in magnitude)
// plus normal ones of deviation `spread`; the rest as in class normal. The level takes the first
// half of the columns, so that it is the same for every query.
AttentionPattern attention_with_level(const AttentionContext& context, AttentionValues level,
                                      double most, double spread);

// Queries that each select one key: its score is at least 120 above those of all keys of another
// code, and keys have the same code only when there are more than 2^d of them.
AttentionPattern attention_selection(const AttentionContext& context);

// The key that a query selects there: at the edges of what it sees, just outside, or anywhere.
std::int64_t attention_selected_key(const AttentionContext& context, const AttentionSpot& query);

// attention/values_data.cpp: what data look like, and the ends of the range of formats.
AttentionPattern attention_normal(const AttentionContext& context);
AttentionPattern attention_positive(const AttentionContext& context);
AttentionPattern attention_ones(const AttentionContext& context);
AttentionPattern attention_outliers(const AttentionContext& context);
AttentionPattern attention_offset_keys(const AttentionContext& context);
AttentionPattern attention_cancelling(const AttentionContext& context);
AttentionPattern attention_wide(const AttentionContext& context);
AttentionPattern attention_subnormal(const AttentionContext& context);
AttentionPattern attention_large(const AttentionContext& context);
// attention/values_scores.cpp: how large scores are, and where the largest stand.
AttentionPattern attention_low_scores(const AttentionContext& context);
AttentionPattern attention_lowest_scores(const AttentionContext& context);
AttentionPattern attention_high_scores(const AttentionContext& context);
AttentionPattern attention_rising_scores(const AttentionContext& context);
AttentionPattern attention_falling_scores(const AttentionContext& context);
AttentionPattern attention_last_key_highest(const AttentionContext& context);
AttentionPattern attention_huge_scores(const AttentionContext& context);
// attention/values_exact.cpp: outputs that are known without rounding, or name what was read.
AttentionPattern attention_equal_scores(const AttentionContext& context);
AttentionPattern attention_ties(const AttentionContext& context);
AttentionPattern attention_one_hot(const AttentionContext& context);
AttentionPattern attention_index_code(const AttentionContext& context);
AttentionPattern attention_head_constants(const AttentionContext& context);
AttentionPattern attention_identity_values(const AttentionContext& context);
AttentionPattern attention_power_scaled(const AttentionContext& context);
// attention/values_hidden.cpp: keys without weight, and values that are no numbers.
AttentionPattern attention_hidden_keys(const AttentionContext& context);
AttentionPattern attention_specials(const AttentionContext& context);
AttentionPattern attention_zero_slices(const AttentionContext& context);

}  // namespace plumbline
