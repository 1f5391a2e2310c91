// SPDX-License-Identifier: MIT
// Curves of errors over steps, on processes whose errors can be written down.
#include "harness/propagation/step_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "oracles/base/random.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

TEST(StepCurve, TheExponentIsThatOfThePower) {
  std::vector<double> relative;
  for (int l = 1; l <= 40; ++l) relative.push_back(0.003 * std::pow(l, 0.5));
  EXPECT_NEAR(growth_exponent(relative), 0.5, 1e-12);
  for (double& value : relative) value *= value;
  EXPECT_NEAR(growth_exponent(relative), 1, 1e-12);
}

constexpr std::size_t kSteps = 200, kWidth = 64;

// x' = g x + (1 - g) 1 from x = 1: the reference stays at 1, and an error is multiplied by g.
Step toward_one(double gain) {
  return [gain](std::size_t, StepState& state) {
    for (double& x : state.x) x = gain * x + (1 - gain);
  };
}

ExactSteps staying(double gain) {
  return run_exactly({std::vector<double>(kWidth, 1), {}}, kSteps, toward_one(gain), 4, 1);
}

TEST(StepCurve, ExactStepsHaveNoError) {
  const ExactSteps exact = staying(0.5);
  const DepthCurve curve = step_curve("itself", {.step = toward_one(0.5)}, exact);
  for (const double error : curve.relative) EXPECT_EQ(error, 0);
  for (const double error : curve.injected) EXPECT_EQ(error, 0);
  EXPECT_EQ(curve.exponent, 0);
}

// Over 200 steps a perturbation would vanish or overflow: it is brought back to its size.
TEST(StepCurve, TheGainIsThatOfEveryStepHoweverMany) {
  for (const double gain : {0.5, 1.0, 2.0}) {
    for (const double each : staying(gain).gain) EXPECT_NEAR(each, gain, 1e-5);
  }
}

// The same error e in every step: e / (1 - g) in the end, where random ones come to
// e / sqrt(1 - g^2).
TEST(StepCurve, ErrorsOfAContractionSettle) {
  const double e = 1e-3, gain = 0.5;
  const Step low = [&](std::size_t index, StepState& state) {
    toward_one(gain)(index, state);
    for (double& x : state.x) x += e;
  };
  const DepthCurve curve = step_curve("coherent", {.step = low}, staying(gain));
  EXPECT_NEAR(curve.relative.back(), e / (1 - gain), 1e-12);
  EXPECT_NEAR(curve.predicted, e / std::sqrt(1 - gain * gain), 1e-7);
  EXPECT_NEAR(curve.growth, std::log(gain), 1e-5);
  EXPECT_THAT(gain_finding(curve, "step"), HasSubstr("settle at 1.2 times"));
}

TEST(StepCurve, WhereNothingFadesRandomErrorsGrowAsTheRootAndCoherentOnesAsTheSteps) {
  const ExactSteps exact = staying(1);
  const auto low = [](bool coherent) {
    return [coherent](std::size_t index, StepState& state) {
      Random random(1000 + index);
      for (double& x : state.x) {
        const double draw = random.unit() < 0.5 ? -1e-3 : 1e-3;
        x += coherent ? 1e-3 : draw;
      }
    };
  };
  const DepthCurve random = step_curve("random", {.step = low(false)}, exact);
  const DepthCurve coherent = step_curve("coherent", {.step = low(true)}, exact);
  EXPECT_NEAR(coherent.exponent, 1, 1e-3);
  EXPECT_NEAR(coherent.relative.back(), kSteps * 1e-3, 1e-9);
  // 64 walks: their root mean square is known to 1 / sqrt(2 * 64) = 9 %.
  EXPECT_NEAR(random.relative.back() / random.predicted, 1, 0.3);
  EXPECT_NEAR(random.exponent, 0.5, 0.2);
  const std::vector<std::string> findings =
      growth_findings({random, coherent}, {"steps", "step", "this makes it"});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_THAT(findings[0], HasSubstr("coherent: the error grows as steps^1.00"));
  EXPECT_THAT(findings[1], HasSubstr("coherent: 14.14 times"));
}

// One curve of random errors can have any slope, but its level is what its steps add up to. Of a
// few steps nothing is said.
TEST(StepCurve, ASlopeAloneIsNotCalledCoherent) {
  const auto findings = [](std::size_t steps, double beyond) {
    DepthCurve curve;
    for (std::size_t t = 1; t <= steps; ++t)
      curve.relative.push_back(1e-3 * static_cast<double>(t));
    curve.exponent = growth_exponent(curve.relative);
    curve.predicted = curve.relative.back() / beyond;
    return growth_findings({curve}, {"steps", "step", "this makes it"}).size();
  };
  EXPECT_EQ(findings(24, 1), 0u);
  EXPECT_EQ(findings(24, 2), 1u);
  EXPECT_EQ(findings(7, 2), 0u);
  EXPECT_EQ(findings(8, 2), 1u);
}

TEST(StepCurve, AmplifiedErrorsAreNotCalledCoherent) {
  DepthCurve curve;
  curve.growth = 0.05;
  for (std::size_t t = 1; t <= 64; ++t)
    curve.relative.push_back(1e-3 * std::sqrt(static_cast<double>(t)) *
                             std::exp(0.05 * static_cast<double>(t)));
  curve.predicted = curve.relative.back();
  curve.exponent = growth_exponent(curve.relative);
  EXPECT_GT(curve.exponent, 0.7);
  EXPECT_TRUE(growth_findings({curve}, {"steps", "step", "this makes it"}).empty());
  EXPECT_THAT(gain_finding(curve, "step"), HasSubstr("amplified"));
}

// What is remembered is handed to every step as it was, and enters the formats of a low one.
TEST(StepCurve, MemoryGrowsAndIsEntered) {
  const Step remember = [](std::size_t, StepState& state) {
    state.memory.push_back(state.x[0]);
    for (double& x : state.x) x = 1 + state.memory.back() / 2;
  };
  const ExactSteps exact = run_exactly({{1.0}, {}}, 3, remember, 0, 1);
  EXPECT_EQ(exact.memory, (std::vector<double>{1, 1.5, 1.75}));
  EXPECT_EQ(exact.before(2).memory, (std::vector<double>{1, 1.5}));
  std::vector<std::size_t> entered;
  LowSteps low{.step = remember,
               .enter = [&](StepState& state) { entered.push_back(state.memory.size()); }};
  step_curve("entered", low, exact);
  EXPECT_EQ(entered, (std::vector<std::size_t>{0, 0, 1, 2}));
}

}  // namespace
}  // namespace plumbline
