// SPDX-License-Identifier: MIT
// Classes about the scores: what an online softmax meets as its running maximum moves. Faults hide
// where all scores are near 0: a key that was scored 0 by mistake, a sum that was not rescaled, an
// exponential that overflows.
#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/attention/values.h"
#include "fuzz/case/draw.h"

namespace plumbline {

namespace {

constexpr double kSpread = 1.5;  // deviation of the scores around their level

// In half of the cases sinks are at that level, too: any other takes all of every row, or nothing.
AttentionPattern one_level(const AttentionContext& context, double level) {
  AttentionPattern pattern = attention_with_level(
      context, [level](const AttentionSpot&) { return level; }, std::fabs(level), kSpread);
  if (context.random.fork(1).below(2) == 0) {
    pattern.sink = [level, about_0 = pattern.sink](std::int64_t head) {
      return level + about_0(head);
    };
  }
  return pattern;
}

// A level that changes by the same step from key to key, slowly or fast.
AttentionPattern sloped(const AttentionContext& context, double direction) {
  Random random = context.random.fork(1);
  const double step = direction * draw_one_of(random, std::array{0.125, 0.5, 2.0});
  const double most = std::max(1.0, std::fabs(step) * static_cast<double>(context.longest()));
  const auto level = [step](const AttentionSpot& key) {
    return step * static_cast<double>(key.row);
  };
  return attention_with_level(context, level, most, 0.5);
}

}  // namespace

AttentionPattern attention_low_scores(const AttentionContext& context) {
  return one_level(context, -100);
}

AttentionPattern attention_lowest_scores(const AttentionContext& context) {
  return one_level(context, -1e5);
}

// 30 to 100, another level for every head of K.
AttentionPattern attention_high_scores(const AttentionContext& context) {
  const auto level = [levels = context.stream("levels")](const AttentionSpot& key) {
    Random random = levels({key.sequence, key.head, 0, 0});
    return static_cast<double>(random.between(30, 100));
  };
  return attention_with_level(context, level, 100, kSpread);
}

AttentionPattern attention_rising_scores(const AttentionContext& context) {
  return sloped(context, 1);
}

AttentionPattern attention_falling_scores(const AttentionContext& context) {
  return sloped(context, -1);
}

AttentionPattern attention_last_key_highest(const AttentionContext& context) {
  constexpr double kHeight = 25;
  const auto level = [context](const AttentionSpot& key) {
    return key.row == context.lengths(key).keys - 1 ? kHeight : 0.0;
  };
  return attention_with_level(context, level, kHeight, 1);
}

// Rows whose scores deviate by 2^3 to 2^11.
AttentionPattern attention_huge_scores(const AttentionContext& context) {
  const double unit = 1 / (context.scale * std::sqrt(static_cast<double>(context.d)));
  AttentionPattern pattern = attention_normal(context);
  pattern.q = [unit, normal = pattern.q, rows = context.stream("rows")](const AttentionSpot& at) {
    Random random = rows({at.sequence, at.head, at.row, 0});
    return std::ldexp(unit * normal(at), static_cast<int>(random.between(3, 11)));
  };
  return pattern;
}

}  // namespace plumbline
