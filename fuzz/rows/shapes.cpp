// SPDX-License-Identifier: MIT
// Shape classes of the row operations (vector tails, the columns one block of threads takes at a
// time, the rows that share a partial sum of dgamma, empty and long dimensions), and layout
// classes.
#include "fuzz/rows/shapes.h"

#include <fmt/format.h>

#include <array>

#include "fuzz/case/draw.h"

namespace plumbline {

namespace {

constexpr std::int64_t kBlock = 1024;  // columns that a block of threads takes at a time

constexpr std::array<std::int64_t, 12> kPrimes = {2, 3, 5, 7, 13, 31, 61, 127, 131, 251, 257, 509};

RowSizes one(Profile, Random&) { return {1, 1}; }

RowSizes tiny(Profile, Random& random) { return {random.between(1, 8), random.between(1, 16)}; }

RowSizes one_row(Profile, Random& random) { return {1, random.between(1, 1500)}; }

RowSizes one_column(Profile, Random& random) { return {random.between(1, 100), 1}; }

RowSizes power(Profile, Random& random) {
  const std::int64_t n = std::int64_t{1} << random.between(1, 11);
  return {random.between(1, 12), n};
}

RowSizes vector_tail(Profile, Random& random) {
  return {random.between(1, 24), 8 * random.between(1, 40) + random.between(1, 7)};
}

RowSizes block_minus_1(Profile, Random& random) {
  return {random.between(1, 8), kBlock * random.between(1, 2) - 1};
}

RowSizes whole_blocks(Profile, Random& random) {
  return {random.between(1, 8), kBlock * random.between(1, 3)};
}

RowSizes block_plus_1(Profile, Random& random) {
  return {random.between(1, 8), kBlock * random.between(1, 2) + 1};
}

RowSizes row_edge(Profile, Random& random) {
  const std::int64_t rows = draw_one_of(random, std::array<std::int64_t, 4>{8, 32, 64, 128});
  return {rows + random.between(-1, 1), random.between(1, 150)};
}

RowSizes prime(Profile, Random& random) {
  const std::int64_t m = draw_one_of(random, kPrimes);
  return {m, draw_one_of(random, kPrimes)};
}

RowSizes tall(Profile profile, Random& random) {
  return {random.between(300, profile == Profile::quick ? 800 : 20000), random.between(1, 24)};
}

RowSizes wide(Profile profile, Random& random) {
  return {random.between(1, 3), random.between(3000, profile == Profile::quick ? 9000 : 100000)};
}

RowSizes large(Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick      ? 160
                            : profile == Profile::standard ? 500
                                                           : 2000;
  const std::int64_t m = random.between(most / 2, most);
  return {m, random.between(most / 2, 2 * most)};
}

RowSizes empty_m(Profile, Random& random) { return {0, random.between(1, 300)}; }

using Fields = std::span<const std::string_view>;

std::int64_t aligned_stride(std::int64_t n, Random& random) {
  return (n + 7) / 8 * 8 + 8 * random.between(1, 4);
}

std::int64_t odd_stride(std::int64_t n, Random& random) {
  return n + 1 + 2 * random.between(0, 3) + n % 2;
}

std::string tight(std::int64_t, Fields, Random&) { return ""; }

std::string padded_in(std::int64_t n, Fields fields, Random& random) {
  std::string text;
  for (const std::string_view field : fields.first(fields.size() - 1))
    text += fmt::format("{}={} ", field, aligned_stride(n, random));
  return text;
}

std::string padded_out(std::int64_t n, Fields fields, Random& random) {
  return fmt::format("{}={}", fields.back(), aligned_stride(n, random));
}

std::string padded_all(std::int64_t n, Fields fields, Random& random) {
  std::int64_t stride = aligned_stride(n, random);
  std::string text;
  for (const std::string_view field : fields) {
    text += fmt::format("{}={} ", field, stride);
    stride += 8;
  }
  return text;
}

std::string padded_odd(std::int64_t n, Fields fields, Random& random) {
  std::string text;
  for (const std::string_view field : fields)
    text += fmt::format("{}={} ", field, odd_stride(n, random));
  return text;
}

// clang-format off
constexpr std::array kShapeClasses = {
    RowShapeClass{{"one", "a single element: a softmax of 1, a row without spread"}, one},
    RowShapeClass{{"tiny", "rows shorter than a vector, fewer than a warp"}, tiny},
    RowShapeClass{{"one_row", "m = 1"}, one_row},
    RowShapeClass{{"one_column", "n = 1: every element is its own row"}, one_column},
    RowShapeClass{{"power", "n a power of two: means without rounding"}, power},
    RowShapeClass{{"vector_tail", "rows that end within a vector load"}, vector_tail},
    RowShapeClass{{"block_minus_1", "one column short of what a block of threads takes at a time"}, block_minus_1},
    RowShapeClass{{"blocks", "whole blocks of columns: no mask at all"}, whole_blocks},
    RowShapeClass{{"block_plus_1", "one column more than whole blocks"}, block_plus_1},
    RowShapeClass{{"row_edge", "rows about 8 to 128: the edges of stripes of rows"}, row_edge},
    RowShapeClass{{"prime", "sizes that divide nothing"}, prime},
    RowShapeClass{{"tall", "hundreds of short rows: long sums along columns"}, tall},
    RowShapeClass{{"wide", "thousands of columns: long sums along rows"}, wide},
    RowShapeClass{{"large", "many rows of many columns"}, large},
    RowShapeClass{{"empty_m", "m = 0: nothing along rows, and sums along columns are 0"}, empty_m},
};

constexpr std::array kLayoutClasses = {
    RowLayoutClass{{"tight", "rows without padding"}, tight},
    RowLayoutClass{{"padded_in", "padding after the rows that are read: it is NaN"}, padded_in},
    RowLayoutClass{{"padded_out", "padding after the rows that are written: it must not be"}, padded_out},
    RowLayoutClass{{"padded_all", "different padding in every matrix"}, padded_all},
    RowLayoutClass{{"padded_odd", "odd strides: no row but the first is aligned"}, padded_odd},
};
// clang-format on

}  // namespace

std::span<const RowShapeClass> row_shape_classes() { return kShapeClasses; }

std::span<const RowLayoutClass> row_layout_classes() { return kLayoutClasses; }

}  // namespace plumbline
