// SPDX-License-Identifier: MIT
// Designed cases of attention: the smallest inputs that must show a mask off by one or aligned to
// another corner, keys past the end that count, a maximum that moves without its sums, a head or a
// sequence taken for another, rows that see nothing.
#include "fuzz/attention/designed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fuzz/attention/shapes.h"
#include "fuzz/case/designed_cases.h"
#include "fuzz/case/far_apart.h"
#include "kernels/manifest/manifest.h"

namespace plumbline {

namespace {

// 1 / sqrt(64) and a scale that no width has.
constexpr std::string_view kScale = "scale=0.125", kOtherScale = "scale=0.3";

class Designer : public DesignedCases {
 public:
  explicit Designer(const Manifest& manifest)
      : tile_(attention_tile(manifest)),
        narrow_(fmt::format("d={}", attention_narrow_width(manifest))) {}

  void corners();
  void windows();
  void tails();
  void maxima();
  void hidden_rows();
  void lengths();
  void heads();
  void layouts();
  void widths();
  void sinks();
  void logits();
  void scales();
  void block_scales(bool heads_too);
  void parts();
  void arithmetic();
  void empty();

 private:
  struct Lengths {
    std::int64_t queries, keys;
  };

  // Narrow heads: for faults that have nothing to do with widths.
  void add(const Lengths& lengths, std::string_view rest, std::string_view value,
           std::string_view shape, std::string_view purpose) {
    add_wide(lengths, narrow_, rest, value, shape, purpose);
  }

  void add_wide(const Lengths& lengths, std::string_view widths, std::string_view rest,
                std::string_view value, std::string_view shape, std::string_view purpose,
                std::string_view layout = "bhs") {
    const std::string_view scale = rest.find("scale=") == rest.npos ? kScale : "";
    put(fmt::format("queries={} keys={} {} {} {}", lengths.queries, lengths.keys, widths, scale,
                    rest),
        value, shape, layout, purpose);
  }

