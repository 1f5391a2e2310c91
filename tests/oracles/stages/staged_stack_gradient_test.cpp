// SPDX-License-Identifier: MIT
// The gradient's definition is checked by central differences of the forward definition over MPFR
// numbers, the FP64 reference by the same definition over them. In kernels' arithmetic it differs
// by the roundings it makes.
#include "oracles/stages/staged_stack_gradient.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/base/random.h"
#include "oracles/exact/real.h"
#include "oracles/stages/output_vectors.h"
#include "tests/oracles/stages/stack_fixture.h"

namespace plumbline {
namespace {

StackShape small(bool adaptive) { return testing::small_stack(3, adaptive); }

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

// Those by the weights of one layer, and the loss as a function of them.
TEST(StagedStackGradient, GradientsByWeightsAreWhatCentralDifferencesGive) {
  using Number = RealOf<128>;
  constexpr std::size_t kLayer = 1;
  for (const bool adaptive : {false, true}) {
    Stack stack = random_stack(small(adaptive), 1);
    const std::vector<double> by_result = random_rows(stack.input.size(), 2);
    const std::vector<Number> start(stack.input.begin(), stack.input.end());
    const auto inputs = inputs_of(stack, start);
    std::vector<Number> g(by_result.begin(), by_result.end());
    WeightGradients<Number> due;
    for (std::size_t l = stack.layers.size(); l-- > kLayer;)
      defined_layer_gradient(stack, l, inputs[l], g, &due);

    StackLayer& layer = stack.layers[kLayer];
    const std::vector<std::pair<std::vector<float>*, const std::vector<Number>*>> matrices = {
        {&layer.query, &due.query}, {&layer.key, &due.key},   {&layer.value, &due.value},
        {&layer.out, &due.out},     {&layer.gate, &due.gate}, {&layer.up, &due.up},
        {&layer.down, &due.down}};
    for (std::size_t which = 0; which < matrices.size(); ++which) {
      const auto& [weights, gradient] = matrices[which];
      ASSERT_EQ(gradient->size(), weights->size());
      const std::vector<float> stored = *weights;
      // Weights of 8 bits moved by 2^-20 are floats still.
      const std::vector<double> direction = random_rows(stored.size(), 10 + which);
      const auto loss = [&](float step) {
        for (std::size_t n = 0; n < stored.size(); ++n)
          (*weights)[n] = stored[n] + (direction[n] < 0 ? -step : step);
        std::vector<Number> x = inputs[kLayer];
        for (std::size_t l = kLayer; l < stack.layers.size(); ++l) defined_layer(stack, l, x);
        Number sum = 0;
        for (std::size_t n = 0; n < x.size(); ++n) sum += x[n] * by_result[n];
        return sum;
      };
      const Number slope = (loss(0x1p-20f) - loss(-0x1p-20f)) / 0x1p-19;
      *weights = stored;
      Number along = 0;
      for (std::size_t n = 0; n < stored.size(); ++n)
        along += (*gradient)[n] * (direction[n] < 0 ? -1 : 1);
      EXPECT_LT(static_cast<double>(abs(Number(slope - along))), 0x1p-30) << which << adaptive;
      EXPECT_GT(static_cast<double>(abs(along)), 0x1p-10) << which << adaptive;
    }
  }
}

TEST(StagedStackGradient, TheFp64ReferenceAgreesWithMpfr) {
  for (const bool adaptive : {false, true}) {
    const Stack stack = random_stack(small(adaptive), 4);
    const std::vector<double> by_result = random_rows(stack.input.size(), 5);
    const auto due = gradient_of<RealOf<128>>(stack, by_result);
    const std::vector<double> in_fp64 = gradient_of<double>(stack, by_result);
    double largest = 0;
    for (std::size_t n = 0; n < in_fp64.size(); ++n)
      largest = std::max(largest, std::fabs(in_fp64[n] - static_cast<double>(due[n])));
    EXPECT_LT(largest, 1e-13 * norm(in_fp64)) << adaptive;
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
    EXPECT_GT(error_of(stack, {.factors = StackFormats::all(FormatId::e4m3)}), bf16 * 2);
    EXPECT_GT(error_of(stack, {.conversion = Rounding::toward_zero}), bf16 * 1.5);
  }
}

// Of the last layer, from exact inputs and an exact gradient: only its own roundings are left.
TEST(StagedStackGradient, GradientsByWeightsErrByTheirRoundings) {
  for (const bool adaptive : {false, true}) {
    const Stack stack = random_stack(small(adaptive), 8);
    const std::size_t last = stack.layers.size() - 1;
    const std::vector<double> x =
        inputs_of(stack, std::vector<double>(stack.input.begin(), stack.input.end()))[last];
    const std::vector<double> by_result = random_rows(x.size(), 9);
    std::vector<double> g = by_result;
    WeightGradients<double> due;
    defined_layer_gradient(stack, last, x, g, &due);
    const auto error = [&](const StackArithmetic& arithmetic) {
      KeyValues<double> nothing_before;
      const auto left = StagedStack(stack, arithmetic).activations(last, x, nothing_before);
      WeightGradients<double> got;
      const StagedStackGradient backward(stack, arithmetic);
      // Asking for them changes nothing else.
      EXPECT_EQ(backward.layer(last, left, by_result, &got), backward.layer(last, left, by_result));
      std::vector<double> errors;
      for (const auto of : {&WeightGradients<double>::query, &WeightGradients<double>::key,
                            &WeightGradients<double>::value, &WeightGradients<double>::out,
                            &WeightGradients<double>::gate, &WeightGradients<double>::up,
                            &WeightGradients<double>::down}) {
        errors.push_back(distance(got.*of, due.*of) / norm(due.*of));
      }
      EXPECT_EQ(got.all().size(), due.all().size());
      return errors;
    };
    const std::vector<double> bf16 = error({}),
                              fp8 = error({.factors = StackFormats::all(FormatId::e4m3)});
    for (std::size_t matrix = 0; matrix < bf16.size(); ++matrix) {
      // The product itself is rounded once, 0.166 %; its factors and what they are made of before.
      EXPECT_GT(bf16[matrix], 0.00166 / 1.5) << matrix;
      EXPECT_LT(bf16[matrix], 0.00166 * 6) << matrix;
      EXPECT_GT(fp8[matrix], bf16[matrix] * 4) << matrix;
    }
  }
}

// Beside 448, 1e-4 is 0 in e4m3, and not in e5m2.
TEST(StagedStackGradient, FactorsOfEightBitsHaveTheRangeOfGradients) {
  const StackFactors second = stack_factors({0, 1}, 2, FormatId::e4m3, StackScales::row, true);
  const std::vector<double> dy = {448, 1e-4};
  EXPECT_EQ(StackProducts(StackArithmetic{}, false)(dy, second)[0], 0);
  EXPECT_NEAR(StackProducts(StackArithmetic{}, true)(dy, second)[0], 1e-4, 1e-5);
}

}  // namespace
}  // namespace plumbline
