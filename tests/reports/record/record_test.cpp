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
  r.cases = {sample_case("gemm_bf16 m=1", Verdict::pass, "normal"),
             sample_case("gemm_bf16 m=2", Verdict::fail, "normal"),
             sample_case("gemm_bf16 m=3", Verdict::mistrusted, "normal")};
  r.cases[0].outputs[0].verdict.worst_relative = 0.25;
  r.cases[1].outputs[0].verdict.worst_relative = 5;
  r.cases[2].outputs[0].verdict.worst_relative = 3;
  summarize(r);
  EXPECT_EQ(r.kernels[0].worst_relative, 0.25);
  EXPECT_EQ(r.kernels[0].least_accurate_case, "gemm_bf16 m=1 [emulator sm_90]");
}

}  // namespace
}  // namespace plumbline
