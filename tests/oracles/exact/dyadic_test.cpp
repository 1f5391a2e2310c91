// SPDX-License-Identifier: MIT
#include "oracles/exact/dyadic.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "oracles/base/random.h"

namespace plumbline {
namespace {

using boost::multiprecision::cpp_int;

Dyadic random_dyadic(Random& random) {
  cpp_int integer = 0;
  for (std::uint64_t words = random.below(4); words > 0; --words)
    integer = (integer << 64) + random.next();
  if (random.below(2) == 0) integer = -integer;
  return Dyadic(integer, static_cast<int>(random.between(-400, 400)));
}

TEST(Dyadic, SumsAndProductsObeyTheLawsOfARing) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const Dyadic x = random_dyadic(random), y = random_dyadic(random), z = random_dyadic(random);
    ASSERT_EQ(x + y, y + x);
    ASSERT_EQ((x + y) + z, x + (y + z));
    ASSERT_EQ(x * y, y * x);
    ASSERT_EQ((x * y) * z, x * (y * z));
    ASSERT_EQ(x * (y + z), x * y + x * z);
    ASSERT_TRUE((x - x).is_zero());
    ASSERT_EQ(x - y, -(y - x));
    ASSERT_EQ(x + Dyadic(), x);
    ASSERT_TRUE((x * Dyadic()).is_zero());
  }
}

TEST(Dyadic, ComparesAsTheSignOfTheDifference) {
  Random random(2);
  for (int round = 0; round < 5000; ++round) {
    const Dyadic x = random_dyadic(random);
    const Dyadic near = x + Dyadic(1, static_cast<int>(random.between(-500, -300)));
    for (const Dyadic& y : {random_dyadic(random), near, -x, x}) {
      const Dyadic difference = x - y;
      const int sign = difference.is_zero() ? 0 : difference.negative() ? -1 : 1;
      ASSERT_EQ(x.compare(y), sign);
      ASSERT_EQ(x < y, sign < 0);
      ASSERT_EQ(x == y, sign == 0);
    }
  }
}

TEST(Dyadic, EveryFiniteDoubleGoesInAndOutUnchanged) {
  Random random(3);
  for (int round = 0; round < 20000; ++round) {
    const double x = std::bit_cast<double>(random.next());
    if (!std::isfinite(x)) continue;
    ASSERT_EQ(Dyadic(x).nearest_double(), x);
    if (x != 0) {
      ASSERT_EQ(Dyadic(x).floor_log2(), std::ilogb(x));
    }
  }
  EXPECT_EQ(Dyadic(std::numeric_limits<double>::denorm_min()).nearest_double(),
            std::numeric_limits<double>::denorm_min());
  EXPECT_TRUE(Dyadic(-0.0).is_zero());
}

TEST(Dyadic, RoundsToTheNearestDoubleTiesToEven) {
  EXPECT_EQ((Dyadic(1) + Dyadic(1, -53)).nearest_double(), 1);
  EXPECT_EQ((Dyadic(1) + Dyadic(3, -53)).nearest_double(), 1 + 0x1p-51);
  EXPECT_EQ((Dyadic(1) + Dyadic(1, -53) + Dyadic(1, -900)).nearest_double(), 1 + 0x1p-52);
  EXPECT_EQ((Dyadic(1) + Dyadic(1, -53) - Dyadic(1, -900)).nearest_double(), 1);
  EXPECT_EQ(Dyadic(-1, 1024).nearest_double(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(Dyadic(1, -1075).nearest_double(), 0);
  EXPECT_EQ(Dyadic(3, -1075).nearest_double(), 0x1p-1073);
}

TEST(Dyadic, UnroundedKeepsSixtyFourBitsAndWhetherThereWereMore) {
  const Dyadic wide = Dyadic(1, 64) + Dyadic(1);  // 65 bits
  const Unrounded out = wide.unrounded();
  EXPECT_EQ(out.value.significand, std::uint64_t{1} << 63);
  EXPECT_EQ(out.value.exponent, 1);
  EXPECT_TRUE(out.sticky);
  const Unrounded narrow = Dyadic(-12.0).unrounded();
  EXPECT_TRUE(narrow.value.negative);
  EXPECT_FALSE(narrow.sticky);
  EXPECT_EQ(std::ldexp(static_cast<double>(narrow.value.significand), narrow.value.exponent), 12);
  EXPECT_EQ(Dyadic().unrounded().value.cls, ValueClass::zero);
}

}  // namespace
}  // namespace plumbline
