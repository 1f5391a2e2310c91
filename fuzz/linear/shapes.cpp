// SPDX-License-Identifier: MIT
#include "fuzz/linear/shapes.h"

#include <algorithm>
#include <array>

#include "fuzz/case/draw.h"

namespace plumbline {

namespace {

constexpr std::array<std::int64_t, 14> kPrimes = {2,  3,  5,  7,  11, 13,  17,
                                                  31, 37, 61, 67, 71, 127, 131};

std::int64_t at_least_1(std::int64_t size) { return std::max<std::int64_t>(1, size); }

// Any of the three sizes is a row, a column or the depth of some tile.
std::int64_t any_tile(const GemmTile& tile, Random& random) {
  return draw_one_of(random, std::array{tile.m, tile.n, tile.k, 2 * tile.k});
}

// One size, two or all three at `offset` from a tile's edge; others small.
LinearSizes draw_edges(const GemmTile& tile, std::int64_t offset, Random& random) {
  const std::uint64_t which = 1 + random.below(7);
  const auto draw = [&](std::uint64_t bit) {
    const std::int64_t edge = at_least_1(any_tile(tile, random) + offset);
    const std::int64_t small = random.between(1, 40);
    return (which & bit) != 0 ? edge : small;
  };
  const std::int64_t m = draw(1), n = draw(2), k = draw(4);
  return {m, n, k};
}

LinearSizes one(const GemmTile&, Profile, Random&) { return {1, 1, 1}; }

LinearSizes tiny(const GemmTile&, Profile, Random& random) {
  return {random.between(1, 16), random.between(1, 16), random.between(2, 16)};
}

LinearSizes square(const GemmTile&, Profile, Random& random) {
  const std::int64_t size = random.between(2, 80);
  return {size, size, size};
}

LinearSizes tile_minus_1(const GemmTile& tile, Profile, Random& random) {
  return draw_edges(tile, -1, random);
}

LinearSizes whole_tile(const GemmTile& tile, Profile, Random& random) {
  const std::int64_t m = any_tile(tile, random), n = any_tile(tile, random);
  return {m, n, any_tile(tile, random)};
}

LinearSizes tile_plus_1(const GemmTile& tile, Profile, Random& random) {
  return draw_edges(tile, 1, random);
}

LinearSizes two_tiles_plus_3(const GemmTile& tile, Profile, Random& random) {
  LinearSizes sizes = {random.between(1, 40), random.between(1, 40), random.between(1, 40)};
  std::int64_t* const all[] = {&sizes.m, &sizes.n, &sizes.k};
  *all[random.below(3)] = 2 * any_tile(tile, random) + 3;
  *all[random.below(3)] = 2 * any_tile(tile, random) + 3;
  return sizes;
}

LinearSizes many_tiles(const GemmTile& tile, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick ? 2 : profile == Profile::standard ? 4 : 8;
  const auto draw = [&](std::int64_t size) { return random.between(size, most * size); };
  const std::int64_t m = draw(tile.m), n = draw(tile.m);
  return {m, n, draw(tile.n)};
}

LinearSizes prime(const GemmTile&, Profile, Random& random) {
  const std::int64_t m = draw_one_of(random, kPrimes), n = draw_one_of(random, kPrimes);
  return {m, n, draw_one_of(random, kPrimes)};
}

LinearSizes one_token(const GemmTile&, Profile, Random& random) {
  return {1, random.between(1, 150), random.between(1, 150)};
}

LinearSizes one_feature(const GemmTile&, Profile, Random& random) {
  const std::int64_t m = random.between(1, 300), other = random.between(1, 150);
  return random.below(2) == 0 ? LinearSizes{m, 1, other} : LinearSizes{m, other, 1};
}

LinearSizes many_tokens(const GemmTile&, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick      ? 6000
                            : profile == Profile::standard ? 20000
                                                           : 60000;
  return {random.between(1000, most), random.between(1, 24), random.between(1, 24)};
}

LinearSizes many_features(const GemmTile&, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick ? 3000 : 12000;
  const std::int64_t many = random.between(1000, most), m = random.between(1, 24),
                     few = random.between(1, 24);
  return random.below(2) == 0 ? LinearSizes{m, many, few} : LinearSizes{m, few, many};
}

LinearSizes empty_m(const GemmTile&, Profile, Random& random) {
  return {0, random.between(1, 150), random.between(1, 150)};
}

LinearSizes empty_n(const GemmTile&, Profile, Random& random) {
  return {random.between(1, 150), 0, random.between(1, 150)};
}

LinearSizes empty_k(const GemmTile&, Profile, Random& random) {
  return {random.between(1, 150), random.between(1, 150), 0};
}

// clang-format off
constexpr std::array kShapeClasses = {
    LinearShapeClass{{"one", "one token, one feature in, one out"}, one},
    LinearShapeClass{{"tiny", "every size at most 16: less than one fragment"}, tiny},
    LinearShapeClass{{"square", "m = n = k: gradients and operands read transposed still fit"}, square},
    LinearShapeClass{{"tile_minus_1", "one short of a tile: masks of the last line"}, tile_minus_1},
    LinearShapeClass{{"tile", "whole tiles: no mask at all"}, whole_tile},
    LinearShapeClass{{"tile_plus_1", "one past a tile: a second tile with one line"}, tile_plus_1},
    LinearShapeClass{{"two_tiles_plus_3", "a short tail after whole tiles"}, two_tiles_plus_3},
    LinearShapeClass{{"many_tiles", "a grid of tiles in both gradients"}, many_tiles},
    LinearShapeClass{{"prime", "sizes that divide nothing"}, prime},
    LinearShapeClass{{"one_token", "m = 1: dw is an outer product, db is dy itself"}, one_token},
    LinearShapeClass{{"one_feature", "n = 1 or k = 1: gradients of one column"}, one_feature},
    LinearShapeClass{{"many_tokens", "thousands of tokens: long sums in dw and db"}, many_tokens},
    LinearShapeClass{{"many_features", "thousands of features: long sums in dx, wide gradients"}, many_features},
    LinearShapeClass{{"empty_m", "m = 0: dw and db are zeros, not what was there before"}, empty_m},
    LinearShapeClass{{"empty_n", "n = 0: dx is zeros, not what was there before"}, empty_n},
    LinearShapeClass{{"empty_k", "k = 0: db alone has elements"}, empty_k},
};
// clang-format on

}  // namespace

std::span<const LinearShapeClass> linear_shape_classes() { return kShapeClasses; }

}  // namespace plumbline
