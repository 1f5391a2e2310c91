// SPDX-License-Identifier: MIT
// The table of attention's value classes, and the two ways to choose scores: a level per key, and
// the selection of single keys.
#include "fuzz/attention/values.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/case/draw.h"
#include "oracles/base/hash.h"

namespace plumbline {

namespace {

constexpr std::array kClasses = {
    AttentionValueClass{"normal", attention_normal},
    AttentionValueClass{"positive", attention_positive},
    AttentionValueClass{"ones", attention_ones},
    AttentionValueClass{"outliers", attention_outliers},
    AttentionValueClass{"offset_keys", attention_offset_keys},
    AttentionValueClass{"cancelling", attention_cancelling},
    AttentionValueClass{"wide", attention_wide},
    AttentionValueClass{"subnormal", attention_subnormal},
    AttentionValueClass{"large", attention_large},
    AttentionValueClass{"specials", attention_specials},
    AttentionValueClass{"zero_slices", attention_zero_slices},
    AttentionValueClass{"power_scaled", attention_power_scaled},
    AttentionValueClass{"one_hot", attention_one_hot},
    AttentionValueClass{"index_code", attention_index_code},
    AttentionValueClass{"ties", attention_ties},
    AttentionValueClass{"low_scores", attention_low_scores},
    AttentionValueClass{"lowest_scores", attention_lowest_scores},
    AttentionValueClass{"high_scores", attention_high_scores},
    AttentionValueClass{"rising_scores", attention_rising_scores},
    AttentionValueClass{"falling_scores", attention_falling_scores},
    AttentionValueClass{"last_key_highest", attention_last_key_highest},
    AttentionValueClass{"huge_scores", attention_huge_scores},
    AttentionValueClass{"equal_scores", attention_equal_scores},
    AttentionValueClass{"hidden_keys", attention_hidden_keys},
    AttentionValueClass{"head_constants", attention_head_constants},
    AttentionValueClass{"identity_values", attention_identity_values},
};

double power_of_two_near(double value) { return std::ldexp(1.0, std::ilogb(value)); }

// Scores of other keys lie at least this far below the selected one's: 110 where a bias is added.
constexpr double kMargin = 120;

// The sign of a key's code in one column: the key's own bits first, then a drawn sign.
double code_sign(const AttentionStream& codes, const AttentionSpot& key) {
  constexpr std::int64_t kCodeBits = 12;
  if (key.column < kCodeBits) return (key.row >> key.column & 1) != 0 ? 1.0 : -1.0;
  Random random = codes(key);
  return draw_sign(random);
}

}  // namespace

AttentionStream::AttentionStream(const Random& random, std::string_view tensor)
    : random_(random.fork(fingerprint(tensor))) {}

std::int64_t AttentionContext::longest() const {
  std::int64_t most = 0;
  for (const SequenceLengths& lengths : sequences) most = std::max(most, lengths.keys);
  return most;
}

AttentionValues attention_normal_values(const AttentionContext& context, std::string_view tensor) {
  return [stream = context.stream(tensor)](const AttentionSpot& at) {
    Random random = stream(at);
    return draw_normal(random);
  };
}

AttentionPattern attention_with_level(const AttentionContext& context, AttentionValues level,
                                      double most, double spread) {
  const std::int64_t columns = std::max<std::int64_t>(1, context.d / 2);
  const std::int64_t others = std::max<std::int64_t>(1, context.d - columns);
  // A score of 1 is this much in every product of the level's columns.
  const double product = 1 / (context.scale * static_cast<double>(columns));
  const double share = power_of_two_near(std::sqrt(most * product));
  const double gain = spread / (context.scale * std::sqrt(static_cast<double>(others)));
  const auto sign = [signs = context.stream("signs")](std::int64_t kv_head, std::int64_t column) {
    Random random = signs({0, kv_head, 0, column});
    return draw_sign(random);
  };
  AttentionPattern pattern = attention_normal(context);
  pattern.q = [=, normal = pattern.q](const AttentionSpot& at) {
    return at.column < columns ? share * sign(context.kv_head(at.head), at.column) : normal(at);
  };
  pattern.k = [=, normal = pattern.k](const AttentionSpot& at) {
    if (at.column >= columns) return gain * normal(at);
    return level({at.sequence, at.head, at.row, 0}) * product / share * sign(at.head, at.column);
  };
  return pattern;
}

// Every third query selects the last key it sees or the next, every third the first it sees or the
// one before; the others take turns, and the last of all keys is among them.
std::int64_t attention_selected_key(const AttentionContext& context, const AttentionSpot& query) {
  const auto [queries, keys] = context.lengths(query);
  const KeyRange seen = context.mask.visible(query.row, queries, keys);
  const std::array candidates = {seen.end - 1, seen.first,     std::int64_t{-1},
                                 seen.end,     seen.first - 1, std::int64_t{-1}};
  const std::int64_t key = candidates[static_cast<std::size_t>((query.row + query.head) % 6)];
  if (key >= 0 && key < keys) return key;
  return keys - 1 - (queries - 1 - query.row + 5 * query.head) * 7 % keys;
}

AttentionPattern attention_selection(const AttentionContext& context) {
  // Another code differs in some column, which takes twice a product away.
  const double product = kMargin / (2 * context.scale);
  const double share = power_of_two_near(std::sqrt(product));
  const double other_share = 2 * power_of_two_near(product / share);
  const AttentionStream codes = context.stream("codes");
  AttentionPattern pattern = attention_normal(context);
  pattern.q = [=](const AttentionSpot& at) {
    if (context.lengths(at).keys == 0) return share;
    const std::int64_t key = attention_selected_key(context, at);
    return share * code_sign(codes, {at.sequence, context.kv_head(at.head), key, at.column});
  };
  pattern.k = [=](const AttentionSpot& at) { return other_share * code_sign(codes, at); };
  return pattern;
}

std::span<const AttentionValueClass> attention_value_classes() { return kClasses; }

}  // namespace plumbline
