// SPDX-License-Identifier: MIT
// Tests of errors beside a model's: each finds what it is for and is silent about another execution
// of the same arithmetic, for all scales of rows and columns.
#include "oracles/population/envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "oracles/base/random.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kRows = 64, kColumns = 64, kTiles = 8, kDepth = 16;

double normal(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

// Sums of tiles, a model that truncates (its errors lean toward zero) and another execution of it.
struct Made {
  EnvelopeSample sample;
  std::vector<std::vector<double>> tiles;

  // `size` of errors beside values of about 3; rows and columns have scales of their own.
  explicit Made(std::uint64_t seed, double size = 1e-4, double lean = -0.2) {
    Random random(seed);
    tiles.resize(kTiles);
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < kColumns; ++j) {
        const double scale = std::ldexp(1 + 0.01 * static_cast<double>(j), static_cast<int>(i % 9));
        double y = 0;
        for (std::vector<double>& tile : tiles) {
          tile.push_back(normal(random) * scale);
          y += tile.back();
        }
        const auto error = [&] { return size * scale * (normal(random) + std::copysign(lean, y)); };
        sample.exact.push_back(y);
        sample.errors.push_back(error());
        sample.model_errors.push_back(error());
      }
    }
    sample.rows = kRows;
    sample.columns = kColumns;
    sample.tile_depth = kDepth;
    sample.k = kTiles * kDepth;
  }

  // Adds to every error what `more` says of its index.
  template <typename More>
  Made& add(const More& more) {
    for (std::size_t at = 0; at < sample.errors.size(); ++at) sample.errors[at] += more(at);
    return *this;
  }

  EnvelopeResult test() {
    sample.tile = [this](std::int64_t tile) { return tiles[static_cast<std::size_t>(tile)]; };
    return test_envelope(sample);
  }
};

TEST(PopulationEnvelope, IsSilentOnAnotherExecutionOfTheModel) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_TRUE(Made(seed).test().suspicions.empty()) << seed;
    EXPECT_TRUE(Made(seed, 1e-4, 0.5).test().suspicions.empty()) << seed;
  }
}

TEST(PopulationEnvelope, IsSilentOnAKernelBetterThanItsModel) {
  Made exact(1, 1e-3, -2);
  for (double& error : exact.sample.errors) error = 0;
  EXPECT_TRUE(exact.test().suspicions.empty());
  Made unbiased(2, 1e-4, 0);
  const Made leaning(2, 1e-4, -2);
  unbiased.sample.model_errors = leaning.sample.model_errors;
  EXPECT_TRUE(unbiased.test().suspicions.empty());
}

TEST(PopulationEnvelope, FindsTheTileWithAFactor) {
  for (const double sign : {1.0, -1.0}) {
    Made made(3);
    const double least = made.test().detectable_factor;
    EXPECT_LT(least, 1e-4);  // ten standard errors of 1e-4 / sqrt(4096), and more for odd rows
    made.add([&](std::size_t at) { return sign * 1.3 * least * made.tiles[5][at]; });
    const EnvelopeResult result = made.test();
    ASSERT_FALSE(result.suspicions.empty());
    const Suspicion& first = result.suspicions.front();
    EXPECT_EQ(first.test, EnvelopeTest::tile_profile);
    EXPECT_EQ(first.tile_begin, 5 * kDepth);
    EXPECT_EQ(first.tile_end, 6 * kDepth);
    EXPECT_EQ(first.effect > 0, sign > 0);
    EXPECT_THAT(first.words, HasSubstr("k from 80 to 95"));
    for (const Suspicion& one : result.suspicions) EXPECT_EQ(one.tile_begin, 5 * kDepth);
  }
}

