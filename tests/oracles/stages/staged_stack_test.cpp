// SPDX-License-Identifier: MIT
// The FP64 reference is certified by the same definition over MPFR numbers; the stack in kernels'
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

TEST(StagedStack, TheFp64ReferenceAgreesWithMpfr) {
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
    EXPECT_GT(error_of(stack, {.factors = StackFormats::all(FormatId::e4m3)}), bf16 * 2);
    EXPECT_GT(error_of(stack, {.conversion = Rounding::toward_zero}), bf16 * 2);
  }
}

// Every product and attention can be in FP8 by itself; together they make the most error.
TEST(StagedStack, EachProductHasAFormatOfItsOwn) {
  const Stack stack = random_stack(small(false), 6);
  const auto error = [&](const StackFormats& factors, FormatId attention) {
    return error_of(stack, {.residual = FormatId::f32, .factors = factors, .attention = attention});
  };
  const FormatId bf16 = FormatId::bf16, fp8 = FormatId::e4m3;
  const double none = error({}, bf16), all = error(StackFormats::all(fp8), fp8);
  double squares = none * none;
  for (const StackFormats& one : {StackFormats{.qkv = fp8}, StackFormats{.out = fp8},
                                  StackFormats{.up = fp8}, StackFormats{.down = fp8}}) {
    const double alone = error(one, bf16);
    EXPECT_GT(alone, 1.2 * none);
    EXPECT_LT(alone, all);
    squares += alone * alone - none * none;
  }
  const double attention = error({}, fp8);
  EXPECT_GT(attention, 1.2 * none);
  EXPECT_LT(attention, all);
  squares += attention * attention - none * none;
  // Independent errors: their squares add up, as far as 4 layers tell.
  EXPECT_NEAR(all / std::sqrt(squares), 1, 0.25);
}

TEST(StackProducts, ScalesAreOfWhatTheySay) {
  // Two rows of 256: the second is 1000 times the first, and so is the second half of each.
  std::vector<double> values;
  for (const double row : {1.0, 1000.0}) {
    for (std::size_t p = 0; p < 256; ++p) values.push_back(row * (p < 128 ? 1 : 1000));
  }
  const auto scales = [&](StackScales of, bool weights) {
    const StackFactors factors = stack_factors(values, 256, FormatId::e4m3, of, weights);
    std::vector<double> found;
    for (const double scale : factors.scales) found.push_back(std::round(scale * 448));
    return found;
  };
  using Scales = std::vector<double>;
  EXPECT_EQ(scales(StackScales::row, false), (Scales{1e3, 1e6}));
  EXPECT_EQ(scales(StackScales::tensor, false), (Scales{1e6, 1e6}));
  EXPECT_EQ(scales(StackScales::block, false), (Scales{1, 1e3, 1e3, 1e6}));
  EXPECT_EQ(scales(StackScales::block, true), (Scales{1e3, 1e6, 1e3, 1e6}));
  // What is exact in every format is so under every scale that is a power of two.
  std::vector<double> ones(2 * 256, 448), x(256, 448);
  for (const StackScales of : {StackScales::row, StackScales::tensor, StackScales::block}) {
    const StackProducts multiply({.scales = of}, false);
    EXPECT_EQ(multiply(x, stack_factors(ones, 256, FormatId::e4m3, of, true)),
              (std::vector<double>{448.0 * 448 * 256, 448.0 * 448 * 256}));
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
