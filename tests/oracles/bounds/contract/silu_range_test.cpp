// SPDX-License-Identifier: MIT
// silu_range: no conforming kernel leaves it, for any g and any freedom of ex2; it is one number
// where the contract leaves one; and it is not much wider than what mathematics and the roundings
// make of an interval, at the minimum too.
#include "oracles/bounds/contract/silu_range.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/bounds/contract/attention.h"
#include "oracles/exact/real.h"
#include "oracles/reference/swiglu/silu.h"

namespace plumbline {
namespace {

using Number = RealOf<256>;

constexpr SiluForm kForms[] = {SiluForm::quotient, SiluForm::reciprocal};

// ex2.approx.ftz with an error of `part` (-1 ... 1) of what the contract allows, by MPFR.
float ex2(float x, double part) {
  if (std::isnan(x)) return x;
  if (x == 0) return 1;
  if (std::isinf(x)) return x > 0 ? x : 0;
  const Number error = part * Number(kEx2Error);
  const Number value = exp(Number(static_cast<double>(x)) * log(Number(2))) * (1 + error);
  if (value >= Number(0x1p128)) return kFloatInfinity;
  // Toward the exact value, so as not to leave what is allowed.
  float result = static_cast<float>(static_cast<double>(value));
  if (part > 0 && Number(static_cast<double>(result)) > value) result = std::nextafterf(result, 0);
  if (part < 0 && Number(static_cast<double>(result)) < value)
    result = std::nextafterf(result, kFloatInfinity);
  return result < 0x1p-126f ? 0 : result;
}

float conforming(SiluForm form, float g, double part) {
  const float divisor = 1 + ex2(-g * static_cast<float>(std::numbers::log2e), part);
  return form == SiluForm::quotient ? g / divisor : g * (1 / divisor);
}

// Where a step changes, and their neighbors.
std::vector<float> adversarial() {
  std::vector<float> all;
  for (const double level : {0.0,      0x1p-149, 0x1p-126,      0x1p-60, 0x1p-24,
                             0x1p-12,  0.5,      1.0,           1.27,    1.278464542761074,
                             1.28,     1.5,      4.0,           8.0,     16.6355,
                             17.0,     17.33,    40.0,          60.0,    86.5,
                             87.0,     87.33654, 87.4,          88.0,    88.37,
                             88.72283, 88.7229,  89.0,          103.97,  104.0,
                             1000.0,   0x1p100,  0x1.fffffep127}) {
    for (const double sign : {-1.0, 1.0}) {
      float g = static_cast<float>(sign * level);
      for (int step = 0; step < 4; ++step) {
        all.push_back(g);
        g = std::nextafterf(g, static_cast<float>(sign) * kFloatInfinity);
      }
    }
  }
  Random random(3);
  for (int n = 0; n < 2000; ++n) all.push_back(static_cast<float>(random.unit() * 220 - 110));
  for (int n = 0; n < 2000; ++n) {
    const auto g = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    if (!std::isnan(g)) all.push_back(g);
  }
  return all;
}

TEST(SiluRange, HoldsEveryConformingKernel) {
  for (const SiluForm form : kForms) {
    for (const float g : adversarial()) {
      const F32Range point = silu_range(form, F32Range::of(g));
      for (const double part : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
        const float got = conforming(form, g, part);
        EXPECT_TRUE(point.contains(got))
            << g << " gives " << got << ", range " << point.low << " " << point.high;
      }
    }
  }
}

// The interval's two bounds hold for every g inside it that an accumulator may have.
TEST(SiluRange, HoldsEveryConformingKernelOfAnInterval) {
  Random random(5);
  int wide = 0;
  for (const SiluForm form : kForms) {
    for (const float g : adversarial()) {
      if (std::isinf(g)) continue;
      const double width = std::fabs(static_cast<double>(g)) *
                           std::ldexp(1, -static_cast<int>(random.between(1, 22)));
      const F32Range interval{static_cast<float>(static_cast<double>(g) - width),
                              static_cast<float>(static_cast<double>(g) + width), false};
      if (std::isinf(interval.low) || std::isinf(interval.high)) continue;
      const F32Range range = silu_range(form, interval);
      for (const double at : {0.0, 0.01, 0.3, 0.5, 0.8, 1.0}) {
        const auto inside = static_cast<float>(
            static_cast<double>(interval.low) +
            at * (static_cast<double>(interval.high) - static_cast<double>(interval.low)));
        for (const double part : {-1.0, 1.0}) {
          const float got = conforming(form, inside, part);
          EXPECT_TRUE(range.contains(got))
              << inside << " gives " << got << ", range " << range.low << " " << range.high;
        }
      }
      ++wide;
    }
  }
  EXPECT_GT(wide, 5000);
}

// Cancellation leaves intervals of any width. Over them e^-g may be off by as much as 1 + e^-g is,
// by the error of -g log2 e, and then the analysis says nothing.
TEST(SiluRange, HoldsEveryConformingKernelOfAHugeInterval) {
  for (const SiluForm form : kForms) {
    for (const float low : {-87.0f, -50.0f, -1.0f, 0.0f, 1.0f, 20.0f}) {
      for (const float high : {1e5f, 1e6f, 4e6f, 1e7f, 0x1p30f, 0x1p100f, 0x1.fffffep127f}) {
        const F32Range range = silu_range(form, {low, high, false});
        ASSERT_TRUE(range.has_numbers()) << low << " to " << high;
        for (const float inside : {low, low / 2, 0.0f, 0.5f, 64.0f, 99999.0f, high / 2, high}) {
          if (inside < low || inside > high) continue;
          for (const double part : {-1.0, 1.0}) {
            const float got = conforming(form, inside, part);
            EXPECT_TRUE(range.contains(got)) << low << " to " << high << ": " << inside << " gives "
                                             << got << ", range " << range.low << " " << range.high;
          }
        }
      }
    }
  }
}

// Around the minimum the real function hardly moves, though g does; the steps alone would say 2^-9.
TEST(SiluRange, KnowsThatSiluIsFlatAtItsMinimum) {
  const F32Range around{-1.2784646f - 0x1p-10f, -1.2784646f + 0x1p-10f, false};
  const F32Range range = silu_range(SiluForm::quotient, around);
  EXPECT_LT(range.high - range.low, 0x1p-18f);
  EXPECT_LE(range.low, -0.27846453f);
  EXPECT_GE(range.high, -0.27846453f);
}

// Of the real function over an interval, never more than the roundings' share is added.
TEST(SiluRange, IsAsWideAsTheFunctionAndItsRoundings) {
  for (const float g : {-40.0f, -8.0f, -1.2f, -0.3f, 0.4f, 3.0f, 30.0f}) {
    for (const float width : {0x1p-20f, 0x1p-12f, 0x1p-4f}) {
      const F32Range interval{g - width, g + width, false};
      const F32Range range = silu_range(SiluForm::quotient, interval);
      const double low = silu(static_cast<double>(interval.low)),
                   high = silu(static_cast<double>(interval.high));
      const double spread = std::fabs(high - low);
      const double largest = std::fmax(std::fabs(low), std::fabs(high));
      const double roundings = largest * (8 + std::fabs(static_cast<double>(g))) * 0x1p-23;
      EXPECT_LE(static_cast<double>(range.high) - static_cast<double>(range.low),
                spread + 2 * roundings)
          << g << " " << width;
    }
  }
}

TEST(SiluRange, IsOneNumberAtTheEnds) {
  for (const SiluForm form : kForms) {
    for (const float g : {0.0f, 32.0f, 88.0f, 1000.0f, 0x1.fffffep127f, kFloatInfinity})
      EXPECT_EQ(silu_range(form, F32Range::of(g)), F32Range::of(g)) << g;
    for (const float g : {-89.0f, -1000.0f, -0x1p100f})
      EXPECT_EQ(silu_range(form, F32Range::of(g)), F32Range::of(0)) << g;
    EXPECT_EQ(silu_range(form, F32Range::of(-kFloatInfinity)), F32Range::only_nan());
    EXPECT_EQ(silu_range(form, F32Range::only_nan()), F32Range::only_nan());
  }
}

// An exponential that may overflow, or not: the quotient may be 0, and may be just above.
TEST(SiluRange, CountsAnOverflowThatMayHappen) {
  const F32Range range = silu_range(SiluForm::quotient, {-88.8f, -88.6f, false});
  EXPECT_EQ(range.high, 0);
  EXPECT_LT(range.low, -0x1p-122f);
}

TEST(SiluRange, NearestSiluIsConforming) {
  for (const SiluForm form : kForms) {
    for (const float g : adversarial())
      EXPECT_TRUE(silu_range(form, F32Range::of(g)).contains(nearest_silu(form, g))) << g;
  }
}

}  // namespace
}  // namespace plumbline