// A model that loses 5e-5 of a tile: a kernel that adds half as much is nearer to exact. What is
// printed has to come out on the other side.
TEST(PopulationEnvelope, WhatItPrintsIsFoundBeyondTheModelsOwnEffect) {
  for (const double share : {0.5, 1.0}) {
    Made made(8, 1e-6);
    const auto lost = [&](std::size_t at) { return -5e-5 * made.tiles[2][at]; };
    made.add(lost);
    for (std::size_t at = 0; at < made.sample.exact.size(); ++at)
      made.sample.model_errors[at] += lost(at);
    const double least = made.test().detectable_factor;
    EXPECT_GT(least, 5e-5);
    made.add([&](std::size_t at) { return share * least * made.tiles[2][at]; });
    const EnvelopeResult result = made.test();
    const auto of_tile =
        std::ranges::count(result.suspicions, EnvelopeTest::tile_profile, &Suspicion::test);
    EXPECT_EQ(of_tile, share == 1.0) << share;
  }
}

TEST(PopulationEnvelope, FindsErrorsThatAreTooLarge) {
  Made made(4);
  made.add([&](std::size_t at) { return 2 * made.sample.errors[at]; });
  const EnvelopeResult result = made.test();
  ASSERT_EQ(result.suspicions.size(), 1u);
  EXPECT_EQ(result.suspicions.front().test, EnvelopeTest::rms);
  EXPECT_NEAR(result.suspicions.front().effect, 3, 0.2);
}

TEST(PopulationEnvelope, ErrorsWhereTheModelHasNoneAreTooLarge) {
  Made made(4);
  for (double& error : made.sample.model_errors) error = 0;
  EXPECT_EQ(made.test().suspicions.front().test, EnvelopeTest::rms);
}

TEST(PopulationEnvelope, OneLargeErrorIsNoPopulation) {
  Made made(5);
  made.sample.errors[1000] *= 1e4;
  EXPECT_TRUE(made.test().suspicions.empty());
}

TEST(PopulationEnvelope, FindsALeanToOneSide) {
  for (const double sign : {1.0, -1.0}) {
    Made made(6, 1e-4, 0);
    const double least = made.test().detectable_bias;
    EXPECT_LT(least, 0.3);  // 1/16, and twelve times 1 / sqrt(4096), a bit more for odd rows
    made.add([&](std::size_t at) {
      const double y = made.sample.exact[at];
      const double scale = std::ldexp(1 + 0.01 * static_cast<double>(at % kColumns),
                                      static_cast<int>(at / kColumns % 9));
      return sign * 1.3 * least * 1e-4 * std::copysign(scale, y);
    });
    const EnvelopeResult result = made.test();
    const auto bias = std::find_if(result.suspicions.begin(), result.suspicions.end(),
                                   [](const Suspicion& s) { return s.test == EnvelopeTest::bias; });
    ASSERT_NE(bias, result.suspicions.end());
    EXPECT_EQ(bias->effect > 0, sign > 0);
    EXPECT_THAT(bias->words, HasSubstr(sign > 0 ? "away from zero" : "toward zero"));
  }
}

TEST(PopulationEnvelope, CountsFlipsByTheirRootAndTwentyMore) {
  Made made(7);
  EXPECT_EQ(made.test().detectable_flips, -1);
  made.sample.model_flips = 100;
  made.sample.flips = 220;
  EXPECT_TRUE(made.test().suspicions.empty());
  EXPECT_EQ(made.test().detectable_flips, 221);
  made.sample.flips = 221;
  ASSERT_EQ(made.test().suspicions.size(), 1u);
  EXPECT_EQ(made.test().suspicions.front().test, EnvelopeTest::flips);
  made.sample.flips = 0;
  EXPECT_TRUE(made.test().suspicions.empty());
}

TEST(PopulationEnvelope, SuspicionsAreTheSameByTestTileAndSide) {
  const Suspicion one{EnvelopeTest::tile_profile, 32, 64, 1e-3, 20, ""};
  Suspicion other = one;
  other.effect = 2e-3;
  other.sigmas = 11;
  EXPECT_TRUE(one.same_as(other));
  other.effect = -1e-3;
  EXPECT_FALSE(one.same_as(other));
  other = one;
  other.tile_begin = 0;
  EXPECT_FALSE(one.same_as(other));
  other = one;
  other.test = EnvelopeTest::bias;
  EXPECT_FALSE(one.same_as(other));
}

}  // namespace
}  // namespace plumbline
