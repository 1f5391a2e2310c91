// SPDX-License-Identifier: MIT
// What texts mean, on numbers that are worked out by hand: x[i, j] = 10 i + j of 2 rows of 4.
#include "oracles/reference/text/definition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/oracles/reference/text/conforming_kernel.h"

namespace plumbline::text {
namespace {

using Numbers = std::vector<double>;

Numbers values_of(const std::string& text) {
  const TextProblem problem(text, {2, 4}, [](std::int64_t i, Random&) {
    return static_cast<double>(10 * (i / 4) + i % 4);
  });
  return problem.over(Definition<double>());
}

// Of y[i] = the expression.
Numbers row(const std::string& expression) {
  return values_of("operation f(x[m, n], s = 0.5, g: int = 3) -> y[m]\n  y[i] = " + expression +
                   " + 0 * x[i, 0]\n");
}

// Of y[i, j] = the expression, its second row.
Numbers second_row(const std::string& expression) {
  const Numbers all =
      values_of("operation f(x[m, n]) -> y[m, n]\n  y[i, j] = " + expression + " + 0 * x[i, j]\n");
  return {all.begin() + 4, all.end()};
}

TEST(TextDefinition, ReductionsGoOverWhatTheySay) {
  EXPECT_EQ(row("sum[j] x[i, j]"), (Numbers{6, 46}));
  EXPECT_EQ(row("sum[j in 1 .. n - 1] x[i, j]"), (Numbers{3, 23}));
  EXPECT_EQ(row("sum[j if j % 2 == 1] x[i, j]"), (Numbers{4, 24}));
  EXPECT_EQ(row("sum[k < m, j <= k] x[k, j]"), (Numbers{21, 21}));
  EXPECT_EQ(row("max[j] x[i, j]"), (Numbers{3, 13}));
  EXPECT_EQ(row("min[j if x[i, j] > 1] x[i, j]"), (Numbers{2, 10}));
  EXPECT_EQ(row("count[j < n if x[i, j] < 11]"), (Numbers{4, 1}));
  EXPECT_EQ(row("sum[j < 0] x[i, j]"), (Numbers{0, 0}));
  EXPECT_EQ(row("max[j < 0] x[i, j]"), (Numbers{-kInfinity, -kInfinity}));
  EXPECT_EQ(row("min[j < n if j == 4 * i] j"), (Numbers{0, kInfinity}));
  EXPECT_EQ(second_row("sum[k <= j] x[i, k]"), (Numbers{10, 21, 33, 46}));
}

// Reductions that depend on some of the indices around them are computed once for those.
TEST(TextDefinition, ReductionsFollowTheIndicesThatTheyDependOn) {
  EXPECT_EQ(second_row("sum[k] x[k, j]"), (Numbers{10, 12, 14, 16}));
  EXPECT_EQ(second_row("x[i, j] - max[k] x[i, k]"), (Numbers{-3, -2, -1, 0}));
  EXPECT_EQ(row("sum[j] (x[i, j] - max[k] x[i, k])"), (Numbers{-6, -6}));
  EXPECT_EQ(row("sum[k] (x[k, 0] + max[j] x[k, j] + max[j] x[i, j])"), (Numbers{32, 52}));
  EXPECT_EQ(second_row("count[k < n if x[i, k] > 11] + count[k <= j] + max[l < m] x[l, j]"),
            (Numbers{13, 15, 17, 19}));
}

// Those of which only the end depends on an index go on from the element before.
TEST(TextDefinition, CumulativeReductionsMayBeReadInAnyOrder) {
  EXPECT_EQ(second_row("sum[k < j] x[i, k]"), (Numbers{0, 10, 21, 33}));
  EXPECT_EQ(second_row("sum[k < n - j] x[i, k]"), (Numbers{46, 33, 21, 10}));
  EXPECT_EQ(second_row("sum[k in 1 .. j] x[i, k]"), (Numbers{0, 0, 11, 23}));
  EXPECT_EQ(second_row("sum[k in j .. n] x[i, k]"), (Numbers{46, 36, 25, 13}));
  EXPECT_EQ(second_row("max[k <= (j * 3) % 4] x[i, k]"), (Numbers{10, 13, 12, 11}));
  EXPECT_EQ(second_row("sum[k <= j if x[i, k] != 11] x[i, k]"), (Numbers{10, 10, 22, 35}));
  EXPECT_EQ(second_row("sum[k <= j] sum[l <= k] x[i, l]"), (Numbers{10, 31, 64, 110}));
  EXPECT_EQ(second_row("sum[k <= j] x[i, j - k]"), (Numbers{10, 21, 33, 46}));
  EXPECT_EQ(second_row("sum[k <= j] x[i, k] - sum[k <= j // 2] x[i, k]"), (Numbers{0, 11, 12, 25}));
}

TEST(TextDefinition, AReductionTakesTheFactorBehindIt) {
  EXPECT_EQ(row("sum[j] x[i, j] * 2"), (Numbers{12, 92}));
  EXPECT_EQ(row("sum[j] x[i, j]^2"), (Numbers{14, 534}));
  EXPECT_EQ(row("sum[j] (x[i, j] + 1)"), (Numbers{10, 50}));
}

TEST(TextDefinition, IntegersDivideDownwards) {
  EXPECT_EQ(second_row("(j - 2) // 2"), (Numbers{-1, -1, 0, 0}));
  EXPECT_EQ(second_row("(j - 2) % 3"), (Numbers{1, 2, 0, 1}));
  EXPECT_EQ(second_row("j / 2"), (Numbers{0, 0.5, 1, 1.5}));
  EXPECT_EQ(second_row("2 j - 1"), (Numbers{-1, 1, 3, 5}));
}

TEST(TextDefinition, OperatorsBindAsUsual) {
  EXPECT_EQ(row("-2^2 + 3 * 2 - 8 / 4 / 2"), (Numbers{1, 1}));
  EXPECT_EQ(row("where(1 < 2 and not 2 < 1 or 1 == 2, 5, 6)"), (Numbers{5, 5}));
  EXPECT_EQ(row("s * g"), (Numbers{1.5, 1.5}));
}

TEST(TextDefinition, ExponentsAreExact) {
  EXPECT_EQ(second_row("logb(x[i, j])"), (Numbers{3, 3, 3, 3}));
  EXPECT_EQ(second_row("logb(-(2^2) * (j + 1))"), (Numbers{2, 3, 3, 4}));
  EXPECT_EQ(row("logb(0 * x[i, 1])"), (Numbers{-kInfinity, -kInfinity}));
  EXPECT_EQ(row("logb(0.1)"), (Numbers{-4, -4}));
}

// What is not chosen is not read: x[i, -1] would be an error.
TEST(TextDefinition, WhereReadsWhatItTakes) {
  EXPECT_EQ(second_row("where(j == 0, 7, x[i, j - 1])"), (Numbers{7, 10, 11, 12}));
}

TEST(TextDefinition, Functions) {
  EXPECT_EQ(second_row("max(x[i, j], 11, 12.5)"), (Numbers{12.5, 12.5, 12.5, 13}));
  EXPECT_EQ(second_row("clamp(x[i, j], 11, 12)"), (Numbers{11, 11, 12, 12}));
  EXPECT_EQ(second_row("round(x[i, j] / 4)"), (Numbers{2, 3, 3, 3}));  // 2.5 is a tie
  EXPECT_EQ(second_row("sign(x[i, j] - 11)"), (Numbers{-1, 0, 1, 1}));
  EXPECT_EQ(second_row("bf16(x[i, j] / 10)"), (Numbers{1, 1.1015625, 1.203125, 1.296875}));
  EXPECT_EQ(second_row("e4m3(x[i, j])"), (Numbers{10, 11, 12, 13}));
  const auto close = [](const std::string& expression, double at_11) {
    EXPECT_NEAR(second_row(expression)[1], at_11, 1e-12) << expression;
  };
  close("sigmoid(x[i, j] - 10)", 1 / (1 + std::exp(-1.0)));
  close("silu(x[i, j] - 10)", 1 / (1 + std::exp(-1.0)));
  close("gelu(x[i, j] - 10)", 0.5 * (1 + std::erf(std::sqrt(0.5))));
  close("gelu_tanh(x[i, j] - 10)", 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * 1.044715)));
  close("rsqrt(x[i, j]) * log2(x[i, j])", std::log2(11) / std::sqrt(11));
}

TEST(TextDefinition, ATensorInPlaceHasTwoValues) {
  EXPECT_EQ(values_of("operation f(x[m, n] inout) -> y[m, n]\n"
                      "  x[i, j] = x[i, j] + 1\n  y[i, j] = x'[i, j] * 100 + x[i, j]\n"),
            (Numbers{1, 2, 3, 4, 11, 12, 13, 14}));
}

}  // namespace
}  // namespace plumbline::text
