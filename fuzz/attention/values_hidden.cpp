// SPDX-License-Identifier: MIT
// Classes about keys that must have no weight, by a bias of -inf or far below, or a score far
// below, and about values that are no numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "fuzz/attention/values.h"
#include "fuzz/case/draw.h"
#include "oracles/base/numbers.h"

namespace plumbline {

namespace {

// What masks hold, a head each: frameworks put large finite numbers, or the least of f32
// (torch.finfo.min), in place of -inf.
constexpr std::array kMasks = {-kInfinity, -1e9, -kInfinity, -1e10,
                               -static_cast<double>(std::numeric_limits<float>::max())};

enum class Hidden : std::uint8_t { none, first_half, last_half, most, all_but_one, all, count };

bool hides(Hidden kind, std::int64_t key, std::int64_t keys, Random random) {
  switch (kind) {
    case Hidden::first_half:
      return key < keys / 2;
    case Hidden::last_half:
      return key >= (keys + 1) / 2;
    case Hidden::most:
      return random.below(4) != 0;
    case Hidden::all_but_one:
      return key != keys - 1 - keys / 3;
    case Hidden::all:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Each row of the bias hides other keys, some rows all of them; in some heads by a large finite
// number, with which a row that hides all its keys sees all of them alike. Where there is no bias,
// keys of each head have scores 1000 below the others', whose weight is exactly 0; never all, as
// then they would have some.
AttentionPattern attention_hidden_keys(const AttentionContext& context) {
  Random random = context.random.fork(1);
  constexpr auto kKinds = static_cast<std::int64_t>(Hidden::count);
  const std::int64_t turn = random.between(0, kKinds - 1);
  const AttentionStream hidden = context.stream("hidden");
  if (context.has_bias) {
    AttentionPattern pattern = attention_normal(context);
    pattern.bias = [=, normal = pattern.bias](const AttentionSpot& at) {
      const auto kind = static_cast<Hidden>((turn + at.head + at.row) % kKinds);
      const bool hide = hides(kind, at.column, context.lengths(at).keys, hidden(at));
      const double mask = kMasks[static_cast<std::size_t>(turn + at.head) % kMasks.size()];
      return hide ? mask : normal(at);
    };
    return pattern;
  }
  constexpr double kDepth = 1000;
  const auto level = [=](const AttentionSpot& key) {
    const auto kind = static_cast<Hidden>(1 + (turn + key.sequence + key.head) % (kKinds - 2));
    return hides(kind, key.row, context.lengths(key).keys, hidden(key)) ? -kDepth : 0.0;
  };
  return attention_with_level(context, level, kDepth, 1);
}

// One to three elements are NaN, infinite or -0: of a query, a key, a value, a bias or a sink. The
// last row and column are where masks go wrong: a quarter of the places.
AttentionPattern attention_specials(const AttentionContext& context) {
  AttentionPattern pattern = attention_normal(context);
  Random random = context.random.fork(1);
  const auto pick = [&](std::int64_t extent) {
    const std::int64_t any = random.between(0, extent - 1);
    return random.below(4) == 0 ? extent - 1 : any;
  };
  const std::int64_t events = random.between(1, 3);
  for (std::int64_t event = 0; event < events; ++event) {
    const std::int64_t sequence = pick(static_cast<std::int64_t>(context.sequences.size()));
    const auto [queries, keys] = context.sequences[static_cast<std::size_t>(sequence)];
    const std::int64_t head = pick(context.heads), kv_head = pick(context.kv_heads);
    const double infinity = draw_sign(random) * kInfinity;
    const double any = draw_one_of(random, std::array{kNan, infinity, -0.0});
    const std::uint64_t kind = random.below(6);
    if (kind == 0) pattern.placements.push_back({"sink", {0, head, 0, 0}, any});
    if (queries == 0 || keys == 0) continue;
    const std::int64_t query = pick(queries), key = pick(keys);
    const std::int64_t column = pick(context.d), value_column = pick(context.dv);
    const AttentionSpot value_spot{sequence, kv_head, key, value_column};
    switch (kind) {
      case 1:
        pattern.placements.push_back({"q", {sequence, head, query, column}, any});
        break;
      case 2:
        pattern.placements.push_back({"k", {sequence, kv_head, key, column}, any});
        break;
      case 3:
        pattern.placements.push_back({"v", value_spot, any});
        break;
      case 4: {  // Inf - Inf in the sum of P . V
        const AttentionSpot other{sequence, kv_head, pick(keys), value_column};
        pattern.placements.push_back({"v", value_spot, kInfinity});
        pattern.placements.push_back({"v", other, -kInfinity});
        break;
      }
      case 5:
        pattern.placements.push_back({"bias", {0, head, query, key}, any});
        break;
      default:
        break;
    }
  }
  return pattern;
}

// All of Q, of K or of V, or 64 rows of it, are zeros. A NaN or Inf stands against them: in a key
// that some query sees, or in a query, whose scores then are NaN, and so is its row of O.
AttentionPattern attention_zero_slices(const AttentionContext& context) {
  AttentionPattern pattern = attention_normal(context);
  Random random = context.random.fork(1);
  const auto pick = [&](std::int64_t extent) { return random.between(0, extent - 1); };
  constexpr std::int64_t kBand = 64;
  const std::uint64_t kind = random.below(3);
  const bool all = random.below(2) == 0;
  const std::uint64_t band = random.below(3);
  const auto with_zeros = [=](const AttentionValues& values) -> AttentionValues {
    return [=](const AttentionSpot& at) {
      return all || static_cast<std::uint64_t>(at.row / kBand) == band ? 0.0 : values(at);
    };
  };
  AttentionValues& zeros = kind == 0 ? pattern.q : kind == 1 ? pattern.k : pattern.v;
  zeros = with_zeros(zeros);
  const std::int64_t events = random.between(1, 3);
  for (std::int64_t event = 0; event < events; ++event) {
    const std::int64_t sequence = pick(static_cast<std::int64_t>(context.sequences.size()));
    const auto [queries, keys] = context.sequences[static_cast<std::size_t>(sequence)];
    if (queries == 0 || keys == 0) continue;
    const double value = draw_one_of(random, std::array{kNan, draw_sign(random) * kInfinity});
    const std::int64_t column = pick(context.d);
    if (kind == 0) {
      pattern.placements.push_back(
          {"k", {sequence, pick(context.kv_heads), pick(keys), column}, value});
    } else {
      pattern.placements.push_back(
          {"q", {sequence, pick(context.heads), pick(queries), column}, value});
    }
  }
  return pattern;
}

}  // namespace plumbline
