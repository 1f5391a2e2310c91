// SPDX-License-Identifier: MIT
// The FP64 twin is certified by the same definition over MPFR numbers; the stack in kernels'
// arithmetic differs from it by the roundings it makes.
#include "oracles/stages/staged_stack.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/exact/real.h"
#include "oracles/stages/output_vectors.h"
#include "tests/oracles/stages/stack_fixture.h"

namespace plumbline {
namespace {

StackShape small(bool adaptive) { return testing::small_stack(4, adaptive); }

std::vector<double> exact_end(const Stack& stack) {
  std::vector<double> x(stack.input.begin(), stack.input.end());
  for (std::size_t l = 0; l < stack.layers.size(); ++l) defined_layer(stack, l, x);
  return x;
}

std::vector<double> end_of(const Stack& stack, const StackArithmetic& arithmetic) {
  const StagedStack staged(stack, arithmetic);
  std::vector<double> x(stack.input.begin(), stack.input.end());
  for (std::size_t l = 0; l < stack.layers.size(); ++l) x = staged.layer(l, x);
  return x;
}

double error_of(const Stack& stack, const StackArithmetic& arithmetic) {
  const std::vector<double> exact = exact_end(stack);
  return distance(end_of(stack, arithmetic), exact) / norm(exact);
}

TEST(StagedStack, TheDoubleTwinAgreesWithMpfr) {
  for (const bool adaptive : {false, true}) {
    const Stack stack = random_stack(small(adaptive), 1);
    using Number = RealOf<128>;
    std::vector<Number> x(stack.input.begin(), stack.input.end());
    for (std::size_t l = 0; l < stack.layers.size(); ++l) defined_layer(stack, l, x);
    const std::vector<double> exact = exact_end(stack);
    double largest = 0, squares = 0;
    for (std::size_t n = 0; n < x.size(); ++n) {
      largest = std::max(largest, std::fabs(exact[n] - static_cast<double>(x[n])));
      squares += exact[n] * exact[n];
    }
    EXPECT_LT(largest, 1e-13 * std::sqrt(squares)) << adaptive;
  }
}

TEST(StagedStack, ErrorsAreThoseOfTheRoundings) {
  for (const bool adaptive : {false, true}) {
    const Stack stack = random_stack(small(adaptive), 2);
    // Two bf16 roundings of x a layer, 0.166 % each (docs/propagation.md), and what the branches
    // add.
    const double stream = 0.00166 * std::sqrt(2.0 * 4), bf16 = error_of(stack, {});
    EXPECT_GT(bf16, stream / 1.5);
    EXPECT_LT(bf16, stream * 2.5);
    EXPECT_LT(error_of(stack, {.residual = FormatId::f32}), bf16 / 1.3);
    EXPECT_GT(error_of(stack, {.factors = FormatId::e4m3}), bf16 * 2);
    EXPECT_GT(error_of(stack, {.conversion = Rounding::toward_zero}), bf16 * 2);
  }
}

// A KV cache is the same computation in another order: token by token or all at once.
TEST(StagedStack, TokenByTokenWithACacheIsAllTokensAtOnce) {
  const Stack stack = random_stack(small(false), 4);
  const StagedStack staged(stack, {});
  const auto width = static_cast<std::size_t>(stack.shape.width);
  std::vector<KeyValues<double>> exact(stack.layers.size()), low(stack.layers.size());
  std::vector<double> exact_rows, low_rows;
  for (std::size_t first = 0; first < stack.input.size(); first += width) {
    std::vector<double> x(stack.input.begin() + static_cast<std::ptrdiff_t>(first),
                          stack.input.begin() + static_cast<std::ptrdiff_t>(first + width));
    std::vector<double> y = x;
    for (std::size_t l = 0; l < stack.layers.size(); ++l) {
      defined_layer(stack, l, x, exact[l], [](const std::vector<double>& rows) { return rows; });
      y = staged.layer(l, y, low[l]);
    }
    exact_rows.insert(exact_rows.end(), x.begin(), x.end());
    low_rows.insert(low_rows.end(), y.begin(), y.end());
  }
  EXPECT_EQ(exact_rows, exact_end(stack));
  EXPECT_EQ(low_rows, end_of(stack, {}));
}

TEST(StagedStack, TheCacheKeepsWhatItsFormatHas) {
  const Stack stack = random_stack(small(false), 5);
  const std::vector<double> rows = {1 + 0x1p-7, -0.3, 1000};
  EXPECT_EQ(StagedStack(stack, {}).cached({1 + 0x1p-7}), std::vector<double>{1 + 0x1p-7});
  EXPECT_EQ(StagedStack(stack, {.cache = FormatId::e4m3}).cached(rows),
            (std::vector<double>{1, -0.3125, 448}));
}

TEST(StagedStack, WeightsAndInputAreStoredInBf16) {
  const Stack stack = random_stack(small(false), 3);
  const Format& bf16 = format(FormatId::bf16);
  for (const float weight : stack.layers[2].gate)
    EXPECT_EQ(double{weight}, to_double(bf16, encode(bf16, double{weight})));
}

}  // namespace
}  // namespace plumbline
