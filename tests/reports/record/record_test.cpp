// SPDX-License-Identifier: MIT
// What the cases of a kernel add up to.
#include "reports/record/record.h"

#include <gtest/gtest.h>

#include "tests/reports/record/record_samples.h"

namespace plumbline {
namespace {

// How far from exact a kernel may be within its contract is not seen where it broke the contract.
TEST(Summary, OnlyCasesThatPassSayWhatTheArithmeticCosts) {
  RunRecord r = sample_record();
  r.kernels = {without_cases(r.kernels[0])};
  r.cases = {sample_case("gemm_bf16 m=1", Verdict::pass, "positive"),
             sample_case("gemm_bf16 m=2", Verdict::fail, "positive"),
             sample_case("gemm_bf16 m=3", Verdict::mistrusted, "positive"),
             sample_case("gemm_bf16 m=4", Verdict::pass, "normal")};
  for (std::size_t i = 0; i < r.cases.size(); ++i) {
    OutputVerdict& v = r.cases[i].outputs[0].verdict;
    v.worst_relative = 0.25 + static_cast<double>(i);
    v.magnitudes.assign(OutputTally::kBinades, 0);
    v.magnitudes[OutputTally::kFirstBinade + 4] = 64;  // from 8 ulp of bf16 on: 3 % at least
  }
  summarize(r);
  EXPECT_EQ(r.kernels[0].worst_relative, 0.25);
  EXPECT_EQ(r.kernels[0].least_accurate_case, "gemm_bf16 m=1 [emulator sm_90]");
}

// GELU is 0 near -0.75, and a row of a softmax may have weights near 0: one output of 1,000 that is
// 99 % from exact there says nothing of the kernel or its contract.
TEST(Summary, AFewOutputsDoNotMakeArithmeticCoarse) {
  CaseRecord c = sample_case("fp8_gemm_gelu m=1", Verdict::pass, "positive");
  OutputVerdict& v = c.outputs[0].verdict;
  v.worst_relative = 0.998;
  v.magnitudes.assign(OutputTally::kBinades, 0);
  v.magnitudes[0] = 990;
  v.magnitudes[OutputTally::kFirstBinade + 9] = 10;
  EXPECT_FALSE(is_coarse(c, c.outputs[0]));
  v.magnitudes[OutputTally::kFirstBinade + 9] = 989;
  EXPECT_FALSE(is_coarse(c, c.outputs[0]));
  v.magnitudes[OutputTally::kFirstBinade + 9] = 990;
  EXPECT_TRUE(is_coarse(c, c.outputs[0]));
  v.magnitudes = std::vector<std::int64_t>(OutputTally::kBinades, 0);
  v.magnitudes[OutputTally::kFirstBinade + 9] = 1;  // a single output is no evidence
  EXPECT_FALSE(is_coarse(c, c.outputs[0]));
}

}  // namespace
}  // namespace plumbline
