// SPDX-License-Identifier: MIT
// The generator of a SwiGLU MLP: a plan that reaches every class, gates at the levels that matter,
// and sums that stay exact behind open gates where the class promises it.
#include "fuzz/swiglu/generator.h"
#include "tests/folders.h"

#include <cmath>

#include "fuzz/shrink/crop.h"
#include "tests/fuzz/plan/generated_plan.h"

namespace plumbline {
namespace {

const Manifest& kernel() {
  static const Manifest manifest = [] {
    Result<Manifest> read = read_manifest(std::string(PLUMBLINE_SOURCE_DIR) +
                                          "/kernels/shipped/swiglu_mlp_bf16/swiglu_mlp_bf16.toml");
    PLUMB_ASSERT(read.ok());
    return std::move(*read);
  }();
  return manifest;
}

// Row i of a times row j of b.
double sum_of(const CaseTensors& tensors, std::string_view a, std::int64_t i, std::string_view b,
              std::int64_t j) {
  const Tensor &left = *tensors.find(a), &right = *tensors.find(b);
  const std::int64_t k = left.layout.shape[1];
  double sum = 0;
  for (std::int64_t p = 0; p < k; ++p)
    sum += element_of(left, i * k + p) * element_of(right, j * k + p);
  return sum;
}

TEST(SwigluGenerator, PlanReachesEveryClass) { check_plan(kernel()); }

TEST(SwigluGenerator, CasesAreTheSameEveryTime) { check_bits_repeat(kernel()); }

TEST(SwigluGenerator, DesignedCasesAreProblems) { check_designed(kernel()); }

TEST(SwigluGenerator, WorkOfTheQuickPlanFitsItsMinute) {
  double work = 0;
  for (const Case& test_case : plan_cases(kernel(), {Profile::quick, 1}))
    work += generator_of(*kernel().operation).padded_work(test_case.problem, kernel());
  EXPECT_LT(work, 8e9);
}

TEST(SwigluGenerator, GatesAreAtEveryLevel) {
  for (const std::string sizes :
       {"tokens=16 d=2 hidden=200 d_out=1", "tokens=8 d=40 hidden=200 d_out=1"}) {
    const CaseTensors tensors = filled(case_with(kernel(), sizes, "gate_levels"));
    int overflowing = 0, subnormal = 0, lowest = 0, zero = 0, ordinary = 0, open = 0;
    for (std::int64_t n = 0; n < 8 * 200; ++n) {
      const double gate = sum_of(tensors, "x", n / 200, "w_gate", n % 200);
      overflowing += gate < -89;
      subnormal += gate > -89 && gate < -87;
      lowest += std::fabs(gate + 1.2785) < 0.05;
      zero += gate == 0;
      ordinary += std::fabs(gate) > 0.1 && std::fabs(gate) < 10;
      open += gate > 17;
    }
    for (const int count : {overflowing, subnormal, lowest, zero, ordinary, open})
      EXPECT_GE(count, 10) << sizes;
  }
}

// h is 32 times a sum of integers, and sums of such stay below 2^24.
TEST(SwigluGenerator, IntegersStayExactBehindOpenGates) {
  for (const std::string sizes :
       {"tokens=3 d=40 hidden=30 d_out=4", "tokens=2 d=500 hidden=9 d_out=4",
        "tokens=2 d=2 hidden=900 d_out=3"}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const Case test_case = case_with(kernel(), sizes, "integers", seed);
      const CaseTensors tensors = filled(test_case);
      const std::int64_t hidden = test_case.problem.integer("hidden"),
                         d_out = test_case.problem.integer("d_out");
      for (std::int64_t o = 0; o < d_out; ++o) {
        double magnitude = 0;
        for (std::int64_t j = 0; j < hidden; ++j) {
          EXPECT_EQ(sum_of(tensors, "x", 0, "w_gate", j), 32);
          const double up = sum_of(tensors, "x", 0, "w_up", j);
          EXPECT_EQ(up, std::rint(up));
          magnitude += std::fabs(32 * up * element_of(*tensors.find("w_down"), o * hidden + j));
        }
        EXPECT_LT(magnitude, 0x1p24) << test_case.text();
      }
    }
  }
}

// Ordinary data have ordinary gates: silu is neither 0 nor the identity for most of them.
TEST(SwigluGenerator, NormalDataHaveGatesOfOrderOne) {
  int ordinary = 0, all = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const CaseTensors tensors =
        filled(case_with(kernel(), "tokens=6 d=300 hidden=20 d_out=1", "normal", seed));
    if (sum_of(tensors, "x", 0, "w_gate", 0) == 32) continue;  // open
    for (std::int64_t n = 0; n < 6 * 20; ++n) {
      const double gate = std::fabs(sum_of(tensors, "x", n / 20, "w_gate", n % 20));
      ordinary += gate > 0.05 && gate < 8;
      ++all;
    }
  }
  EXPECT_GT(all, 0);
  EXPECT_GT(ordinary, all * 3 / 4);
}

TEST(SwigluGenerator, LayoutsDoNotChangeBits) {
  const auto bits = [&](const std::string& layout) {
    return bits_of(case_with(kernel(), "tokens=7 d=30 hidden=11 d_out=5" + layout, "normal", 3));
  };
  EXPECT_EQ(bits(""), bits(" pad=7"));
  EXPECT_EQ(bits(""), bits(" weights=kn pad=8"));
}

TEST(SwigluGenerator, CroppingKeepsWhatRemains) {
  const Result<Case> frozen =
      freeze(case_with(kernel(), "tokens=12 d=9 hidden=7 d_out=5 weights=kn", "normal", 3));
  ASSERT_TRUE(frozen.ok());
  const std::optional<Case> smaller =
      remove_slices(*frozen, {{"tokens", 10, 2}, {"d", 0, 3}, {"hidden", 6, 1}});
  ASSERT_TRUE(smaller.has_value());
  const CaseTensors before = filled(*frozen), after = filled(*smaller);
  EXPECT_EQ(element_of(*before.find("x"), 2 * 9 + 5), element_of(*after.find("x"), 2 * 6 + 2));
  EXPECT_EQ(element_of(*before.find("w_up"), 5 * 9 + 4),
            element_of(*after.find("w_up"), 5 * 6 + 1));
  EXPECT_EQ(element_of(*before.find("w_down"), 4 * 7 + 2),
            element_of(*after.find("w_down"), 4 * 6 + 2));
}

}  // namespace
}  // namespace plumbline
