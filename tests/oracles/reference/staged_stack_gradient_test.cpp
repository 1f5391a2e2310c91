// SPDX-License-Identifier: MIT
// The gradient's definition is checked by central differences of the forward definition over MPFR
// numbers, the FP64 twin by the same definition over them; in kernels' arithmetic it differs by the
// roundings it makes.
#include "oracles/reference/staged_stack_gradient.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/base/random.h"
#include "oracles/exact/real.h"
#include "oracles/reference/output_vectors.h"

namespace plumbline {
namespace {

StackShape small(bool adaptive) {
  StackShape shape;
  shape.layers = 3;
  shape.tokens = 6;
  shape.width = 32;
  shape.heads = 2;
  shape.hidden = 48;
  shape.adaptive = adaptive;
  shape.residual_scale = 1 / std::sqrt(6.0);
  return shape;
}

std::vector<double> random_rows(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> rows(count);
  for (double& value : rows) value = 2 * random.unit() - 1;
  return rows;
}

// The layers' inputs, and the last layer's result.
template <typename Number>
std::vector<std::vector<Number>> inputs_of(const Stack& stack, std::vector<Number> x) {
  std::vector<std::vector<Number>> inputs = {x};
  for (std::size_t l = 0; l < stack.layers.size(); ++l) {
    defined_layer(stack, l, x);
    inputs.push_back(x);
  }
  return inputs;
}

// By the stack's input, from that by its result.
template <typename Number>
std::vector<Number> gradient_of(const Stack& stack, const std::vector<double>& by_result) {
  const std::vector<Number> x(stack.input.begin(), stack.input.end());
  const auto inputs = inputs_of(stack, x);
  std::vector<Number> g(by_result.begin(), by_result.end());
  for (std::size_t l = stack.layers.size(); l-- > 0;)
    defined_layer_gradient(stack, l, inputs[l], g);
  return g;
}

TEST(StagedStackGradient, TheDefinitionIsWhatCentralDifferencesGive) {
  using Number = RealOf<256>;
  for (const bool adaptive : {false, true}) {
    const Stack stack = random_stack(small(adaptive), 1);
    const std::vector<double> by_result = random_rows(stack.input.size(), 2),
                              direction = random_rows(stack.input.size(), 3);
    const std::vector<Number> g = gradient_of<Number>(stack, by_result);
    const Number step = ldexp(Number(1), -85);
    const auto loss = [&](int sign) {
      std::vector<Number> x(stack.input.begin(), stack.input.end());
      for (std::size_t n = 0; n < x.size(); ++n) x[n] += sign * step * direction[n];
      const std::vector<Number> y = inputs_of(stack, x).back();
      Number sum = 0;
      for (std::size_t n = 0; n < y.size(); ++n) sum += y[n] * by_result[n];
      return sum;
    };
    const Number slope = (loss(1) - loss(-1)) / (2 * step);
    Number along = 0;
    for (std::size_t n = 0; n < g.size(); ++n) along += g[n] * direction[n];
    EXPECT_LT(static_cast<double>(abs(Number(slope - along))), 0x1p-150) << adaptive;
    EXPECT_GT(static_cast<double>(abs(along)), 0x1p-10);
  }
}

TEST(StagedStackGradient, TheDoubleTwinAgreesWithMpfr) {
  for (const bool adaptive : {false, true}) {
    const Stack stack = random_stack(small(adaptive), 4);
    const std::vector<double> by_result = random_rows(stack.input.size(), 5);
    const auto due = gradient_of<RealOf<128>>(stack, by_result);
    const std::vector<double> twin = gradient_of<double>(stack, by_result);
    double largest = 0;
    for (std::size_t n = 0; n < twin.size(); ++n)
      largest = std::max(largest, std::fabs(twin[n] - static_cast<double>(due[n])));
    EXPECT_LT(largest, 1e-13 * norm(twin)) << adaptive;
  }
}

double error_of(const Stack& stack, const StackArithmetic& arithmetic) {
  const std::vector<double> by_result = random_rows(stack.input.size(), 6);
  const std::vector<double> exact = gradient_of<double>(stack, by_result);
  const StagedStack forward(stack, arithmetic);
  const StagedStackGradient backward(stack, arithmetic);
  std::vector<StagedStack::Activations> left;
  std::vector<double> x(stack.input.begin(), stack.input.end()), g = by_result;
  for (std::size_t l = 0; l < stack.layers.size(); ++l) {
    KeyValues<double> nothing_before;
    left.push_back(forward.activations(l, x, nothing_before));
    x = left.back().result;
  }
  for (std::size_t l = stack.layers.size(); l-- > 0;) g = backward.layer(l, left[l], g);
  return distance(g, exact) / norm(exact);
}

TEST(StagedStackGradient, ErrorsAreThoseOfTheRoundings) {
  for (const bool adaptive : {false, true}) {
    const Stack stack = random_stack(small(adaptive), 7);
    // The stream's two roundings a layer are the floor, 0.166 % each (docs/propagation.md).
    const double floor = 0.00166 * std::sqrt(2.0 * 3), bf16 = error_of(stack, {});
    EXPECT_GT(bf16, floor / 1.5);
    EXPECT_LT(bf16, floor * 4);
    EXPECT_LT(error_of(stack, {.residual = FormatId::f32}), bf16);
    EXPECT_GT(error_of(stack, {.factors = FormatId::e4m3}), bf16 * 2);
    EXPECT_GT(error_of(stack, {.conversion = Rounding::toward_zero}), bf16 * 1.5);
  }
}

TEST(StagedStackGradient, FactorsOfEightBitsHaveTheRangeOfGradients) {
  EXPECT_EQ(StackArithmetic{}.gradient_factors(), FormatId::bf16);
  EXPECT_EQ((StackArithmetic{.factors = FormatId::e4m3}).gradient_factors(), FormatId::e5m2);
}

}  // namespace
}  // namespace plumbline
