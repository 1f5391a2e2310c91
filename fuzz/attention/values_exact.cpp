// SPDX-License-Identifier: MIT
// Classes whose outputs are known without an oracle: equal scores make a mean, selected keys their
// row of V, constant values themselves.
#include <algorithm>
#include <cmath>

#include "fuzz/attention/values.h"
#include "fuzz/case/draw.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

// All keys of a head are equal, so are the scores of a row; every second query is 0, and its scores
// are exactly 0.
AttentionPattern with_equal_scores(const AttentionContext& context) {
  AttentionPattern pattern = attention_normal(context);
  pattern.q = [normal = pattern.q](const AttentionSpot& at) {
    return (at.row + at.head) % 2 == 0 ? 0.0 : normal(at);
  };
  pattern.k = [normal = pattern.k](const AttentionSpot& at) {
    return normal({at.sequence, at.head, 0, at.column});
  };
  // One for all keys of a row, and none for two rows of four.
  pattern.bias = [biases = context.stream("bias")](const AttentionSpot& at) {
    if (at.row % 4 < 2) return 0.0;
    Random random = biases({0, at.head, at.row, 0});
    return static_cast<double>(random.between(-32, 32)) / 4;
  };
  return pattern;
}

}  // namespace

AttentionPattern attention_equal_scores(const AttentionContext& context) {
  AttentionPattern pattern = with_equal_scores(context);
  pattern.v = [stream = context.stream("v")](const AttentionSpot& at) {
    Random random = stream(at);
    return static_cast<double>(random.between(-100, 100));
  };
  return pattern;
}

// Keys come in pairs, whose values are neighbors in V's format: the mean of a pair lies half way
// between them. All pairs of a column have the same mean.
AttentionPattern attention_ties(const AttentionContext& context) {
  AttentionPattern pattern = with_equal_scores(context);
  pattern.v = [columns = context.stream("columns"), element = context.v](const AttentionSpot& at) {
    Random of_column = columns({at.sequence, at.head, 0, at.column});
    const std::int64_t exponent = of_column.between(-3, 3);
    const std::uint64_t bits = encode(*element, draw_scaled(of_column, exponent));
    return to_double(*element, at.row % 2 == 0 ? bits : bits ^ 1);
  };
  return pattern;
}

AttentionPattern attention_one_hot(const AttentionContext& context) {
  return attention_selection(context);
}

// A value that no neighbor in any direction has: an integer below 2^8, or in formats that do not
// have all of these the number with that code.
AttentionPattern attention_index_code(const AttentionContext& context) {
  AttentionPattern pattern = attention_selection(context);
  const bool integers = context.v->precision() >= 8;
  const auto codes = integers ? 251 : static_cast<std::int64_t>(context.v->max_finite());
  pattern.v = [=, element = context.v](const AttentionSpot& at) {
    const std::int64_t code =
        1 + (at.sequence * 131 + at.head * 61 + at.row * 7 + at.column * 11) % codes;
    return integers ? static_cast<double>(code)
                    : to_double(*element, static_cast<std::uint64_t>(code));
  };
  return pattern;
}

// Values are the number of their head, counted through all sequences, with alternating signs.
AttentionPattern attention_head_constants(const AttentionContext& context) {
  AttentionPattern pattern = attention_normal(context);
  pattern.v = [kv_heads = context.kv_heads](const AttentionSpot& at) {
    const std::int64_t index = at.sequence * kv_heads + at.head;
    const auto magnitude = static_cast<double>(1 + index % 255);
    return index % 2 == 0 ? magnitude : -magnitude;
  };
  return pattern;
}

AttentionPattern attention_identity_values(const AttentionContext& context) {
  AttentionPattern pattern = attention_normal(context);
  pattern.v = [width = context.dv](const AttentionSpot& at) {
    return at.row % width == at.column ? 1.0 : 0.0;
  };
  return pattern;
}

// Integers times a power of two per head and column.
AttentionPattern attention_power_scaled(const AttentionContext& context) {
  AttentionPattern pattern = attention_normal(context);
  pattern.v = [stream = context.stream("v"), scales = context.stream("scales"),
               spread = std::min(24, context.v->emax() / 3)](const AttentionSpot& at) {
    Random of_column = scales({at.sequence, at.head, 0, at.column});
    Random random = stream(at);
    const auto value = static_cast<double>(random.between(-7, 7));
    return std::ldexp(value, static_cast<int>(of_column.between(-spread, spread)));
  };
  return pattern;
}

}  // namespace plumbline
