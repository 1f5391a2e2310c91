// SPDX-License-Identifier: MIT
#include "oracles/exact/freivalds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/exact/gemm_sums.h"
#include "tests/oracles/exact/test_data.h"

namespace plumbline {
namespace {

// Square operands of random integers below `limit` in magnitude, times a power of two.
GemmOperands integer_operands(std::int64_t n, std::int64_t limit, double scale,
                              std::uint64_t seed) {
  GemmOperands out;
  out.m = out.n = out.k = n;
  Random random(seed);
  for (std::vector<float>* side : {&out.a, &out.b}) {
    side->resize(n * n);
    for (float& x : *side)
      x = static_cast<float>(static_cast<double>(random.between(-limit, limit)) * scale);
  }
  return out;
}

TEST(Freivalds, FindsEverySingleFaultOfOne) {
  Random random(1);
  for (const std::int64_t n : {1, 2, 7, 64, 200, 512}) {
    const GemmOperands operands = integer_operands(n, 127, 1, n);
    auto c = gemm_sums(operands, 1).hi;
    for (int round = 0; round < 6; ++round) {
      const FreivaldsOptions options = {
          .vectors = 1 + round % 4, .seed = random.next(), .threads = 1 + round % 2};
      ASSERT_EQ(freivalds_wrong_row(operands, 0, c.data(), options), std::nullopt);
      const std::int64_t at = random.between(0, n * n - 1);
      const double right = c[at];
      c[at] += round % 2 == 0 ? 1 : -1;
      ASSERT_EQ(freivalds_wrong_row(operands, 0, c.data(), options), at / n);
      c[at] = right;
    }
  }
}

TEST(Freivalds, NamesTheFirstOfSeveralWrongRowsOnAnyNumberOfThreads) {
  const GemmOperands operands = integer_operands(300, 8, 1, 2);
  auto c = gemm_sums(operands, 1).hi;
  for (const std::int64_t row : {299, 130, 70}) c[row * 300 + 5] += 2;
  for (const int threads : {1, 2, 5}) {
    EXPECT_EQ(freivalds_wrong_row(operands, 0, c.data(), {.threads = threads}), 70);
  }
}

TEST(Freivalds, AcceptsTrueProductsThatOverflowOrdinarySums) {
  // 31-bit vectors and 64-bit sums overflow here and reject a true product; arithmetic modulo 2^64
  // has no overflow.
  const std::int64_t n = 1040;
  const GemmOperands operands = integer_operands(n, 2000, 1, 3);
  auto c = gemm_sums(operands, 2).hi;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    EXPECT_EQ(
        freivalds_wrong_row(operands, 0, c.data(), {.vectors = 2, .seed = seed, .threads = 2}),
        std::nullopt);
  }
  c[n * n - 1] -= 1;
  EXPECT_EQ(freivalds_wrong_row(operands, 0, c.data(), {.threads = 2}), n - 1);
}

TEST(Freivalds, ScaledIntegersAndValuesOffTheLattice) {
  const GemmOperands operands = integer_operands(40, 100, 0x1p-9, 4);
  auto c = gemm_sums(operands, 1).hi;
  const FreivaldsOptions options = {.lattice_a = -9, .lattice_b = -9};
  EXPECT_EQ(freivalds_wrong_row(operands, 0, c.data(), options), std::nullopt);
  const double right = c[41];
  c[41] += 0x1p-19;  // half an integer
  EXPECT_EQ(freivalds_wrong_row(operands, 0, c.data(), options), 1);
  for (const double bad : {std::nan(""), static_cast<double>(INFINITY), 0x1p63}) {
    c[41] = bad;
    EXPECT_EQ(freivalds_wrong_row(operands, 0, c.data(), options), 1);
  }
  c[41] = right;
  EXPECT_EQ(freivalds_wrong_row(operands, 0, c.data(), options), std::nullopt);
}

TEST(Freivalds, AnErrorOfALargePowerOfTwoIsFoundToo) {
  // The hardest error: 2^52 is missed by a vector with probability 2^-12.
  const GemmOperands operands = integer_operands(32, 10, 1, 5);
  auto c = gemm_sums(operands, 1).hi;
  c[100] += 0x1p52;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(freivalds_wrong_row(operands, 0, c.data(), {.vectors = 4, .seed = seed}), 100 / 32);
  }
}

TEST(Freivalds, EmptyProductsAreRight) {
  GemmOperands operands;
  EXPECT_EQ(freivalds_wrong_row(operands, 0, nullptr), std::nullopt);
  operands.m = operands.n = 2;
  const std::vector<double> zeros(4);
  EXPECT_EQ(freivalds_wrong_row(operands, 0, zeros.data()), std::nullopt);
}

}  // namespace
}  // namespace plumbline
