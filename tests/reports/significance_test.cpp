// SPDX-License-Identifier: MIT
#include "reports/significance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "oracles/base/random.h"

namespace plumbline {
namespace {

TEST(PowerLaw, IsFoundWithItsInterval) {
  std::vector<std::pair<double, double>> points;
  for (const double x : {8.0, 32.0, 128.0, 512.0, 2048.0})
    points.emplace_back(x, 0.1 * std::sqrt(x) * (points.size() % 2 == 0 ? 1.1 : 0.9));
  const auto law = power_law(points);
  ASSERT_TRUE(law);
  EXPECT_LT(law->low, 0.5);
  EXPECT_GT(law->high, 0.5);
  EXPECT_NEAR(law->exponent, 0.5, 0.05);
  EXPECT_LT(law->high - law->low, 0.3);
}

TEST(PowerLaw, IsNotReadFromTooLittle) {
  EXPECT_FALSE(power_law({{1, 1}, {2, 2}, {4, 4}}));
  EXPECT_FALSE(power_law({{8, 1}, {8, 2}, {8, 3}, {8, 4}}));
  // One point of nearly zero makes no law.
  EXPECT_FALSE(power_law({{8, 1e-26}, {64, 0.5}, {512, 0.5}, {4096, 0.5}}));
}

// The 95 % interval holds the exponent 19 times in 20.
TEST(PowerLaw, IntervalsCoverTheExponent) {
  Random random(1);
  int held = 0, all = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<std::pair<double, double>> points;
    for (int i = 3; i < 11; ++i) {
      double noise = 0;
      for (int part = 0; part < 12; ++part) noise += random.unit() - 0.5;
      points.emplace_back(std::exp2(i), std::exp(0.7 * i * std::log(2) + 0.2 * noise));
    }
    const auto law = power_law(points);
    if (!law) continue;
    ++all;
    held += law->low <= 0.7 && law->high >= 0.7;
  }
  EXPECT_GT(all, 1900);
  EXPECT_NEAR(held, 0.95 * all, 0.015 * all);
}

TEST(Confinement, IsAnUpperBoundOfTheProbability) {
  EXPECT_DOUBLE_EQ(chance_of_confinement(1, 1, 64), 1);
  EXPECT_DOUBLE_EQ(chance_of_confinement(3, 9, 9), 1);
  // Three places of nine rows in three of them happen always.
  EXPECT_DOUBLE_EQ(chance_of_confinement(3, 3, 9), 1);
  EXPECT_LT(chance_of_confinement(64, 4, 64), 1e-60);
  Random random(2);
  for (const auto& [marked, within, rows] : {std::tuple{4, 2, 8}, {5, 2, 16}, {6, 3, 8}}) {
    int confined = 0;
    constexpr int kTrials = 200'000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::set<std::uint64_t> used;
      for (int i = 0; i < marked; ++i) used.insert(random.below(static_cast<std::uint64_t>(rows)));
      confined += static_cast<int>(used.size()) <= within;
    }
    const auto size = [](int n) { return static_cast<std::size_t>(n); };
    EXPECT_LE(confined, kTrials * chance_of_confinement(size(marked), size(within), size(rows)));
  }
}

// Published values: Newcombe, Statistics in Medicine 17 (1998), table I.
TEST(Wilson, GivesPublishedIntervals) {
  const auto expect = [](double part, double whole, double low, double high) {
    const Proportion p = wilson_interval(part, whole);
    EXPECT_NEAR(p.low, low, 5e-5);
    EXPECT_NEAR(p.high, high, 5e-5);
  };
  expect(81, 263, 0.2553, 0.3662);
  expect(15, 148, 0.0624, 0.1605);
  expect(0, 20, 0.0000, 0.1611);
  expect(1, 29, 0.0061, 0.1718);
}

}  // namespace
}  // namespace plumbline
