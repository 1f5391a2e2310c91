// SPDX-License-Identifier: MIT
// Shape classes of attention: edges of tiles along queries and keys, either longer than the other,
// decoding, heads that share keys, widths a kernel pads, and nothing at all.
#include "fuzz/attention/shapes.h"

#include <algorithm>
#include <array>

#include "fuzz/case/draw.h"
#include "kernels/manifest/manifest.h"

namespace plumbline {

namespace {

constexpr std::array<std::int64_t, 20> kPrimes = {2,  3,  5,  7,  11, 13,  17,  19,  23,  31,
                                                  37, 61, 67, 71, 97, 113, 127, 131, 149, 193};

std::int64_t at_least_1(std::int64_t size) { return std::max<std::int64_t>(1, size); }

// One short of, at, or one past a multiple of a tile.
std::int64_t draw_edge(std::int64_t tile, std::int64_t most_tiles, Random& random) {
  const std::int64_t whole = tile * random.between(1, most_tiles);
  return at_least_1(whole + random.between(-1, 1));
}

// How many tiles a long side may have.
std::int64_t most_tiles(Profile profile) {
  return profile == Profile::quick ? 3 : profile == Profile::standard ? 6 : 20;
}

std::int64_t draw_width(std::int64_t least, std::int64_t most, Random& random) {
  return 8 * random.between(least / 8, std::max(least, most) / 8);
}

// A problem of these lengths: a head or a few, widths that most models have or any.
AttentionSizes with_lengths(std::int64_t queries, std::int64_t keys, const AttentionTile& tile,
                            Random& random) {
  constexpr std::array<std::array<std::int64_t, 2>, 6> kHeads = {
      {{1, 1}, {1, 1}, {2, 2}, {2, 1}, {3, 1}, {3, 3}}};
  AttentionSizes sizes{queries, keys};
  const bool usual = random.below(2) == 0;
  sizes.d = usual ? std::min<std::int64_t>(64, tile.widest)
                  : draw_width(8, std::min<std::int64_t>(128, tile.widest), random);
  sizes.dv = sizes.d;
  const auto& heads = draw_one_of(random, kHeads);
  sizes.heads = heads[0], sizes.kv_heads = heads[1];
  sizes.batch = random.below(4) == 0 ? 2 : 1;
  return sizes;
}

AttentionSizes one(const AttentionTile&, Profile, Random&) { return {1, 1, 8, 8}; }

AttentionSizes tiny(const AttentionTile& tile, Profile, Random& random) {
  AttentionSizes sizes = with_lengths(random.between(1, 16), random.between(1, 16), tile, random);
  sizes.d = sizes.dv = draw_width(8, std::min<std::int64_t>(32, tile.widest), random);
  return sizes;
}

AttentionSizes square(const AttentionTile& tile, Profile profile, Random& random) {
  const std::int64_t length = random.between(2, 40 * most_tiles(profile));
  return with_lengths(length, length, tile, random);
}

AttentionSizes query_edge(const AttentionTile& tile, Profile profile, Random& random) {
  const std::int64_t queries = draw_edge(tile.queries, most_tiles(profile) - 1, random);
  return with_lengths(queries, random.between(1, 150), tile, random);
}

AttentionSizes key_edge(const AttentionTile& tile, Profile profile, Random& random) {
  const std::int64_t keys = draw_edge(tile.keys, most_tiles(profile), random);
  return with_lengths(random.between(1, 100), keys, tile, random);
}

AttentionSizes key_tail(const AttentionTile& tile, Profile profile, Random& random) {
  const std::int64_t keys = tile.keys * random.between(1, most_tiles(profile)) + 1;
  return with_lengths(random.between(1, 80), keys, tile, random);
}

AttentionSizes more_queries(const AttentionTile& tile, Profile profile, Random& random) {
  const std::int64_t keys = random.between(1, 100);
  const std::int64_t more = random.between(1, tile.queries * (most_tiles(profile) - 1));
  return with_lengths(keys + more, keys, tile, random);
}

AttentionSizes more_keys(const AttentionTile& tile, Profile profile, Random& random) {
  const std::int64_t queries = random.between(2, 100);
  const std::int64_t more = random.between(1, tile.keys * (most_tiles(profile) - 1));
  return with_lengths(queries, queries + more, tile, random);
}

AttentionSizes prime(const AttentionTile& tile, Profile, Random& random) {
  const std::int64_t queries = draw_one_of(random, kPrimes);
  return with_lengths(queries, draw_one_of(random, kPrimes), tile, random);
}

AttentionSizes many_tiles(const AttentionTile& tile, Profile profile, Random& random) {
  const std::int64_t most = most_tiles(profile);
  const std::int64_t queries = random.between(tile.queries + 1, most * tile.queries);
  return with_lengths(queries, random.between(tile.keys + 1, most * tile.keys), tile, random);
}

AttentionSizes decode(const AttentionTile& tile, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick ? 1024 : 4096;
  const bool single = random.below(2) == 0;
  AttentionSizes sizes =
      with_lengths(single ? 1 : random.between(2, 16), random.between(200, most), tile, random);
  sizes.d = sizes.dv = std::min<std::int64_t>(64, tile.widest);
  return sizes;
}

AttentionSizes grouped_heads(const AttentionTile& tile, Profile, Random& random) {
  constexpr std::array<std::array<std::int64_t, 2>, 7> kHeads = {
      {{4, 2}, {6, 3}, {6, 2}, {6, 1}, {4, 1}, {12, 2}, {9, 3}}};
  AttentionSizes sizes = with_lengths(random.between(1, 70), random.between(1, 90), tile, random);
  const auto& heads = draw_one_of(random, kHeads);
  sizes.heads = heads[0], sizes.kv_heads = heads[1];
  if (random.below(4) == 0) {  // any group, and fewer rows
    sizes.kv_heads = random.between(1, 3);
    sizes.heads = sizes.kv_heads * draw_logarithmic(random, 5, 48);
    sizes.queries = random.between(1, 9), sizes.keys = random.between(1, 40);
  }
  sizes.batch = 1;
  sizes.d = sizes.dv = draw_width(8, std::min<std::int64_t>(64, tile.widest), random);
  return sizes;
}

AttentionSizes batched(const AttentionTile& tile, Profile profile, Random& random) {
  AttentionSizes sizes = with_lengths(random.between(1, 80), random.between(1, 100), tile, random);
  sizes.batch = random.between(2, profile == Profile::quick ? 4 : 9);
  sizes.heads = random.between(1, 2);
  sizes.kv_heads = sizes.heads;
  return sizes;
}

// Widths that are no power of two, so that a kernel pads them.
AttentionSizes padded_width(const AttentionTile& tile, Profile, Random& random) {
  constexpr std::array<std::int64_t, 8> kWidths = {8, 24, 40, 56, 72, 80, 104, 120};
  AttentionSizes sizes = with_lengths(random.between(1, 100), random.between(1, 130), tile, random);
  sizes.d = std::min(draw_one_of(random, kWidths), tile.widest);
  sizes.dv = sizes.d;
  return sizes;
}

AttentionSizes wide(const AttentionTile& tile, Profile, Random& random) {
  AttentionSizes sizes = with_lengths(random.between(1, 70), random.between(1, 100), tile, random);
  const bool widest = random.below(2) == 0;
  sizes.d = widest ? tile.widest
                   : draw_width(std::min<std::int64_t>(136, tile.widest), tile.widest, random);
  sizes.dv = sizes.d;
  return sizes;
}

AttentionSizes two_widths(const AttentionTile& tile, Profile, Random& random) {
  AttentionSizes sizes = with_lengths(random.between(1, 100), random.between(1, 130), tile, random);
  const std::int64_t most = std::min<std::int64_t>(192, tile.widest);
  sizes.d = draw_width(8, most, random);
  const std::int64_t other = draw_width(8, most, random);
  sizes.dv = other != sizes.d ? other : other > 8 ? other - 8 : 16;
  return sizes;
}

AttentionSizes empty(const AttentionTile& tile, Profile, Random& random) {
  const bool no_keys = random.below(2) == 0;
  const std::int64_t length = random.between(1, 100);
  return with_lengths(no_keys ? length : 0, no_keys ? 0 : length, tile, random);
}

// clang-format off
constexpr std::array kShapeClasses = {
    AttentionShapeClass{{"one", "one query, one key: the smallest problem there is"}, one},
    AttentionShapeClass{{"tiny", "at most 16 queries and keys: less than one tile"}, tiny},
    AttentionShapeClass{{"square", "as many queries as keys: both corners of a causal mask agree"}, square},
    AttentionShapeClass{{"query_edge", "queries at the edge of tiles: rows masked or stored too far"}, query_edge},
    AttentionShapeClass{{"key_edge", "keys at the edge of tiles: one short, whole, one past"}, key_edge},
    AttentionShapeClass{{"key_tail", "keys one past whole tiles: a last tile of one key"}, key_tail},
    AttentionShapeClass{{"more_queries", "more queries than keys: rows that see no key, diagonals that start outside"}, more_queries},
    AttentionShapeClass{{"more_keys", "more keys than queries: the corner a causal mask is aligned to"}, more_keys},
    AttentionShapeClass{{"prime", "lengths that divide nothing"}, prime},
    AttentionShapeClass{{"many_tiles", "several tiles both ways: maxima that move, tiles a mask skips"}, many_tiles},
    AttentionShapeClass{{"decode", "few queries, many keys: long sums of one row"}, decode},
    AttentionShapeClass{{"grouped_heads", "query heads that share heads of K and V, in groups of every size"}, grouped_heads},
    AttentionShapeClass{{"batched", "several sequences: their strides and offsets"}, batched},
    AttentionShapeClass{{"padded_width", "widths a kernel pads: columns that belong to the next row"}, padded_width},
    AttentionShapeClass{{"wide", "the widest heads a kernel takes"}, wide},
    AttentionShapeClass{{"two_widths", "values wider or narrower than queries and keys"}, two_widths},
    AttentionShapeClass{{"empty", "no queries, or no keys: zeros, not what was there before"}, empty},
};

// clang-format on

// At some length: a kernel may take whole tiles only.
bool takes_width(const Manifest& manifest, std::int64_t width) {
  constexpr std::array<std::int64_t, 4> kLengths = {1, 64, 128, 1024};
  return std::ranges::any_of(kLengths, [&](std::int64_t length) {
    Problem problem(manifest.schema());
    for (const std::string_view field : {"queries", "keys"}) problem.set_integer(field, length);
    problem.set_integer("d", width);
    return !manifest.excluded(problem) && manifest.tensors(problem).ok();
  });
}

}  // namespace

AttentionTile attention_tile(const Manifest& manifest) {
  AttentionTile tile;
  const auto read = [&](const char* name, std::int64_t& size) {
    if (const auto found = manifest.tile.find(name); found != manifest.tile.end())
      size = at_least_1(found->second);
  };
  read("queries", tile.queries);
  read("keys", tile.keys);
  read("d", tile.d);
  while (tile.widest > 8 && !takes_width(manifest, tile.widest)) tile.widest -= 8;
  return tile;
}

std::int64_t attention_narrow_width(const Manifest& manifest) {
  constexpr std::int64_t kUsual = 16;
  const std::int64_t widest = attention_tile(manifest).widest;
  std::int64_t width = std::min(kUsual, widest);
  while (width < widest && !takes_width(manifest, width)) width += 8;
  return width;
}

std::span<const AttentionShapeClass> attention_shape_classes() { return kShapeClasses; }

}  // namespace plumbline