  AttentionTile tile_;
  std::string narrow_;
};

constexpr std::array<std::string_view, 2> kCorners = {"causal=bottom_right", "causal=top_left"};

// The diagonal of a causal mask.
void Designer::corners() {
  const std::int64_t q = tile_.queries, k = tile_.keys;
  const std::string_view corner = "a causal mask aligned to the other corner";
  const std::string_view diagonal = "the diagonal itself hidden, or one key past it visible";
  for (const std::string_view causal : kCorners) {
    add({5, 12}, causal, "one_hot", "more_keys", corner);
    add({12, 5}, causal, "one_hot", "more_queries", corner);
    add({q + 3, 2 * k + 2}, causal, "normal", "more_keys", corner);
    add({2 * q + 2, k + 3}, causal, "normal", "more_queries", corner);
    add({7, 7}, causal, "index_code", "square", diagonal);
    add({q + 1, k + 1}, causal, "index_code", "square", diagonal);
    add({k, 2 * k}, causal, "one_hot", "more_keys", diagonal);
    add_wide({40, 40}, "d=40", causal, "identity_values", "square", diagonal);
  }
}

// Windows off by one key on either side, "all" taken for none, tiles of keys skipped wrongly.
void Designer::windows() {
  const std::int64_t k = tile_.keys;
  const std::string_view edge = "a window off by one key at either end";
  for (const std::string_view window :
       {"window_left=8", "window_right=8", "window_left=8 window_right=8",
        "window_left=8 causal=bottom_right", "window_left=8 causal=top_left",
        "window_left=8 window_right=0", "window_left=0"}) {
    add({16, 16}, window, "one_hot", "square", edge);
  }
  const std::string_view tiles = "tiles of keys that a window skips, or that it only touches";
  const std::string half = fmt::format("window_left={}", k);
  add({2 * k, 2 * k}, half, "index_code", "square", tiles);
  add({2 * k, 2 * k}, half + " causal=bottom_right", "one_hot", "square", tiles);
  add({9, 3 * k + 1}, fmt::format("window_left={} window_right=0", k - 1), "one_hot", "more_keys",
      tiles);
  add({3 * k + 1, 3 * k + 1}, "window_left=1 window_right=1", "normal", "square", tiles);
  const std::string_view corner = "windows that end outside of the keys, on either side";
  add({20, 9}, "window_left=2 window_right=2", "one_hot", "more_queries", corner);
  add({9, 20}, "window_left=2 causal=top_left", "one_hot", "more_keys", corner);
  add({9, 20}, "window_left=100000 window_right=100000", "normal", "more_keys", corner);
  add({20, 20}, "window_left=0 window_right=0", "index_code", "square", "one key for every query");
  const std::string_view long_window = "a long window off by one key";
  for (const std::int64_t window : {128, 200, 257, 1000, 4100}) {
    add({2, window + 3}, fmt::format("window_left={} out=f32", window), "normal", "more_keys",
        long_window);
    if (window < 300)
      add({window + 3, window + 3}, fmt::format("window_right={} out=f32", window), "normal",
          "square", long_window);
  }
}

// Keys past the last one: scored 0, counted, or read.
void Designer::tails() {
  const std::int64_t k = tile_.keys;
  const std::string_view counted = "keys past the end, scored 0 and counted";
  for (const std::int64_t keys : {std::int64_t{1}, k - 1, k + 1, 2 * k + 1, 2 * k + 30}) {
    const std::string_view shape = keys == 1 ? "tiny" : keys == k - 1 ? "key_edge" : "key_tail";
    add({5, keys}, "out=f32", "low_scores", shape, counted);
    add({5, keys}, "", "lowest_scores", shape, counted);
    add({5, keys}, "out=f32", "ones", shape, counted);
  }
  add({5, k}, "", "low_scores", "key_edge", "whole tiles: no key may be left out");
  const std::string_view queries = "rows past the last query";
  for (const std::int64_t rows : {tile_.queries - 1, tile_.queries + 1}) {
    add({rows, 9}, "heads=2", "index_code", "query_edge", queries);
  }
}

// The running maximum.
void Designer::maxima() {
  const std::int64_t k = tile_.keys;
  const std::string_view rescale =
      "sums that are not rescaled when a later tile raises the maximum";
  for (const std::string_view value : {"rising_scores", "last_key_highest"}) {
    add({9, 2 * k + 1}, "out=f32", value, "key_tail", rescale);
    add({9, 3 * k}, "", value, "key_edge", rescale);
    add({70, 3 * k + 7}, "causal=bottom_right", value, "more_keys", rescale);
    add({3, 9}, "", value, "tiny", "a maximum that rises within one tile");
  }
  const std::string_view later = "sums rescaled although the maximum stays";
  add({9, 3 * k}, "out=f32", "falling_scores", "key_edge", later);
  const std::string_view large = "exponentials taken without subtracting the maximum";
  for (const std::string_view value : {"high_scores", "low_scores", "lowest_scores", "huge_scores"})
    add({33, 2 * k + 5}, "out=f32", value, "more_keys", large);
}

// Rows that see no key: not NaN, not a mean of all.
void Designer::hidden_rows() {
  const std::int64_t k = tile_.keys;
  const std::string_view nothing = "rows that see no key";
  for (const std::string_view value : {"normal", "low_scores"}) {
    add({20, 7}, "causal=bottom_right", value, "more_queries", nothing);
    add({tile_.queries + 30, 20}, "causal=bottom_right", value, "more_queries", nothing);
    add({2 * tile_.queries + 1, 3}, "causal=bottom_right", value, "more_queries",
        "whole tiles of queries that see no key");
  }
  add({20, 7}, "window_left=2 window_right=2", "normal", "more_queries", nothing);
  add({40, 7}, "window_left=3 causal=top_left", "normal", "more_queries", nothing);
  add({20, 7}, "causal=bottom_right sink=f32 heads=5", "normal", "more_queries",
      "rows that see a sink and no key");
  const std::string_view biased = "keys, tiles and rows hidden by a bias of -inf";
  add({24, 20}, "bias=f32", "hidden_keys", "tiny", biased);
  add({24, 2 * k + 20}, "bias=f32", "hidden_keys", "more_keys", biased);
  add({24, 2 * k + 20}, "bias=f32 causal=bottom_right", "hidden_keys", "more_keys", biased);
  add({7, 2 * k + 20}, "bias=f32 heads=5 out=f32", "hidden_keys", "more_keys",
      "tiles hidden by -1e10 or the least f32, before those that are not");
  add({9, 2 * k}, "", "hidden_keys", "key_edge", "tiles whose weights are all 0");
}

// Sequences packed one after the other.
void Designer::lengths() {
  const std::int64_t k = tile_.keys;
  for (const std::string_view word : {"random", "gaps", "ones", "slack"}) {
    const std::string packed = fmt::format("lengths={}", word);
    const std::string_view offset = "rows, keys or LSE of another sequence";
    add({9, 12}, packed + " batch=5", "index_code", "batched", offset);
    add({9, 12}, packed + " batch=5 causal=bottom_right", "one_hot", "batched", offset);
    add({40, k}, packed + " batch=4 heads=2", "normal", "batched", offset);
    add({40, k}, packed + " batch=3 heads=4 kv_heads=2 causal=top_left", "head_constants",
        "batched", offset);
    add({17, k}, packed + " batch=4 out=f32", "low_scores", "batched",
        "keys of the next sequence, or past the end");
    add({9, 12}, packed + " batch=6 sink=f32 heads=2", "normal", "batched",
        "sequences without queries or keys");
  }
  add({9, 12}, "lengths=gaps batch=9", "low_scores", "batched",
      "sequences with queries and no keys: zeros, not NaN");
  add({9, 12}, "lengths=slack batch=3 layout=sbh pad=8", "normal", "batched",
      "rows after the last sequence");
  add({2, 9}, "lengths=random batch=67", "normal", "batched",
      "more sequences than a warp looks through at once");
}

// Which head of K and V a query head uses.
void Designer::heads() {
  const std::string_view purpose = "a head of K and V that belongs to other query heads";
  for (const std::string_view heads :
       {"heads=6 kv_heads=3", "heads=12 kv_heads=2", "heads=4 kv_heads=2", "heads=6 kv_heads=1",
        "heads=3", "heads=6 kv_heads=2"}) {
    add({5, 9}, heads, "head_constants", "grouped_heads", purpose);
    add({5, 9}, fmt::format("{} batch=2 layout=bsh", heads), "index_code", "grouped_heads",
        purpose);
  }
  const std::string_view odd = "groups that are no power of two nor a multiple of 3";
  for (const std::string_view heads : {"heads=10 kv_heads=2", "heads=14 kv_heads=2"})
    add({3, 9}, heads, "head_constants", "grouped_heads", odd);
  // Groups larger than a fragment has rows.
  for (const std::string_view heads : {"heads=16 kv_heads=2", "heads=34 kv_heads=2"})
    add({3, 9}, heads, "head_constants", "grouped_heads", purpose);
  add({1, tile_.keys + 1}, "heads=34 kv_heads=2 out=f32", "normal", "decode",
      "decoding with grouped heads");
  add({1, 5 * tile_.keys}, "heads=8 kv_heads=2", "normal", "decode", "decoding with grouped heads");
  add({1, 700}, "heads=4 kv_heads=1 out=f32", "positive", "decode", "a long row of one query");
  add({1, 300}, "batch=3 heads=2 causal=bottom_right", "rising_scores", "decode",
      "the only query sees every key");
}

void Designer::layouts() {
  const std::string_view purpose = "strides taken for those of another layout";
  for (const std::string_view layout : {"bhs", "bsh", "sbh"}) {
    const std::string sizes = fmt::format("batch=2 heads=3 layout={}", layout);
    add_wide({9, 12}, "d=16 dv=24", sizes, "index_code", "batched", purpose, layout);
    add_wide({9, 12}, narrow_, sizes + " pad=8", "index_code", "batched", purpose, "padded_8");
    add_wide({9, 12}, narrow_, sizes + " pad=3", "index_code", "batched", purpose, "padded_odd");
    add_wide({9, 12}, narrow_, sizes + " kv=shared", "one_hot", "batched",
             "one K and V for the whole batch: stride 0", layout);
  }
  for (const std::string_view layout : {"bhs", "bsh"})
    add_wide({6, 9}, narrow_, fmt::format("batch=2 heads=2 layout={} pad={}", layout, kFarApart),
             "normal", "batched", kFarPurpose, "padded_8");
  add_wide({70, 70}, "d=72", "batch=2 heads=2 layout=bsh pad=5", "normal", "padded_width", purpose,
           "padded_odd");
}

// Columns that belong to the next row, and widths written into the code.
void Designer::widths() {
  const std::string_view padded = "columns of a padded width: read from the next row, or kept";
  for (const std::int64_t d : {8, 24, 40, 72, 104, 128, 136, 192, 256}) {
    const std::string widths = fmt::format("d={}", d);
    const std::string_view shape = d > 128 ? "wide" : "padded_width";
    add_wide({9, 70}, widths, "heads=2", "normal", shape, padded);
    add_wide({9, 20}, widths, "heads=2 out=f32", "index_code", shape, padded);
  }
  const std::string_view two = "the width of keys taken for that of values";
  for (const std::string_view widths :
       {"d=64 dv=96", "d=192 dv=128", "d=72 dv=40", "d=8 dv=64", "d=128 dv=8", "d=64 dv=256"}) {
    add_wide({9, 70}, widths, "heads=2", "normal", "two_widths", two);
  }
}

// Five heads have five different sinks; see the value classes.
void Designer::sinks() {
  const std::string_view purpose =
      "a sink left out of the maximum or of the sum, or in other units";
  for (const std::string_view value :
       {"normal", "ones", "low_scores", "high_scores", "equal_scores"})
    add({3, 10}, "sink=f32 heads=5 out=f32", value, "tiny", purpose);
  add({3, 2 * tile_.keys + 1}, "sink=f32 heads=5 kv_heads=1", "rising_scores", "key_tail", purpose);
  add({9, 20}, "sink=f32 heads=5 softcap=2 scale=0.3", "normal", "tiny", purpose);
  add({3, 10}, "sink=f32 heads=40 kv_heads=5 out=f32", "normal", "grouped_heads",
      "the sink of another head, of more than a warp has lanes");
}

// What happens to scores before the softmax.
void Designer::logits() {
  const std::string_view scale = "a scale made from the width, or applied twice, or not at all";
  add_wide({9, 70}, "d=72", kOtherScale, "normal", "padded_width", scale);
  add_wide({9, 70}, "d=64", kOtherScale, "identity_values", "more_keys", scale);
  add_wide({9, 70}, "d=64", "scale=1 out=f32", "normal", "more_keys", scale);
  add_wide({9, 70}, "d=64", "scale=2.5 out=f32", "normal", "more_keys", scale);
  const std::string_view cap = "a cap left out, or in other units";
  add({9, 70}, "softcap=50 scale=2.5 out=f32", "high_scores", "more_keys", cap);
  for (const std::string_view words : {"softcap=2", "softcap=30 scale=0.3", "softcap=1.5 bias=f32"})
    add({9, 70}, words, "normal", "more_keys", cap);
  add({9, 70}, "softcap=30 out=f32", "high_scores", "more_keys", "scores far above the cap");
  const std::string_view bias = "a bias of another row or head, or before the scale";
  for (const std::string_view words :
       {"bias=f32 heads=3", "bias=f32 heads=4 kv_heads=2 batch=2", "bias=f32 causal=top_left",
        "bias=f32 kv=shared batch=2", "bias=f32 scale=0.3 softcap=30"}) {
    add({13, 70}, words, "normal", "more_keys", bias);
  }
  add({70, 2 * tile_.keys + 1}, "bias=f32 heads=2", "equal_scores", "key_tail", bias);
}

// Whole heads: every one of every sequence has three scales of its own.
void Designer::scales() {
  const std::int64_t k = tile_.keys;
  const std::string_view taken = "a scale of another head or sequence, of Q for K, or left out";
  for (const std::string_view heads :
       {"heads=6 kv_heads=3", "heads=4 kv_heads=2 batch=2", "heads=6 kv_heads=1", "heads=3"}) {
    for (const std::string_view value : {"normal", "head_constants"})
      add({5, 9}, fmt::format("scales=head {}", heads), value, "grouped_heads", taken);
  }
  for (const std::string_view lengths : {"random", "gaps", "slack"}) {
    add({9, 12}, fmt::format("scales=head batch=4 heads=2 lengths={}", lengths), "normal",
        "batched", taken);
  }
  add({9, 12}, "scales=head batch=3 heads=2 kv=shared", "normal", "batched",
      "one V for the whole batch, and as many scales as sequences");
  const std::string_view steps = "scales that some step of the way from scores to O lacks";
  for (const std::string_view words :
       {"softcap=2", "softcap=30 bias=f32", "bias=f32", "sink=f32 heads=5", "out=f32",
        "causal=bottom_right out=f32"}) {
    add({9, k + 9}, fmt::format("scales=head {}", words), "normal", "more_keys", steps);
  }
  for (const std::string_view value : {"rising_scores", "last_key_highest", "high_scores",
                                       "equal_scores", "cancelling", "outliers", "wide"})
    add({9, 2 * k + 9}, "scales=head out=f32", value, "key_tail", steps);
}

// Every 64 rows of Q and of K have a scale of their own, and maybe those of V. `heads_too`: so may
// whole heads, whose cases show what blocks have in common with them.
void Designer::block_scales(bool heads_too) {
  const std::int64_t q = tile_.queries, k = tile_.keys;
  const std::string_view taken = "a block's scale of another head, of Q for K, or left out";
  for (const std::string_view heads :
       {"heads=6 kv_heads=3", "heads=4 kv_heads=2 batch=2", "heads=6 kv_heads=1", "heads=3"}) {
    for (const std::string_view value : {"normal", "head_constants"})
      if (!heads_too)
        add({5, 9}, fmt::format("scales=block {}", heads), value, "grouped_heads", taken);
    add({q + 3, 2 * k + 5}, fmt::format("scales=block {}", heads), "normal", "grouped_heads",
        taken);
  }
  const std::string_view next = "the scale of the next block, or of the one before";
  for (const std::string_view value : {"normal", "rising_scores", "offset_keys"}) {
    add({q + 1, 3 * k + 1}, "scales=block out=f32", value, "key_tail", next);
    add({2 * q, 2 * k}, "scales=block causal=bottom_right", value, "square", next);
  }
  add({9, 4 * k}, fmt::format("scales=block window_left={}", k), "normal", "more_keys", next);
  const std::string_view shared =
      "blocks that two sequences share, and tiles that lie in two blocks";
  for (const std::string_view word : {"random", "gaps", "ones", "slack"}) {
    const std::string packed = fmt::format("scales=block lengths={}", word);
    add({30, 50}, packed + " batch=5", "normal", "batched", shared);
    add({q, k + 9}, packed + " batch=4 heads=4 kv_heads=2 out=f32", "normal", "batched", shared);
    add({40, 2 * k}, packed + " batch=3 causal=bottom_right", "one_hot", "batched", shared);
  }
  add({9, k + 12}, "scales=block batch=3 heads=2 kv=shared", "normal", "batched",
      "one K for the whole batch, and scales for each of its elements");
  const std::string_view steps = "scales that some step of the way from scores to O lacks";
  for (const std::string_view value : {"cancelling", "outliers", "wide"})
    add({9, 2 * k + 9}, "scales=block out=f32", value, "key_tail", steps);
  if (heads_too) return;
  for (const std::string_view words :
       {"softcap=2", "softcap=30 bias=f32", "bias=f32", "sink=f32 heads=5", "out=f32",
        "causal=bottom_right out=f32"}) {
    add({9, k + 9}, fmt::format("scales=block {}", words), "normal", "more_keys", steps);
  }
  for (const std::string_view value :
       {"last_key_highest", "high_scores", "equal_scores", "low_scores"})
    add({9, 2 * k + 9}, "scales=block out=f32", value, "key_tail", steps);
}

// Keys cut into parts of whole tiles: sums and maxima of each, empty ones, parts that a mask hides.
void Designer::parts() {
  const std::int64_t k = tile_.keys;
  const std::string_view joined = "parts joined without their maxima, in part, or twice";
  for (const std::string_view splits : {"splits=2", "splits=3", "splits=8"}) {
    for (const std::string_view value :
         {"rising_scores", "falling_scores", "last_key_highest", "normal", "high_scores"})
      add({3, 5 * k + 1}, fmt::format("{} out=f32", splits), value, "decode", joined);
    const std::string_view empty = "parts without a tile: neither NaN nor a weight of 1";
    for (const std::int64_t keys : {std::int64_t{1}, k, k + 1})
      add({2, keys}, splits, "low_scores", keys == 1 ? "tiny" : "key_edge", empty);
    add({2, 0}, splits, "normal", "empty", empty);
    const std::string_view hidden = "parts of which a row sees nothing";
    add({4 * k, 4 * k}, fmt::format("{} causal=bottom_right", splits), "normal", "square", hidden);
    add({9, 5 * k}, fmt::format("{} causal=top_left", splits), "low_scores", "more_keys", hidden);
    add({9, 4 * k}, fmt::format("{} window_left=10", splits), "lowest_scores", "more_keys", hidden);
    add({9, 3 * k}, fmt::format("{} bias=f32 heads=5", splits), "hidden_keys", "key_edge", hidden);
    add({3, 3 * k}, fmt::format("{} sink=f32 heads=5 out=f32", splits), "normal", "key_edge",
        "a sink that every part counts, or none");
    add({9, 3 * k}, fmt::format("{} batch=4 heads=2 lengths=random", splits), "normal", "batched",
        "parts of another sequence's length");
    add({2, 4 * k}, fmt::format("{} heads=6 kv_heads=3 batch=2", splits), "head_constants",
        "grouped_heads", "sums of another head's parts");
  }
  for (const std::string_view splits : {"splits=33", "splits=64"}) {
    add({2, 33 * k + 1}, splits, "normal", "decode", "more parts than a warp joins at once");
    add({2, 33 * k + 1}, fmt::format("{} out=f32", splits), "last_key_highest", "decode", joined);
  }
  add({1, 33003}, "splits=3 out=f32", "normal", "decode", "parts of more tiles than 8 bits count");
}

void Designer::arithmetic() {
  const std::int64_t k = tile_.keys;
  for (const std::string_view out : {"out=bf16", "out=f32"}) {
    add({9, 32}, out, "equal_scores", "tiny", "means that are exact");
    add({9, 4 * k}, out, "equal_scores", "key_edge", "means that are exact");
    add({9, 64}, out, "ties", "key_edge", "means on midpoints between outputs");
    add({9, 3 * k + 1}, out, "cancelling", "key_tail", "large values that cancel");
    add({9, k + 9}, out, "power_scaled", "key_tail", "a column or head off by a factor");
    add({9, 100}, out, "outliers", "more_keys", "a few large channels");
    add({9, 50}, out, "subnormal", "more_keys", "subnormal inputs or outputs flushed to zero");
    add({9, 50}, out, "wide", "more_keys", "values of very different sizes");
    add({9, 50}, out, "large", "more_keys", "overflow of sums that are not yet divided");
    add({9, 700}, out, "positive", "decode", "long sums of one sign");
  }
  const std::string_view special = "NaN and Inf reach the rows they belong to, and no other";
  for (const std::int64_t queries : {5, 6, 7, 8, 9, 10}) {
    add({queries, k + 6}, "bias=f32 sink=f32 heads=2", "specials", "more_keys", special);
    add({queries, 12}, "causal=bottom_right", "specials", "tiny", special);
  }
  add({7, k}, "lengths=random batch=3", "specials", "batched", special);
}

// Nothing to look at is not nothing to do.
void Designer::empty() {
  for (const std::string_view words : {"", "causal=bottom_right", "sink=f32 heads=2", "bias=f32",
                                       "window_left=4", "batch=2 kv=shared"}) {
    add({9, 0}, words, "normal", "empty", "no keys: zeros, not what was there");
  }
  add({0, 9}, "", "normal", "empty", "no queries: nothing may be touched");
  add({0, 0}, "batch=2", "normal", "empty", "nothing at all");
  add({9, 0}, "lengths=random batch=3", "normal", "empty", "no sequence has a key");
  add({0, 9}, "lengths=gaps batch=3", "normal", "empty", "no sequence has a query");
  add_wide({1, 1}, "d=8", "", "normal", "one", "the smallest problem there is");
}

// Whether the kernel has more of the field than its default.
bool has_field(const Manifest& manifest, std::string_view name) {
  return std::any_of(manifest.schema().begin(), manifest.schema().end(), [&](const Field& field) {
    return field.name == name &&
           (field.kind == FieldKind::word ? field.choices.size() > 1 : !field.fixed);
  });
}

bool has_word(const Manifest& manifest, std::string_view name, std::string_view word) {
  return std::any_of(manifest.schema().begin(), manifest.schema().end(), [&](const Field& field) {
    return field.name == name &&
           std::find(field.choices.begin(), field.choices.end(), word) != field.choices.end();
  });
}

}  // namespace

std::vector<DesignedCase> attention_designed(const Manifest& manifest) {
  Designer designer(manifest);
  designer.corners();
  designer.windows();
  designer.tails();
  designer.maxima();
  designer.hidden_rows();
  designer.lengths();
  designer.heads();
  designer.layouts();
  designer.widths();
  designer.sinks();
  designer.logits();
  designer.arithmetic();
  designer.empty();
  const bool of_heads = has_word(manifest, "scales", "head");
  if (of_heads) designer.scales();
  if (has_word(manifest, "scales", "block")) designer.block_scales(of_heads);
  if (has_field(manifest, "splits")) designer.parts();
  return designer.take();
}

}  // namespace plumbline
