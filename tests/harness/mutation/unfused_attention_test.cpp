// SPDX-License-Identifier: MIT
// Attention without a fused kernel: exact where every matrix on the way is a bf16 number, off by
// its roundings elsewhere.
#include "harness/mutation/unfused_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/ops/operation_case.h"

namespace plumbline {
namespace {

Case case_of(const OperationCase& one) {
  Case made;
  made.kernel = &one.kernel;
  made.problem = one.problem;
  return made;
}

void set_all(Tensor& tensor, const std::function<double(std::int64_t)>& value) {
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i)
    tensor.set_bits(i, encode(format(tensor.layout.format), value(i)));
}

double small_integer(std::int64_t i) { return static_cast<double>(i * 7 % 9 - 4); }

// Zero scores: every probability is one quarter.
TEST(UnfusedAttention, OfEqualScoresIsTheMeanOfVAndGradientsAreNearlyExact) {
  constexpr int kQueries = 3, kKeys = 4, kWidth = 8;
  const OperationCase one("attention_bf16_backward", "queries=3 keys=4 d=8 scale=0.5", 80, {},
                          [](CaseTensors& tensors) {
                            set_all(*tensors.find("q"), [](std::int64_t) { return 0; });
                            for (const char* name : {"k", "v", "do"})
                              set_all(*tensors.find(name), small_integer);
                          });
  const auto gradients = unfused_attention(case_of(one), one.tensors);
  ASSERT_EQ(gradients.size(), 3u);
  const std::vector<double>&dq = gradients.at("dq"), &dk = gradients.at("dk"),
        &dv = gradients.at("dv");
  const auto k = [](int j, int x) { return small_integer(j * kWidth + x); };  // V and dO alike
  for (int i = 0; i < kQueries; ++i) {
    double dp[kKeys] = {}, mean = 0;
    for (int j = 0; j < kKeys; ++j) {
      for (int x = 0; x < kWidth; ++x) dp[j] += k(i, x) * k(j, x);
      mean += dp[j] / kKeys;
    }
    for (int x = 0; x < kWidth; ++x) {
      double sum = 0, size = 0;  // dS is rounded, and the sum: at most 2^-9 of each
      for (int j = 0; j < kKeys; ++j) {
        const double term = (dp[j] - mean) / kKeys * k(j, x) * 0.5;
        sum += term;
        size += 1.01 * std::abs(term);
      }
      EXPECT_NEAR(dq[static_cast<std::size_t>(i * kWidth + x)], sum,
                  (size + std::abs(sum)) * 0x1p-9);
    }
  }
  for (int j = 0; j < kKeys; ++j) {
    for (int x = 0; x < kWidth; ++x) {
      double sum = 0;
      for (int i = 0; i < kQueries; ++i) sum += k(i, x) / kKeys;
      EXPECT_EQ(dv[static_cast<std::size_t>(j * kWidth + x)], sum);
      EXPECT_EQ(dk[static_cast<std::size_t>(j * kWidth + x)], 0);
    }
  }
}

// |s| < 4 * 2.25^2 = 20.25 in units where K's scale is exact: half an ulp of bf16 there is 2^-4.
// Then P is off by e^(2 * 2^-4) - 1 < 0.134, and by 2^-9 for its own rounding, O by 2^-9 more.
TEST(UnfusedAttention, IsOffByTheRoundingsOfItsMatrices) {
  const OperationCase one(
      "attention_bf16_forward",
      "heads=2 kv_heads=1 queries=9 keys=70 d=16 scale=0.25 causal=bottom_right", 80);
  const std::vector<double> got = unfused_attention(case_of(one), one.tensors).at("o");
  const std::vector<double> exact = one.oracle->reference_values(0, Reference::mathematics, 1);
  ASSERT_EQ(got.size(), exact.size());
  double most = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) most = std::max(most, std::abs(got[i] - exact[i]));
  EXPECT_GT(most, 0x1p-9);
  EXPECT_LT(most, 2.25 * (0.134 + 0x1p-8));
}

TEST(UnfusedAttention, IsOfSixteenBitsWithoutScales) {
  const OperationCase fp8("attention_fp8_forward", "queries=2 keys=3 d=16", 90);
  EXPECT_TRUE(unfused_attention(case_of(fp8), fp8.tensors).empty());
  const OperationCase forward("attention_bf16_forward", "queries=2 keys=3 d=16", 90);
  const auto known = unfused_attention(case_of(forward), forward.tensors);
  EXPECT_TRUE(known.contains("o"));
  EXPECT_FALSE(known.contains("lse"));
}

}  // namespace
}  // namespace plumbline
