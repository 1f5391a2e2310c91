// SPDX-License-Identifier: MIT
// Shape classes of GEMM: tile edges, tails, primes, empty dimensions, long k, matrices with one
// long dimension, batches.
#include "fuzz/gemm/shapes.h"

#include <algorithm>

#include "fuzz/case/draw.h"
#include "oracles/base/assert.h"

namespace plumbline {

namespace {

constexpr std::array<std::int64_t, 30> kPrimes = {2,   3,   5,   7,   11,  13,  17,  19,  23,  29,
                                                  31,  37,  41,  43,  47,  53,  59,  61,  67,  71,
                                                  101, 113, 127, 131, 137, 149, 191, 193, 251, 257};

// k where the class is about m and n: the edges of k tiles, or anything short.
std::int64_t draw_k(const GemmTile& tile, Random& random) {
  const std::array edges = {
      std::int64_t{1}, tile.k - 1,     tile.k,     tile.k + 1,
      2 * tile.k - 1,  2 * tile.k + 3, 3 * tile.k, random.between(2, 4 * tile.k)};
  return std::max<std::int64_t>(1, draw_one_of(random, edges));
}

// m and n near a tile's edge: usually both; else one of them and the other small, so that m != n.
GemmSizes draw_edge(const GemmTile& tile, std::int64_t m, std::int64_t n, Random& random) {
  GemmSizes sizes{std::max<std::int64_t>(1, m), std::max<std::int64_t>(1, n), draw_k(tile, random)};
  const std::uint64_t kind = random.below(4);
  if (kind == 0) sizes.m = random.between(1, 40);
  if (kind == 1) sizes.n = random.between(1, 40);
  return sizes;
}

GemmSizes one(const GemmTile&, Profile, Random&) { return {1, 1, 1}; }

GemmSizes tiny(const GemmTile&, Profile, Random& random) {
  return {random.between(1, 16), random.between(1, 16), random.between(2, 16)};
}

GemmSizes square(const GemmTile&, Profile, Random& random) {
  const std::int64_t size = random.between(2, 80);
  return {size, size, size};
}

GemmSizes tile_minus_1(const GemmTile& tile, Profile, Random& random) {
  return draw_edge(tile, tile.m - 1, tile.n - 1, random);
}

GemmSizes whole_tile(const GemmTile& tile, Profile, Random& random) {
  GemmSizes sizes = draw_edge(tile, tile.m, tile.n, random);
  sizes.k = tile.k * random.between(1, 4);
  return sizes;
}

GemmSizes tile_plus_1(const GemmTile& tile, Profile, Random& random) {
  return draw_edge(tile, tile.m + 1, tile.n + 1, random);
}

GemmSizes two_tiles_plus_3(const GemmTile& tile, Profile, Random& random) {
  return draw_edge(tile, 2 * tile.m + 3, 2 * tile.n + 3, random);
}

GemmSizes many_tiles(const GemmTile& tile, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick ? 3 : profile == Profile::standard ? 5 : 10;
  return {random.between(tile.m, most * tile.m), random.between(tile.n, most * tile.n),
          random.between(1, most * tile.k)};
}

GemmSizes prime(const GemmTile&, Profile, Random& random) {
  return {draw_one_of(random, kPrimes), draw_one_of(random, kPrimes), draw_one_of(random, kPrimes)};
}

GemmSizes k_tail(const GemmTile& tile, Profile, Random& random) {
  const bool short_k = random.below(3) == 0 && tile.k > 1;
  const std::int64_t k =
      short_k ? random.between(1, tile.k - 1) : tile.k * random.between(1, 8) + 1;
  return {random.between(1, 150), random.between(1, 150), k};
}

GemmSizes empty_m(const GemmTile& tile, Profile, Random& random) {
  return {0, random.between(1, 150), draw_k(tile, random)};
}

GemmSizes empty_n(const GemmTile& tile, Profile, Random& random) {
  return {random.between(1, 150), 0, draw_k(tile, random)};
}

GemmSizes empty_k(const GemmTile&, Profile, Random& random) {
  return {random.between(1, 150), random.between(1, 150), 0};
}

GemmSizes tall(const GemmTile& tile, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick      ? 2500
                            : profile == Profile::standard ? 6000
                                                           : 40000;
  return {random.between(500, most), random.below(2) == 0 ? 1 : random.between(2, 8),
          random.between(1, 2 * tile.k)};
}

GemmSizes wide(const GemmTile& tile, Profile profile, Random& random) {
  const GemmSizes sizes = tall(tile, profile, random);
  return {sizes.n, sizes.m, sizes.k};
}

GemmSizes large_k(const GemmTile& tile, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick      ? 4096
                            : profile == Profile::standard ? 16384
                                                           : 32768;
  const bool tail = random.below(2) == 0;
  const std::int64_t k =
      random.between(std::max<std::int64_t>(1, 2048 / tile.k), most / tile.k - 1) * tile.k;
  return {random.between(1, 17), random.between(1, 17),
          std::max<std::int64_t>(1, tail ? k + 1 : k)};
}

GemmSizes batched(const GemmTile& tile, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick ? 5 : 9;
  if (random.below(4) == 0)  // many small matrices
    return {random.between(1, 40), random.between(1, 40), random.between(1, tile.k + 3),
            draw_logarithmic(random, 6, 96)};
  return {random.between(1, tile.m + 10), random.between(1, tile.n + 10),
          random.between(1, 2 * tile.k + 3), random.between(2, most)};
}

// clang-format off
constexpr std::array kShapeClasses = {
    GemmShapeClass{{"one", "a single product: the smallest problem there is"}, one},
    GemmShapeClass{{"tiny", "every size at most 16: less than one fragment"}, tiny},
    GemmShapeClass{{"square", "m = n = k: operands read transposed still fit"}, square},
    GemmShapeClass{{"tile_minus_1", "one short of a tile: masks of the last line"}, tile_minus_1},
    GemmShapeClass{{"tile", "whole tiles: no mask at all"}, whole_tile},
    GemmShapeClass{{"tile_plus_1", "one past a tile: a second tile with one line"}, tile_plus_1},
    GemmShapeClass{{"two_tiles_plus_3", "a short tail after whole tiles"}, two_tiles_plus_3},
    GemmShapeClass{{"many_tiles", "a grid of tiles: their order, and offsets that grow"}, many_tiles},
    GemmShapeClass{{"prime", "sizes that divide nothing"}, prime},
    GemmShapeClass{{"k_tail", "k one past whole tiles, or shorter than one"}, k_tail},
    GemmShapeClass{{"empty_m", "m = 0: nothing to do, and nothing to touch"}, empty_m},
    GemmShapeClass{{"empty_n", "n = 0: nothing to do, and nothing to touch"}, empty_n},
    GemmShapeClass{{"empty_k", "k = 0: beta * C + bias, not what was there before"}, empty_k},
    GemmShapeClass{{"tall", "thousands of rows, few columns"}, tall},
    GemmShapeClass{{"wide", "thousands of columns, few rows"}, wide},
    GemmShapeClass{{"large_k", "thousands of k: rounding adds up, narrow accumulators"}, large_k},
    GemmShapeClass{{"batched", "several matrices: batch strides and offsets"}, batched},
};
// clang-format on

}  // namespace

GemmTile gemm_tile(const Manifest& manifest) {
  GemmTile tile;
  const auto read = [&](const char* name, std::int64_t& size) {
    if (const auto found = manifest.tile.find(name); found != manifest.tile.end()) {
      size = std::max<std::int64_t>(1, found->second);
    }
  };
  read("m", tile.m);
  read("n", tile.n);
  read("k", tile.k);
  return tile;
}

std::span<const GemmShapeClass> gemm_shape_classes() { return kShapeClasses; }

}  // namespace plumbline
