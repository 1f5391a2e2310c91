// SPDX-License-Identifier: MIT
#include "oracles/exact/row_split.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/exact/dyadic.h"
#include "tests/oracles/exact/test_data.h"

namespace plumbline {
namespace {

bool multiple_of(double x, int exponent) {
  const double scaled = std::ldexp(x, -exponent);
  return scaled == std::rint(scaled);
}

bool fits_24_bits(double x) {
  int exponent = 0;
  return multiple_of(std::frexp(x, &exponent), -24);
}

Dyadic square(double x) { return Dyadic(x) * Dyadic(x); }

TEST(RowSplit, HoldsItsPromisesOnEveryKindOfData) {
  Random random(1);
  for (const FormatId id : {FormatId::bf16, FormatId::f16, FormatId::e5m2, FormatId::f32}) {
    for (const Kind kind : kKinds) {
      for (const std::int64_t k : {1, 15, 16, 100, 333}) {
        std::vector<float> row(k);
        for (float& x : row)
          x = static_cast<float>(to_double(format(id), random_code(format(id), kind, random)));
        const RowScale scale = scale_of(row.data(), k);
        Dyadic squares;
        for (const float x : row) squares = squares + square(x);
        ASSERT_FALSE(square(scale.norm) < squares);
        if (squares.is_zero()) continue;
        ASSERT_LT(scale.norm, std::ldexp(1.0, scale.exponent));
        ASSERT_LT(square(scale.norm), squares * Dyadic(1 + 0x1p-30));
        bool on_next_lattice = true;
        for (const float x : row) {
          ASSERT_TRUE(multiple_of(x, scale.lattice));
          on_next_lattice &= multiple_of(x, scale.lattice + 1);
        }
        ASSERT_FALSE(on_next_lattice) << "the lattice could be coarser";

        for (const int bits : {10, 26, 50}) {
          const RowSplit split = split_of(row.data(), k, scale, bits);
          std::vector<double> high(k), low(k), high_only(k), whole(k);
          write_split(row.data(), k, split, high.data(), low.data());
          write_split(row.data(), k, split, high_only.data(), nullptr);
          write_whole(row.data(), k, whole.data());
          Dyadic low_squares, high_squares;
          std::int64_t count = 0;
          for (std::int64_t p = 0; p < k; ++p) {
            ASSERT_EQ(Dyadic(high[p]) + Dyadic(low[p]), Dyadic(row[p]));
            ASSERT_EQ(high_only[p], high[p]);
            ASSERT_EQ(whole[p], row[p]);
            ASSERT_TRUE(multiple_of(high[p], scale.exponent - bits));
            ASSERT_LE(std::abs(low[p]), std::ldexp(0.5, scale.exponent - bits));
            ASSERT_TRUE(fits_24_bits(high[p]) && fits_24_bits(low[p]));
            low_squares = low_squares + square(low[p]);
            high_squares = high_squares + square(high[p]);
            count += low[p] != 0;
          }
          ASSERT_EQ(split.low_count, count);
          ASSERT_FALSE(square(split.low_norm) < low_squares);
          ASSERT_FALSE(square(split.high_norm) < high_squares);
          if (scale.bits() <= bits) {
            ASSERT_EQ(count, 0);
          }
        }
      }
    }
  }
}

TEST(RowSplit, AZeroRowIsItsOwnHighPart) {
  const std::vector<float> row(20, -0.0f);
  const RowScale scale = scale_of(row.data(), 20);
  EXPECT_EQ(scale.norm, 0);
  EXPECT_EQ(scale.bits(), 0);
  std::vector<double> high(20, 1), low(20, 1);
  write_split(row.data(), 20, split_of(row.data(), 20, scale, 26), high.data(), low.data());
  for (int p = 0; p < 20; ++p) EXPECT_EQ(std::abs(high[p]) + std::abs(low[p]), 0);
}

}  // namespace
}  // namespace plumbline
