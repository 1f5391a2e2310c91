// SPDX-License-Identifier: MIT
// Shape classes of grouped GEMM: tile edges of every group, groups that share a tile, more groups
// than rows, tails, and empty dimensions.
#include "fuzz/grouped/shapes.h"

#include <algorithm>
#include <array>

#include "fuzz/case/draw.h"

namespace plumbline {

namespace {

constexpr std::array<std::int64_t, 14> kPrimes = {2,  3,  5,  7,  11, 13,  17,
                                                  31, 37, 61, 67, 71, 127, 131};

std::int64_t at_least_1(std::int64_t size) { return std::max<std::int64_t>(1, size); }

std::int64_t draw_edge(std::int64_t tile, Random& random) {
  return at_least_1(draw_one_of(random, std::array{tile - 1, tile, tile + 1, 2 * tile + 3}));
}

std::int64_t draw_n(Random& random) { return random.between(1, 40); }

std::int64_t draw_k(const GemmTile& tile, Random& random) {
  return at_least_1(draw_one_of(random, std::array{std::int64_t{1}, tile.k - 1, tile.k, tile.k + 1,
                                                   2 * tile.k + 3, random.between(2, 4 * tile.k)}));
}

GroupedSizes one(const GemmTile&, Profile, Random&) { return {1, 1, 1, 1}; }

GroupedSizes tiny(const GemmTile&, Profile, Random& random) {
  return {random.between(1, 16), random.between(1, 16), random.between(2, 16),
          random.between(1, 5)};
}

GroupedSizes one_group(const GemmTile& tile, Profile, Random& random) {
  return {random.between(1, 2 * tile.m), draw_n(random), draw_k(tile, random), 1};
}

GroupedSizes few_rows(const GemmTile& tile, Profile, Random& random) {
  const std::int64_t groups = random.between(3, 16);
  return {random.between(1, groups - 1), draw_n(random), draw_k(tile, random), groups};
}

// Spread evenly, every group ends at, before or past a tile's edge.
GroupedSizes group_edge(const GemmTile& tile, Profile, Random& random) {
  const std::int64_t groups = random.between(2, 4);
  return {groups * draw_edge(tile.m, random), draw_n(random), draw_k(tile, random), groups};
}

// One tile's rows belong to several groups, and one group's rows to several tiles.
GroupedSizes straddling(const GemmTile& tile, Profile, Random& random) {
  const std::int64_t rows = tile.m * random.between(1, 3) + random.between(1, tile.m);
  return {rows, draw_n(random), draw_k(tile, random), random.between(2, 9)};
}

GroupedSizes n_edge(const GemmTile& tile, Profile, Random& random) {
  return {random.between(1, 60), draw_edge(tile.n, random), draw_k(tile, random),
          random.between(2, 6)};
}

GroupedSizes k_tail(const GemmTile& tile, Profile, Random& random) {
  return {random.between(1, 150), random.between(1, 100), tile.k * random.between(1, 8) + 1,
          random.between(2, 6)};
}

GroupedSizes prime(const GemmTile&, Profile, Random& random) {
  return {draw_one_of(random, kPrimes), draw_one_of(random, kPrimes), draw_one_of(random, kPrimes),
          draw_one_of(random, std::array<std::int64_t, 4>{2, 3, 5, 7})};
}

GroupedSizes many_groups(const GemmTile& tile, Profile, Random& random) {
  if (random.below(4) == 0)
    return {random.between(16, 200), draw_n(random), draw_k(tile, random),
            draw_logarithmic(random, 17, 300)};
  return {random.between(16, 600), draw_n(random), draw_k(tile, random), random.between(12, 16)};
}

GroupedSizes many_tiles(const GemmTile& tile, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick ? 3 : profile == Profile::standard ? 5 : 10;
  return {random.between(tile.m, most * tile.m), random.between(tile.n, most * tile.n),
          random.between(1, most * tile.k), random.between(2, 8)};
}

GroupedSizes large_k(const GemmTile&, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick ? 4096 : 16384;
  return {random.between(2, 24), random.between(1, 17), random.between(2048, most),
          random.between(2, 5)};
}

GroupedSizes empty_m(const GemmTile& tile, Profile, Random& random) {
  return {0, random.between(1, 150), draw_k(tile, random), random.between(1, 16)};
}

GroupedSizes empty_n(const GemmTile& tile, Profile, Random& random) {
  return {random.between(1, 150), 0, draw_k(tile, random), random.between(1, 16)};
}

GroupedSizes empty_k(const GemmTile&, Profile, Random& random) {
  return {random.between(1, 150), random.between(1, 150), 0, random.between(1, 16)};
}

// clang-format off
constexpr std::array kShapeClasses = {
    GroupedShapeClass{{"one", "a single product in a single group"}, one},
    GroupedShapeClass{{"tiny", "every size at most 16: less than one fragment"}, tiny},
    GroupedShapeClass{{"one_group", "one group: a plain product"}, one_group},
    GroupedShapeClass{{"few_rows", "fewer rows than groups: some group has none"}, few_rows},
    GroupedShapeClass{{"group_edge", "groups of about a tile's rows: one short, whole, one past"}, group_edge},
    GroupedShapeClass{{"straddling", "tiles with rows of several groups, groups with rows of several tiles"}, straddling},
    GroupedShapeClass{{"n_edge", "columns at the edges of tiles: masks of the last column"}, n_edge},
    GroupedShapeClass{{"k_tail", "k one past whole tiles"}, k_tail},
    GroupedShapeClass{{"prime", "sizes that divide nothing"}, prime},
    GroupedShapeClass{{"many_groups", "12 to 300 groups: offsets that add up over many"}, many_groups},
    GroupedShapeClass{{"many_tiles", "several tiles in every direction: their order in the grid"}, many_tiles},
    GroupedShapeClass{{"large_k", "thousands of k: rounding adds up, narrow accumulators"}, large_k},
    GroupedShapeClass{{"empty_m", "m = 0: every group is empty, nothing may be touched"}, empty_m},
    GroupedShapeClass{{"empty_n", "n = 0: nothing to do, and nothing to touch"}, empty_n},
    GroupedShapeClass{{"empty_k", "k = 0: zeros, not what was there before"}, empty_k},
};

constexpr std::array kLayoutClasses = {
    ClassInfo{"nn", "every B stored as [k, n]"},
    ClassInfo{"nt", "every B stored as [n, k], as weights are"},
};
// clang-format on

}  // namespace

std::span<const GroupedShapeClass> grouped_shape_classes() { return kShapeClasses; }

std::span<const ClassInfo> grouped_layout_classes() { return kLayoutClasses; }

}  // namespace plumbline
