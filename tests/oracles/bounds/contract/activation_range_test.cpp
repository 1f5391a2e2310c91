// SPDX-License-Identifier: MIT
// activation_range: no way that a contract's word covers leaves it, another function does, and it
// is not much wider than what was allowed.
#include "oracles/bounds/contract/activation_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "oracles/base/numbers.h"
#include "oracles/bounds/contract/describe.h"
#include "tests/oracles/bounds/contract/activation_model.h"

namespace plumbline {
namespace {

using testing::ActivationModel;
using testing::kSmoothSteps;

// Where a function or a step changes, with neighbors, and any others.
std::vector<float> arguments(std::uint64_t seed) {
  std::vector<float> all;
  for (const double level : {0.0,
                             0x1p-149,
                             0x1p-126,
                             0x1p-60,
                             0x1p-24,
                             0x1p-12,
                             0.5,
                             0.7517915246935645,
                             0.7524614220710163,
                             1.0,
                             1.278464542761074,
                             2.0,
                             3.0,
                             4.0,
                             5.5,
                             7.0,
                             9.01,
                             10.0,
                             10.05,
                             10.2,
                             13.0,
                             16.7,
                             40.0,
                             86.9,
                             87.0,
                             87.5,
                             88.4,
                             88.72283,
                             88.8,
                             89.5,
                             104.0,
                             1e4,
                             5e12,
                             1e13,
                             0x1p100,
                             0x1p127,
                             0x1.fffffep127}) {
    for (const float sign : {-1.0f, 1.0f}) {
      float x = sign * static_cast<float>(level);
      for (int step = 0; step < 3; ++step) {
        all.push_back(x);
        x = std::nextafter(x, sign * kFloatInfinity);
      }
    }
  }
  Random random(seed);
  for (int n = 0; n < 3000; ++n) all.push_back(static_cast<float>(random.unit() * 12 - 6));
  for (int n = 0; n < 1000; ++n) all.push_back(static_cast<float>(random.unit() * 220 - 110));
  for (int n = 0; n < 1000; ++n) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    if (!std::isnan(x)) all.push_back(x);
  }
  return all;
}

TEST(ActivationRange, HoldsEveryWayOfItsWord) {
  for (const EpilogueStep step : kSmoothSteps) {
    for (std::uint64_t seed = 0; seed < 48; ++seed) {
      ActivationModel model(step, seed);
      for (const float x : arguments(seed)) {
        const F32Range point = activation_range(step, F32Range::of(x));
        const float got = model(x);
        ASSERT_TRUE(point.contains(got))
            << word_of(step) << " of " << x << " is " << got << ", not in " << point.low << " to "
            << point.high << ", seed " << seed;
      }
    }
  }
}

TEST(ActivationRange, HoldsAllPointsOfAnInterval) {
  Random random(5);
  for (const EpilogueStep step : kSmoothSteps) {
    for (int repeat = 0; repeat < 2000; ++repeat) {
      const double middle = random.unit() * 24 - 12;
      const double width = std::ldexp(random.unit(), static_cast<int>(random.between(-20, 3)));
      const F32Range x{static_cast<float>(middle - width), static_cast<float>(middle + width)};
      const F32Range whole = activation_range(step, x);
      ActivationModel model(step, random.next());
      for (int inside = 0; inside < 8; ++inside) {
        const auto at =
            std::clamp(static_cast<float>(middle + width * (2 * random.unit() - 1)), x.low, x.high);
        ASSERT_TRUE(whole.contains(model(at))) << word_of(step) << " of " << at;
        const F32Range point = activation_range(step, F32Range::of(at));
        ASSERT_LE(whole.low, point.low) << word_of(step) << " of " << at;
        ASSERT_GE(whole.high, point.high) << word_of(step) << " of " << at;
      }
    }
  }
}

TEST(ActivationRange, IsCloseToWhatIsAllowed) {
  for (const EpilogueStep step : kSmoothSteps) {
    const bool approx =
        step == EpilogueStep::gelu_tanh_tanh_approx || step == EpilogueStep::silu_tanh_approx;
    for (const float x : {0.01f, 0.3f, 0.9f, 1.7f, 3.0f, 6.0f, 20.0f, -0.2f, -0.7f}) {
      float low = kFloatInfinity, high = -kFloatInfinity;
      for (std::uint64_t seed = 0; seed < 300; ++seed) {
        ActivationModel model(step, seed);
        const float got = model(x);
        low = std::min(low, got);
        high = std::max(high, got);
      }
      const F32Range range = activation_range(step, F32Range::of(x));
      const double width = static_cast<double>(range.high) - static_cast<double>(range.low);
      const double met = static_cast<double>(high) - static_cast<double>(low);
      EXPECT_LT(width, 4 * met + 0x1p-21 * std::fabs(static_cast<double>(x)))
          << word_of(step) << " of " << x;
      EXPECT_LT(width, (approx ? 0x1.01p-10 : 0x1.2p-20) * std::fabs(static_cast<double>(x)))
          << word_of(step) << " of " << x;
    }
  }
}

TEST(ActivationRange, HasNoRoomForAnotherFunction) {
  for (const EpilogueStep step : kSmoothSteps) {
    for (const Activation other : {Activation::none, Activation::relu, Activation::gelu,
                                   Activation::gelu_tanh, Activation::silu}) {
      if (other == activation_of(step)) continue;
      // The two are nowhere farther apart than tanh.approx may be from tanh.
      if (step == EpilogueStep::gelu_tanh_tanh_approx && other == Activation::gelu) continue;
      bool told = false;
      for (double x = -4; x < 4; x += 0.01) {
        const auto value =
            static_cast<float>(activation_value(other, static_cast<double>(static_cast<float>(x))));
        told |= !activation_range(step, F32Range::of(static_cast<float>(x))).contains(value);
      }
      EXPECT_TRUE(told) << word_of(step) << " and " << word_of(other);
    }
  }
}

TEST(ActivationRange, HasOneMinimum) {
  for (const EpilogueStep step : kSmoothSteps) {
    const Activation function = activation_of(step);
    double previous = kFloatInfinity, least = kFloatInfinity;
    int turns = 0;
    bool falling = true;
    for (double x = -12; x < 6; x += 0x1p-12) {
      const double value = activation_value(function, x);
      if ((value < previous) != falling && x > -12) {
        ++turns;
        falling = !falling;
      }
      least = std::min(least, value);
      previous = value;
    }
    EXPECT_EQ(turns, 1) << word_of(step);
    const F32Range range = activation_range(step, {-12, 6});
    EXPECT_LE(static_cast<double>(range.low), least);
    EXPECT_GT(static_cast<double>(range.low), least - 0.01);
  }
}

TEST(ActivationRange, SpecialValuesAreTheFormulas) {
  const float nan = std::nanf("");
  for (const EpilogueStep step : kSmoothSteps) {
    EXPECT_EQ(activation_range(step, F32Range::of(nan)), F32Range::only_nan());
    EXPECT_EQ(activation_range(step, F32Range::of(-kFloatInfinity)), F32Range::only_nan());
    EXPECT_EQ(activation_range(step, F32Range::of(kFloatInfinity)), F32Range::of(kFloatInfinity));
    EXPECT_EQ(activation_range(step, F32Range::of(-0.0f)), F32Range::of(0));
    const F32Range all = activation_range(step, {-kFloatInfinity, kFloatInfinity, false});
    EXPECT_TRUE(all.nan);
    EXPECT_EQ(all.high, kFloatInfinity);
    EXPECT_GT(all.low, -kFloatInfinity);
  }
}

TEST(ActivationRange, OnlySmoothStepsHaveOne) {
  EXPECT_EQ(activation_of(EpilogueStep::relu), Activation::relu);
  EXPECT_EQ(activation_of(EpilogueStep::bias), Activation::none);
  EXPECT_FALSE(is_smooth(Activation::relu));
  EXPECT_TRUE(is_smooth(Activation::silu));
  EXPECT_EQ(activation_value(Activation::relu, -3), 0);
}

}  // namespace
}  // namespace plumbline
