// SPDX-License-Identifier: MIT
// Shape classes of quantization (block edges, vector tails, empty and long dimensions), and layout
// classes: rows of X and of the codes padded, aligned or odd.
#include "fuzz/quantize/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fuzz/case/draw.h"
#include "fuzz/quantize/values.h"

namespace plumbline {

namespace {

constexpr std::array<std::int64_t, 12> kPrimes = {2, 3, 5, 7, 13, 31, 61, 127, 131, 251, 257, 509};

QuantizeSizes one(Profile, Random&) { return {1, 1}; }

QuantizeSizes tiny(Profile, Random& random) {
  return {random.between(1, 16), random.between(1, 16)};
}

QuantizeSizes one_row(Profile, Random& random) { return {1, random.between(1, 1200)}; }

QuantizeSizes one_column(Profile, Random& random) { return {random.between(1, 1200), 1}; }

QuantizeSizes vector_tail(Profile, Random& random) {
  return {random.between(1, 40), 16 * random.between(1, 20) + random.between(1, 15)};
}

QuantizeSizes block_minus_1(Profile, Random& random) {
  return {random.between(1, 40), kColumnsOfScale * random.between(1, 4) - 1};
}

QuantizeSizes whole_blocks(Profile, Random& random) {
  return {random.between(1, 40), kColumnsOfScale * random.between(1, 6)};
}

QuantizeSizes block_plus_1(Profile, Random& random) {
  return {random.between(1, 40), kColumnsOfScale * random.between(1, 4) + 1};
}

QuantizeSizes row_edge(Profile, Random& random) {
  const std::int64_t rows = draw_one_of(random, std::array<std::int64_t, 5>{4, 8, 32, 128, 256});
  return {rows + random.between(-1, 1), random.between(1, 300)};
}

QuantizeSizes prime(Profile, Random& random) {
  const std::int64_t m = draw_one_of(random, kPrimes);
  return {m, draw_one_of(random, kPrimes)};
}

QuantizeSizes tall(Profile profile, Random& random) {
  return {random.between(1000, profile == Profile::quick ? 5000 : 40000), random.between(1, 40)};
}

QuantizeSizes wide(Profile profile, Random& random) {
  return {random.between(1, 12), random.between(2000, profile == Profile::quick ? 9000 : 60000)};
}

QuantizeSizes large(Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick      ? 400
                            : profile == Profile::standard ? 1000
                                                           : 4000;
  const std::int64_t m = random.between(most / 2, most);
  return {m, random.between(most / 2, most)};
}

QuantizeSizes empty_m(Profile, Random& random) { return {0, random.between(1, 300)}; }

QuantizeSizes empty_n(Profile, Random& random) { return {random.between(1, 300), 0}; }

std::string tight(const QuantizeSizes&, Random&) { return ""; }

std::int64_t aligned_stride(std::int64_t n, Random& random) {
  return (n + 15) / 16 * 16 + 16 * random.between(1, 3);
}

std::int64_t odd_stride(std::int64_t n, Random& random) {
  return n + 1 + 2 * random.between(0, 3) + n % 2;
}

std::string padded_x(const QuantizeSizes& sizes, Random& random) {
  return fmt::format("ldx={}", aligned_stride(sizes.n, random));
}

std::string padded_q(const QuantizeSizes& sizes, Random& random) {
  return fmt::format("ldq={}", aligned_stride(sizes.n, random));
}

std::string padded_both(const QuantizeSizes& sizes, Random& random) {
  const std::int64_t ldx = aligned_stride(sizes.n, random);
  return fmt::format("ldx={} ldq={}", ldx, ldx + 16);
}

std::string padded_odd(const QuantizeSizes& sizes, Random& random) {
  const std::int64_t ldx = odd_stride(sizes.n, random);
  return fmt::format("ldx={} ldq={}", ldx, odd_stride(sizes.n, random));
}

// clang-format off
constexpr std::array kShapeClasses = {
    QuantizeShapeClass{{"one", "a single element: its own maximum"}, one},
    QuantizeShapeClass{{"tiny", "at most 16 by 16: less than one warp's row"}, tiny},
    QuantizeShapeClass{{"one_row", "m = 1: one row's scale is the tensor's"}, one_row},
    QuantizeShapeClass{{"one_column", "n = 1: every element is its row's maximum"}, one_column},
    QuantizeShapeClass{{"vector_tail", "rows that end within a vector load"}, vector_tail},
    QuantizeShapeClass{{"block_minus_1", "one column short of blocks of 128"}, block_minus_1},
    QuantizeShapeClass{{"blocks", "whole blocks of 128 columns: no mask at all"}, whole_blocks},
    QuantizeShapeClass{{"block_plus_1", "a last block of one column"}, block_plus_1},
    QuantizeShapeClass{{"row_edge", "rows about 4 to 256: the edges of a grid's rows"}, row_edge},
    QuantizeShapeClass{{"prime", "sizes that divide nothing"}, prime},
    QuantizeShapeClass{{"tall", "thousands of short rows"}, tall},
    QuantizeShapeClass{{"wide", "thousands of columns: maxima joined from many parts"}, wide},
    QuantizeShapeClass{{"large", "a grid of blocks in both directions"}, large},
    QuantizeShapeClass{{"empty_m", "m = 0: a tensor without elements has the scale 1"}, empty_m},
    QuantizeShapeClass{{"empty_n", "n = 0: rows without elements have the scale 1"}, empty_n},
};

constexpr std::array kLayoutClasses = {
    QuantizeLayoutClass{{"tight", "rows without padding"}, tight},
    QuantizeLayoutClass{{"padded_x", "padding after each row of X: read, it is NaN"}, padded_x},
    QuantizeLayoutClass{{"padded_q", "padding after each row of codes: it must not be written"}, padded_q},
    QuantizeLayoutClass{{"padded_both", "different padding in X and in the codes"}, padded_both},
    QuantizeLayoutClass{{"padded_odd", "odd strides: no row but the first is aligned"}, padded_odd},
};
// clang-format on

}  // namespace

std::span<const QuantizeShapeClass> quantize_shape_classes() { return kShapeClasses; }

std::span<const QuantizeLayoutClass> quantize_layout_classes() { return kLayoutClasses; }

}  // namespace plumbline
