// SPDX-License-Identifier: MIT
// What the Goldberg ulp promises, by brute force on small formats: y runs over 32 points between
// any two neighbors, and every member of the format is tried as the result.
#include "oracles/formats/ulp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

constexpr FormatId kSmall[] = {FormatId::e2m1, FormatId::e4m3, FormatId::e5m2};

// Non-negative members of f, in order.
std::vector<double> members(const Format& f) {
  std::vector<double> values;
  for (std::uint64_t code = 0; code <= f.max_finite(); ++code) values.push_back(to_double(f, code));
  return values;
}

// Calls check(y) for y at, and between, the members.
template <typename Check>
void for_each_exact(const std::vector<double>& values, Check check) {
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    for (int part = 0; part < 32; ++part)
      check(values[i] + (values[i + 1] - values[i]) * part / 32);
  }
}

double nearest(const Format& f, double y) { return to_double(f, encode(f, y)); }

bool is_faithful(const Format& f, double y, double result) {
  return result == to_double(f, encode(f, y, {Rounding::down})) ||
         result == to_double(f, encode(f, y, {Rounding::up}));
}

TEST(Ulp, ExponentOfTheExactValueFromAllDoubles) {
  EXPECT_EQ(floor_log2(1.0), 0);
  EXPECT_EQ(floor_log2(-1.5), 0);
  EXPECT_EQ(floor_log2(std::nextafter(2.0, 0.0)), 0);
  EXPECT_EQ(floor_log2(0x1p-1022), -1022);
  EXPECT_EQ(floor_log2(0x1p-1074), -1074);
  EXPECT_EQ(floor_log2(0x1.8p-1030), -1030);
  EXPECT_EQ(floor_log2(std::numeric_limits<double>::max()), 1023);
}

TEST(Ulp, FollowsTheDefinition) {
  const Format& bf16 = format(FormatId::bf16);
  EXPECT_EQ(ulp(bf16, 1.0), 0x1p-7);
  EXPECT_EQ(ulp(bf16, std::nextafter(1.0, 0.0)), 0x1p-8);
  EXPECT_EQ(ulp(bf16, -3.0), 0x1p-6);
  EXPECT_EQ(ulp(bf16, 0.0), 0x1p-133);
  EXPECT_EQ(ulp(bf16, -0.0), 0x1p-133);
  EXPECT_EQ(ulp(bf16, 0x1p-300), 0x1p-133);
  EXPECT_EQ(ulp(bf16, 0x1p-126), 0x1p-133);
  EXPECT_EQ(ulp(bf16, 0x1p-125), 0x1p-132);
  EXPECT_EQ(ulp(format(FormatId::e4m3), 448.0), 32.0);
  EXPECT_EQ(ulp(format(FormatId::f64), 0x1p-1074), 0x1p-1074);
  EXPECT_EQ(ulp(format(FormatId::s8), 100.0), 1.0);
  EXPECT_EQ(ulp(format(FormatId::s32), 0.0), 1.0);
}

TEST(Ulp, NearestIsWithinHalfAnUlp) {
  for (const FormatId id : kSmall) {
    const Format& f = format(id);
    for_each_exact(members(f), [&](double y) {
      ASSERT_LE(std::fabs(nearest(f, y) - y), ulp(f, y) / 2) << f.name << " " << y;
    });
  }
}

TEST(Ulp, LessThanHalfAnUlpIsNearest) {
  for (const FormatId id : kSmall) {
    const Format& f = format(id);
    const std::vector<double> values = members(f);
    for_each_exact(values, [&](double y) {
      for (const double result : values) {
        if (std::fabs(result - y) < ulp(f, y) / 2) {
          ASSERT_EQ(result, nearest(f, y)) << f.name << " " << y;
        }
      }
    });
  }
}

TEST(Ulp, FaithfulIsWithinOneUlp) {
  for (const FormatId id : kSmall) {
    const Format& f = format(id);
    const std::vector<double> values = members(f);
    for_each_exact(values, [&](double y) {
      for (const double result : values) {
        if (is_faithful(f, y, result)) {
          ASSERT_LT(std::fabs(result - y), ulp(f, y)) << f.name << " " << y;
        }
      }
    });
  }
}

// The converse is false, and only at and just above a power of two: there the value below the power
// is within one ulp too.
TEST(Ulp, WithinOneUlpNeedNotBeFaithful) {
  for (const FormatId id : kSmall) {
    const Format& f = format(id);
    const std::vector<double> values = members(f);
    int unfaithful = 0;
    for_each_exact(values, [&](double y) {
      for (const double result : values) {
        if (std::fabs(result - y) >= ulp(f, y) || is_faithful(f, y, result)) continue;
        ++unfaithful;
        const double power = std::ldexp(1.0, floor_log2(y));
        EXPECT_LT(result, power);
        EXPECT_LE(power, y);
        EXPECT_LT(y - power, ulp(f, y));
      }
    });
    EXPECT_GT(unfaithful, 0) << f.name;
  }
  const Format& e4m3 = format(FormatId::e4m3);  // members 0.9375, 1, 1.125
  EXPECT_LT(std::fabs(0.9375 - 1.03125), ulp(e4m3, 1.03125));
  EXPECT_FALSE(is_faithful(e4m3, 1.03125, 0.9375));
}

}  // namespace
}  // namespace plumbline
