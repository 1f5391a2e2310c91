// SPDX-License-Identifier: MIT
// The superaccumulator against two independent implementations: sums of Dyadic products, and
// mpfr_sum.
#include "oracles/exact/superaccumulator.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include "oracles/exact/gemm_sums.h"
#include "oracles/exact/real.h"
#include "tests/oracles/exact/test_data.h"

namespace plumbline {
namespace {

std::vector<float> random_row(FormatId id, Kind kind, std::int64_t k, Random& random) {
  std::vector<float> row(k);
  for (float& x : row)
    x = static_cast<float>(to_double(format(id), random_code(format(id), kind, random)));
  return row;
}

Dyadic dyadic_dot(const std::vector<float>& row, const std::vector<float>& column) {
  Dyadic sum;
  for (std::size_t p = 0; p < row.size(); ++p) sum = sum + Dyadic(row[p]) * Dyadic(column[p]);
  return sum;
}

// The exact sum, by MPFR's own n-ary addition.
Dyadic mpfr_dot(const std::vector<float>& row, const std::vector<float>& column) {
  std::vector<RealOf<64>> products(row.size());
  std::vector<mpfr_ptr> pointers(row.size());
  for (std::size_t p = 0; p < row.size(); ++p) {
    products[p] = RealOf<64>(row[p]) * RealOf<64>(column[p]);
    pointers[p] = products[p].backend().data();
  }
  Real sum;
  EXPECT_EQ(mpfr_sum(sum.backend().data(), pointers.data(), pointers.size(), MPFR_RNDN), 0);
  return dyadic_value(sum);
}

TEST(Superaccumulator, AgreesWithDyadicAndMpfrOnEveryKindOfData) {
  Random random(1);
  for (const FormatId id :
       {FormatId::bf16, FormatId::f16, FormatId::e4m3, FormatId::e5m2, FormatId::f32}) {
    for (const Kind kind : kKinds) {
      for (const std::int64_t k : {0, 1, 2, 3, 4, 5, 63, 300}) {
        const auto row = random_row(id, kind, k, random), column = random_row(id, kind, k, random);
        const Dyadic sum = exact_dot(row.data(), column.data(), k);
        ASSERT_EQ(sum, dyadic_dot(row, column))
            << format(id).name << " kind " << int(kind) << " k " << k;
        ASSERT_EQ(sum, mpfr_dot(row, column));
      }
    }
  }
}

TEST(Superaccumulator, LongSumsOfTheWidestNumbersDoNotOverflowABin) {
  // 8, 11, 12 and 24 bits, all set, at every place of a bin.
  const std::int64_t k = 20000;
  for (const float widest : {255.0f, 2047.0f, 4095.0f, 16777215.0f}) {
    for (int place = 0; place < 32; ++place) {
      const std::vector<float> row(k, -std::ldexp(widest, place)), column(k, widest);
      ASSERT_EQ(exact_dot(row.data(), column.data(), k),
                Dyadic(row[0]) * Dyadic(widest) * Dyadic(static_cast<double>(k)));
    }
  }
}

TEST(Superaccumulator, KeepsTheSmallestProductBesideTheLargest) {
  const float tiny = 0x1p-149f, huge = 0x1.fffffep127f;
  const std::vector<float> row = {huge, tiny, -huge}, column = {huge, -tiny, huge};
  EXPECT_EQ(exact_dot(row.data(), column.data(), 3), Dyadic(-1, -298));
  EXPECT_EQ(exact_dot(row.data(), column.data(), 2), Dyadic(huge) * Dyadic(huge) - Dyadic(1, -298));
}

TEST(Superaccumulator, CanBeContinued) {
  Random random(2);
  const auto row = random_row(FormatId::f32, Kind::all_bits, 100, random);
  const auto column = random_row(FormatId::f32, Kind::all_bits, 100, random);
  Superaccumulator sum;
  sum.add_products(row.data(), column.data(), 33);
  sum.add_products(row.data() + 33, column.data() + 33, 67);
  EXPECT_EQ(sum.sum(), exact_dot(row.data(), column.data(), 100));
}

}  // namespace
}  // namespace plumbline
