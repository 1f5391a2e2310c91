// SPDX-License-Identifier: MIT
#include "oracles/exact/freivalds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/exact/gemm_sums.h"
#include "tests/oracles/exact/test_data.h"

namespace plumbline {
namespace {

// Square operands of random integers up to `limit` in magnitude, times a power of two of every row.
GemmOperands integer_operands(std::int64_t n, std::int64_t limit, std::uint64_t seed,
                              int spread = 0, std::int64_t batch = 1) {
  GemmOperands out;
  out.m = out.n = out.k = n;
  out.batch = out.batch_a = out.batch_b = batch;
  Random random(seed);
  for (std::vector<float>* side : {&out.a, &out.b}) {
    side->resize(batch * n * n);
    for (std::int64_t row = 0; row < batch * n; ++row) {
      const auto exponent = static_cast<int>(random.between(-spread, spread));
      for (std::int64_t p = 0; p < n; ++p) {
        const auto integer = static_cast<double>(random.between(-limit, limit));
        (*side)[row * n + p] = static_cast<float>(std::ldexp(integer, exponent));
      }
    }
  }
  return out;
}

std::optional<std::int64_t> wrong_row(const GemmOperands& operands, const SumEnclosures& sums,
                                      std::uint64_t seed = 1, int threads = 1) {
  return freivalds_check(operands, sums, seed, threads).wrong_row;
}

TEST(Freivalds, FindsEverySingleFault) {
  Random random(1);
  for (const std::int64_t n : {1, 2, 7, 64, 200, 512}) {
    const GemmOperands operands = integer_operands(n, 127, n);
    SumEnclosures sums = gemm_sums(operands, 1);
    for (const double error : {1.0, -1.0, 0x1p52}) {
      const int threads = error < 0 ? 2 : 1;
      const std::uint64_t seed = random.next();
      ASSERT_EQ(wrong_row(operands, sums, seed, threads), std::nullopt);
      const std::int64_t at = random.between(0, n * n - 1);
      const double right = sums.hi[at];
      sums.hi[at] += error;
      ASSERT_EQ(wrong_row(operands, sums, seed, threads), at / n);
      sums.hi[at] = right;
    }
  }
}

// Errors that cancel in the row's plain sum.
TEST(Freivalds, FindsTwoSumsThatAreExchanged) {
  const GemmOperands operands = integer_operands(64, 127, 9);
  SumEnclosures sums = gemm_sums(operands, 1);
  ASSERT_NE(sums.hi[640], sums.hi[650]);
  std::swap(sums.hi[640], sums.hi[650]);
  for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_EQ(wrong_row(operands, sums, seed), 10);
}

TEST(Freivalds, NamesTheFirstOfSeveralWrongRowsOnAnyNumberOfThreads) {
  const std::int64_t n = 150;
  const GemmOperands operands = integer_operands(n, 8, 2, 0, 2);
  SumEnclosures sums = gemm_sums(operands, 1);
  for (const std::int64_t row : {299, 230, 170}) sums.hi[row * n + 5] += 2;
  for (const int threads : {1, 2, 5}) EXPECT_EQ(wrong_row(operands, sums, 1, threads), 170);
}

TEST(Freivalds, EveryRowAndColumnHasAUnitOfItsOwn) {
  const std::int64_t n = 40;
  const GemmOperands operands = integer_operands(n, 100, 4, 60);
  SumEnclosures sums = gemm_sums(operands, 1);
  const FreivaldsCheck check = freivalds_check(operands, sums, 1, 1);
  EXPECT_EQ(check.wrong_row, std::nullopt);
  EXPECT_EQ(check.sums, n * n);
  double& sum = sums.hi[41];
  const double right = sum;
  for (const double bad : {right + 0x1p-200, std::nextafter(right, 0x1p500), std::nan(""),
                           static_cast<double>(INFINITY), 0x1p200}) {
    sum = bad;
    if (bad != right) {
      EXPECT_EQ(wrong_row(operands, sums), 1) << bad;
    }
  }
  sum = right;
  sums.lo[41] = 0x1p-200;  // no integer
  EXPECT_EQ(wrong_row(operands, sums), 1);
}

// Every kind of data, of formats with wide ranges too: a true product is never rejected, and what
// is left out is said.
TEST(Freivalds, AcceptsTrueProductsOfAnyData) {
  for (const FormatId id : {FormatId::bf16, FormatId::f16, FormatId::e4m3, FormatId::e5m2}) {
    for (const Kind kind : kKinds) {
      SCOPED_TRACE(testing::Message() << format(id).name << " kind " << static_cast<int>(kind));
      const Operands tensors = make_operands(id, kind, 2, 60, 50, 40, 1);
      const GemmOperands operands = decode_operands(tensors.a, tensors.b, 1);
      const FreivaldsCheck check = freivalds_check(operands, gemm_sums(operands, 1), 1, 1);
      EXPECT_EQ(check.wrong_row, std::nullopt);
      if (kind == Kind::normal || kind == Kind::integers || id == FormatId::e4m3) {
        EXPECT_EQ(check.sums, 2 * 60 * 50);
      }
    }
  }
}

TEST(Freivalds, LeavesOutWhatIsNoIntegerOfModerateSize) {
  GemmOperands operands = integer_operands(8, 100, 6);
  operands.a[3 * 8] = 0x1p40f;  // beside integers: 40 bits
  operands.b[5 * 8] = 0x1p40f;
  SumEnclosures sums = gemm_sums(operands, 1);
  for (double& bound : sums.bound) bound = 0;
  sums.hi[3 * 8 + 1] += 1;
  sums.hi[2 * 8 + 5] += 1;
  FreivaldsCheck check = freivalds_check(operands, sums, 1, 1);
  EXPECT_EQ(check.sums, 7 * 7);
  EXPECT_EQ(check.wrong_row, std::nullopt);
  sums.bound[6 * 8] = 1;
  sums.hi[6 * 8] += 1;
  check = freivalds_check(operands, sums, 1, 1);
  EXPECT_EQ(check.sums, 6 * 7);
  EXPECT_EQ(check.wrong_row, std::nullopt);
}

TEST(Freivalds, EmptyProductsAreRight) {
  GemmOperands operands;
  EXPECT_EQ(wrong_row(operands, {}), std::nullopt);
  operands.m = operands.n = 2;
  SumEnclosures zeros = gemm_sums(operands, 1);
  EXPECT_EQ(wrong_row(operands, zeros), std::nullopt);
  zeros.hi[2] = 1;
  EXPECT_EQ(wrong_row(operands, zeros), 1);
}

}  // namespace
}  // namespace plumbline
