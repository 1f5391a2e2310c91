// SPDX-License-Identifier: MIT
// Measures of gradients against errors of known kind.
#include "oracles/stages/gradient_measures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/base/random.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

double unit(Random& random) { return 2 * random.unit() - 1; }

std::vector<double> drawn(std::size_t count, Random random) {
  std::vector<double> values(count);
  for (double& value : values) value = unit(random);
  return values;
}

std::vector<double> rounded(const std::vector<double>& values, Rounding rounding) {
  const Format& bf16 = format(FormatId::bf16);
  std::vector<double> out;
  for (const double value : values)
    out.push_back(to_double(bf16, encode(bf16, value, {.rounding = rounding})));
  return out;
}

TEST(GradientMeasures, ALongerGradientIsParallelAndADifferentOneOrthogonal) {
  const GradientDifference longer = compare_gradients({3, 4}, {3.3, 4.4});
  EXPECT_NEAR(longer.parallel, 0.1, 1e-15);
  EXPECT_NEAR(longer.orthogonal, 0, 1e-15);
  EXPECT_NEAR(longer.cosine_gap, 0, 1e-15);
  EXPECT_NEAR(longer.descent, 1.1, 1e-15);
  const GradientDifference turned = compare_gradients({3, 4}, {3 - 0.04, 4 + 0.03});
  EXPECT_NEAR(turned.parallel, 0, 1e-15);
  EXPECT_NEAR(turned.orthogonal, 0.01, 1e-15);
  EXPECT_NEAR(turned.relative, 0.01, 1e-15);
  EXPECT_NEAR(turned.cosine_gap, 1 - 1 / std::sqrt(1 + 1e-4), 1e-15);
}

TEST(GradientMeasures, TheCosineGapDoesNotCancel) {
  const GradientDifference tiny = compare_gradients({1, 0}, {1, 1e-10});
  EXPECT_NEAR(tiny.cosine_gap / 0.5e-20, 1, 1e-9);
  EXPECT_NEAR(compare_gradients({1, 0}, {-1, 0}).cosine_gap, 2, 1e-15);
}

TEST(GradientMeasures, UnderflowCountsElementsThatWereNotZero) {
  EXPECT_EQ(compare_gradients({1, 0, 1e-9, 2}, {1, 0, 0, 2}).lost, 1.0 / 3);
}

TEST(GradientMeasures, WhatIsNotFiniteIsCountedAndNotAveraged) {
  const GradientDifference got = compare_gradients({1, 1, 1, 1}, {1, NAN, 1, INFINITY});
  EXPECT_EQ(got.not_finite, 0.5);
  EXPECT_EQ(got.relative, 0);
}

TEST(GradientMeasures, QuantilesOfRows) {
  const std::vector<double> rows = row_differences({1, 0, 0, 1, 0, 0}, {1, 0.5, 0, 1, 3, 3}, 2);
  ASSERT_EQ(rows.size(), 2u);  // the row of zeros has no relative difference
  EXPECT_EQ(rows[0], 0);
  EXPECT_EQ(rows[1], 0.5);
  EXPECT_EQ(quantile(rows, 1), 0.5);
  EXPECT_EQ(quantile(rows, 0), 0);
}

TEST(GradientMeasures, QuantilesOfColumnsAreThoseOfEachHead) {
  // Two heads of two rows and two columns; the second column of the second head is off by half.
  const std::vector<double> exact = {1, 2, 1, 2, 1, 2, 1, 2}, got = {1, 2, 1, 2, 1, 3, 1, 1};
  EXPECT_EQ(column_differences(exact, got, 2, 2), (std::vector<double>{0, 0, 0, 0.5}));
  EXPECT_EQ(column_differences(exact, got, 4, 2).size(), 2u);
  EXPECT_EQ(row_differences(exact, got, 4),  // whole heads
            (std::vector<double>{0, std::sqrt(2.0 / 10)}));
}

