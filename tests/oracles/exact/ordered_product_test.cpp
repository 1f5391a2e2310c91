// SPDX-License-Identifier: MIT
// Products in the order of k: bit for bit what a plain loop gives, on every instruction set that
// this processor has.
#include "oracles/exact/ordered_product.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "oracles/base/random.h"

namespace plumbline {
namespace {

// Numbers of many magnitudes with all their bits: another order of additions gives other bits, and
// so does a fused multiply-add.
std::vector<double> wide_numbers(std::int64_t count, std::uint64_t seed) {
  constexpr std::int64_t kMost = std::int64_t{1} << 52;
  Random random(seed);
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (double& one : numbers) {
    const auto mantissa = static_cast<double>(random.between(-kMost, kMost));
    one = std::ldexp(mantissa, static_cast<int>(random.between(-30, 30)));
  }
  return numbers;
}

class OrderedProduct : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }

  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(OrderedProduct, AddsAsAPlainLoopDoes) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                {4, 8, 5},
                                {7, 19, 33},
                                {1, 9, 200},
                                {13, 3, 0},
                                {5, 24, 64}}) {
    const std::int64_t lda = k + 3, ldb = k + 1, ldc = n + 2;
    const std::vector<double> a = wide_numbers(m * lda, 1), b = wide_numbers(n * ldb, 2);
    const std::vector<double> before = wide_numbers(m * ldc, 3);
    std::vector<double> got = before, due = before;
    add_ordered_product(m, n, k, a.data(), lda, b.data(), ldb, got.data(), ldc);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += a[i * lda + p] * b[j * ldb + p];
        due[i * ldc + j] += sum;
      }
    }
    EXPECT_EQ(got, due) << m << " " << n << " " << k;
  }
}

TEST_P(OrderedProduct, AndAcross) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {4, 8, 5}, {7, 19, 33}}) {
    const std::int64_t lda = m + 3, ldb = n + 1, ldc = n;
    const std::vector<double> a = wide_numbers(k * lda, 1), b = wide_numbers(k * ldb, 2);
    std::vector<double> got(static_cast<std::size_t>(m * ldc)), due = got;
    add_ordered_product_across(m, n, k, a.data(), lda, b.data(), ldb, got.data(), ldc);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += a[p * lda + i] * b[p * ldb + j];
        due[i * ldc + j] += sum;
      }
    }
    EXPECT_EQ(got, due) << m << " " << n << " " << k;
  }
}

std::vector<std::int64_t> targets() {
  std::vector<std::int64_t> all;
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    all.push_back(left & -left);
  return all;
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, OrderedProduct, testing::ValuesIn(targets()),
                         [](const auto& test) { return hwy::TargetName(test.param); });

}  // namespace
}  // namespace plumbline
