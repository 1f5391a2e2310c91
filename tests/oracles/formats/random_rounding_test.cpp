// SPDX-License-Identifier: MIT
// Rounding errors made random: to nearest right on average, toward zero half a unit short, and
// never where there is nothing to round.
#include "oracles/formats/random_rounding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/base/random.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

constexpr int kDraws = 40000;

std::uint64_t moved(const Format& f, double sum, double error, Rounding rounding, double noise) {
  return encode_randomly(f, encode(f, sum, {.rounding = rounding}), sum, error, rounding, noise);
}

// The mean of many draws, in units above the lower neighbor. Noise runs evenly through [0, 1): the
// mean is off by less than a draw at each of three places where the result changes.
double mean_in_units(const Format& f, double value, Rounding rounding) {
  const double lower = to_double(f, encode(f, value, {.rounding = Rounding::toward_zero}));
  const double unit = std::ldexp(1.0, std::ilogb(value) - f.mantissa_bits);
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double noise = (i + 0.5) / kDraws;
    sum += (to_double(f, moved(f, value, 0, rounding, noise)) - lower) / unit;
  }
  return std::copysign(sum / kDraws, sum * value);
}

constexpr double kExact = 3.0 / kDraws;

TEST(RandomRounding, ToNearestIsRightOnAverageOnTiesAndThirds) {
  for (const FormatId id : {FormatId::e4m3, FormatId::bf16, FormatId::f16, FormatId::f32}) {
    const Format& f = format(id);
    for (const double sign : {1.0, -1.0}) {
      for (const double part : {0.5, 1.0 / 3, 2.0 / 3, 0.01}) {
        const double value = sign * (1.25 + part * std::ldexp(1.0, -f.mantissa_bits));
        EXPECT_NEAR(mean_in_units(f, value, Rounding::nearest_even), part, kExact) << f.name;
      }
    }
  }
}

TEST(RandomRounding, TowardZeroIsHalfAUnitShortOnAverage) {
  const Format& f = format(FormatId::bf16);
  for (const double sign : {1.0, -1.0}) {
    for (const double part : {0.5, 1.0 / 3, 2.0 / 3}) {
      const double value = sign * (1.25 + part * 0x1p-7);
      EXPECT_NEAR(mean_in_units(f, value, Rounding::toward_zero), part - 0.5, kExact);
    }
  }
  EXPECT_NEAR(mean_in_units(f, 1.25 + 0x1p-9, Rounding::up), 0.25 + 0.5, kExact);
  EXPECT_NEAR(mean_in_units(f, 1.25 + 0x1p-9, Rounding::down), 0.25 - 0.5, kExact);
}

TEST(RandomRounding, NumbersOfTheFormatStay) {
  Random random(3);
  for (const FormatId id : {FormatId::e4m3, FormatId::e5m2, FormatId::bf16, FormatId::f16}) {
    const Format& f = format(id);
    for (std::uint64_t code = 0; code < (std::uint64_t{1} << f.storage_bits); ++code) {
      const double value = to_double(f, code);
      for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
        const std::uint64_t usual = std::isnan(value) ? f.canonical_nan : code;
        EXPECT_EQ(moved(f, value, 0, rounding, random.unit()), usual);
      }
    }
  }
}

TEST(RandomRounding, NothingCrossesZeroOrTheLargestNumber) {
  const Format& f = format(FormatId::f16);
  for (const double noise : {0.0, 0.3, 0.999}) {
    EXPECT_EQ(moved(f, 0x1p-26, 0, Rounding::toward_zero, noise), 0u);
    EXPECT_EQ(moved(f, -0x1p-26, 0, Rounding::toward_zero, noise), 0x8000u);
    EXPECT_EQ(moved(f, 65519, 0, Rounding::nearest_even, noise), 0x7bffu);  // no upper neighbor
    EXPECT_EQ(moved(f, 65520, 0, Rounding::nearest_even, noise), 0x7c00u);
  }
}

// An exact value that a double cannot hold: just above, or just below, a number of the format.
TEST(RandomRounding, AnErrorBelowTheDoubleDecidesBetweenWhichNeighborsAValueLies) {
  const Format& f = format(FormatId::f32);
  const std::uint64_t one = 0x3f800000, below = 0x3f7fffff, above = 0x3f800001;
  const double error = 0x1p-60;  // 2^-36 of the unit below 1, 2^-37 of that above
  EXPECT_EQ(moved(f, 1, -error, Rounding::nearest_even, 1 - 0x1p-35), one);
  EXPECT_EQ(moved(f, 1, -error, Rounding::nearest_even, 1 - 0x1p-37), below);
  EXPECT_EQ(moved(f, 1, error, Rounding::nearest_even, 0x1p-36), one);
  EXPECT_EQ(moved(f, 1, error, Rounding::nearest_even, 0x1p-38), above);
}

}  // namespace
}  // namespace plumbline