TEST(GradientMeasures, WhatIsNotFiniteIsInNoRowNorInAdamsSteps) {
  const std::vector<double> exact = {1, 1, 1, 1}, got = {NAN, 1.5, 1, INFINITY};
  EXPECT_EQ(row_differences(exact, got, 2), (std::vector<double>{0, 0.5}));
  EXPECT_EQ(column_differences(exact, got, 2, 2), (std::vector<double>{0, 0.5}));
  AdamComparison adam;
  adam.step(exact, got);
  adam.step(exact, exact);
  EXPECT_TRUE(std::isfinite(adam.difference()));
  EXPECT_GT(adam.difference(), 0);
}

TEST(GradientMeasures, ErrorsAreHeldAgainstWhatDrawsDifferBy) {
  // Exact gradients of variance 2 in one element, each off by 0.1 in another.
  DrawSpread spread;
  spread.add({1, 5}, {1, 5.1});
  spread.add({-1, 5}, {-1, 4.9});
  EXPECT_NEAR(spread.value(), 0.01 / 2, 1e-12);
  DrawSpread right, same;
  for (int draw = 0; draw < 2; ++draw) {
    right.add({1, 5}, {1, 5});
    same.add({1, 5}, {1, 6});
  }
  EXPECT_EQ(right.value(), 0);
  EXPECT_TRUE(std::isinf(same.value()));
}

// 32 draws about one point.
BiasStatistic bias_of(Rounding rounding, std::uint64_t seed) {
  const Random random(seed);
  const std::vector<double> mean = drawn(512, random.fork(0));
  BiasStatistic bias;
  for (std::uint64_t draw = 1; draw <= 32; ++draw) {
    std::vector<double> exact = drawn(512, random.fork(draw));
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = mean[i] + 0.5 * exact[i];
    std::vector<double> difference = rounded(exact, rounding);
    for (std::size_t i = 0; i < exact.size(); ++i) difference[i] -= exact[i];
    bias.add(difference);
  }
  return bias;
}

TEST(GradientMeasures, RoundingToNearestIsUnbiasedWithinItsNoise) {
  double squares = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const BiasStatistic bias = bias_of(Rounding::nearest_even, seed);
    EXPECT_LT(std::fabs(bias.value()), 5 * bias.noise());
    squares += bias.value() * bias.value() / (bias.noise() * bias.noise());
  }
  // The noise is neither far too large nor too small: 20 standard normal squares, 5 sigma about 20.
  EXPECT_GT(squares, 20 - 5 * std::sqrt(40.0) + 15);
  EXPECT_LT(squares, 20 + 5 * std::sqrt(40.0));
}

TEST(GradientMeasures, TruncationIsBiased) {
  EXPECT_GT(bias_of(Rounding::toward_zero, 1).value(), 0.05);
}

TEST(GradientMeasures, TheSameErrorInEveryDrawIsAllBias) {
  BiasStatistic bias;
  for (int draw = 0; draw < 4; ++draw) bias.add({1, -2, 3});
  EXPECT_NEAR(bias.value(), 1, 1e-15);
}

TEST(GradientMeasures, AdamSeesSignsNotSizes) {
  AdamComparison adam;
  // The first step is the sign of the gradient: a gradient twice as long makes the same step.
  adam.step({1, -1, 2, 4}, {2, -2, 4, 8});
  EXPECT_NEAR(adam.difference(), 0, 1e-7);
  EXPECT_EQ(adam.flips(), 0);
  AdamComparison flipped;
  flipped.step({1, -1, 2, 4}, {1, -1, 2, -4});
  EXPECT_NEAR(flipped.flips(), 0.25, 1e-6);
  EXPECT_NEAR(flipped.difference(), 1, 1e-6);
}

TEST(GradientMeasures, WeightsStayWhereUpdatesAreLessThanHalfAnUlp) {
  AdamComparison adam;
  EXPECT_EQ(AdamComparison().stagnation_rate({}, format(FormatId::bf16)), 0);
  adam.step({1, -1, 2, 0}, {1, -1, 2, 0});  // updates of one unit each, and none
  // bf16 has 8 bits: half an ulp of 1 is 2^-8, of 4 and of 7 it is 2^-6.
  const double rate = adam.stagnation_rate({1, 4, 7, 100}, format(FormatId::bf16));
  EXPECT_NEAR(rate, 0x1p-6 / std::sqrt((1 + 16 + 49 + 10000) / 4.0), 1e-9);
}

}  // namespace
}  // namespace plumbline
