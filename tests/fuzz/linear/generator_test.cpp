// SPDX-License-Identifier: MIT
// The generator of a linear layer's backward pass: a plan that reaches every class, and sums that
// stay exact in both gradients where the class promises it.
#include "fuzz/linear/generator.h"

#include <cmath>

#include "fuzz/shrink/crop.h"
#include "tests/fuzz/plan/generated_plan.h"

namespace plumbline {
namespace {

constexpr std::string_view kText = R"(
computes   = "linear_backward"
summary    = "a kernel of the tests"
source     = "linear.cu"
targets    = [90]
entry      = "linear"
parameters = ["ptr dy", "ptr x", "ptr w", "ptr scale_w", "ptr dx", "ptr dw", "ptr db",
              "s32 m", "s32 n", "s32 k"]

[problem]
out    = ["bf16", "f32"]
scales = ["none", "tensor"]

[launch]
grid   = ['ceil_div(m, 64)', 1, 1]
block  = [128]
shared = 0

[formats]
dy = "bf16"
x  = "bf16"
w  = "bf16"
dx = "{out}"
dw = "{out}"

[tile]
m = 128
n = 128
k = 32

[contract]
unit     = "mma.sync"
schedule = "sequential"
epilogue = ["scale_a", "scale_b"]
)";

const Manifest& kernel() {
  static const Manifest manifest = manifest_of(kText, "linear");
  return manifest;
}

// The same with s8 weights and a scale per output channel.
const Manifest& s8_kernel() {
  static const Manifest manifest = [] {
    std::string text(kText);
    const auto replace = [&](std::string_view from, std::string_view to) {
      text.replace(text.find(from), from.size(), to);
    };
    replace(R"(scales = ["none", "tensor"])", R"(scales = ["channel"])");
    replace(R"(w  = "bf16")", R"(w  = "s8")");
    return manifest_of(text, "linear_s8");
  }();
  return manifest;
}

TEST(LinearGenerator, PlanReachesEveryClass) {
  check_plan(kernel());
  check_plan(s8_kernel());
}

TEST(LinearGenerator, CasesAreTheSameEveryTime) { check_bits_repeat(kernel()); }

TEST(LinearGenerator, DesignedCasesAreProblems) {
  check_designed(kernel());
  check_designed(s8_kernel());
}

TEST(LinearGenerator, WorkOfTheQuickPlanFitsItsMinute) {
  double work = 0;
  for (const Case& test_case : plan_cases(kernel(), {Profile::quick, 1})) {
    work += generator_of(*kernel().operation).padded_work(test_case.problem, kernel());
  }
  EXPECT_LT(work, 8e9);
}

// Sums of magnitudes, in units of the finest term: below 2^24 every partial sum is exact in f32.
void expect_exact_sums(const Case& test_case) {
  const CaseTensors tensors = filled(test_case);
  const Tensor &dy = *tensors.find("dy"), &x = *tensors.find("x"), &w = *tensors.find("w");
  const Tensor* channel =
      test_case.problem.word("scales") == "channel" ? tensors.find("scale_w") : nullptr;
  const std::int64_t m = test_case.problem.integer("m"), n = test_case.problem.integer("n"),
                     k = test_case.problem.integer("k");
  for (std::int64_t j = 0; j < k; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      double magnitude = 0;
      for (std::int64_t l = 0; l < n; ++l) {
        const double scale = channel ? element_of(*channel, l) : 1;
        const double term = element_of(dy, i * n + l) * element_of(w, l * k + j) * scale;
        EXPECT_EQ(term, std::rint(term)) << test_case.text();
        magnitude += std::fabs(term);
      }
      EXPECT_LT(magnitude, 0x1p24) << test_case.text();
    }
    for (std::int64_t l = 0; l < n; ++l) {
      double magnitude = 0;
      for (std::int64_t i = 0; i < m; ++i) {
        magnitude += std::fabs(element_of(dy, i * n + l) * element_of(x, i * k + j));
      }
      EXPECT_LT(magnitude, 0x1p24) << test_case.text();
    }
  }
}

TEST(LinearGenerator, ExactClassesKeepBothSumsExact) {
  for (const std::string value : {"integers", "index_code"}) {
    for (const std::string sizes :
         {"m=4000 n=5 k=2", "m=5 n=4000 k=2", "m=40 n=40 k=3", "m=1 n=64 k=3"}) {
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        expect_exact_sums(case_with(kernel(), sizes, value, seed));
        expect_exact_sums(case_with(s8_kernel(), sizes, value, seed));
      }
    }
  }
}

// dy is made for the gradient with the longer sums: with more tokens than features a column of dy
// selects one token, with fewer a row selects one feature, or the other operand selects.
TEST(LinearGenerator, SelectionsAreMadeForTheLongerSum) {
  const auto non_zeros_alone = [](const std::string& sizes, bool columns) {
    int alone = 0;
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
      const Case test_case = case_with(kernel(), sizes, "one_hot", seed);
      const CaseTensors tensors = filled(test_case);
      const Tensor& dy = *tensors.find("dy");
      const std::int64_t m = dy.layout.shape[0], n = dy.layout.shape[1];
      bool all_alone = true;
      for (std::int64_t line = 0; line < (columns ? n : m); ++line) {
        int ones = 0;
        for (std::int64_t i = 0; i < (columns ? m : n); ++i) {
          ones += element_of(dy, columns ? i * n + line : line * n + i) != 0;
        }
        all_alone &= ones == 1;
      }
      alone += all_alone;
    }
    return alone;
  };
  EXPECT_GE(non_zeros_alone("m=24 n=10 k=7", true), 3);
  EXPECT_GE(non_zeros_alone("m=10 n=24 k=7", false), 3);
}

TEST(LinearGenerator, CroppingKeepsWhatRemains) {
  const Result<Case> frozen =
      freeze(case_with(kernel(), "m=12 n=9 k=7 scales=tensor", "normal", 3));
  ASSERT_TRUE(frozen.ok());
  const std::optional<Case> smaller =
      remove_slices(*frozen, {{"m", 10, 2}, {"n", 0, 3}, {"k", 6, 1}});
  ASSERT_TRUE(smaller.has_value());
  const CaseTensors before = filled(*frozen), after = filled(*smaller);
  EXPECT_EQ(element_of(*before.find("dy"), 2 * 9 + 5), element_of(*after.find("dy"), 2 * 6 + 2));
  EXPECT_EQ(element_of(*before.find("w"), 5 * 7 + 4), element_of(*after.find("w"), 2 * 6 + 4));
  EXPECT_EQ(element_of(*before.find("x"), 9 * 7 + 4), element_of(*after.find("x"), 9 * 6 + 4));
}

}  // namespace
}  // namespace plumbline
