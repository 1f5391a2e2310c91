// SPDX-License-Identifier: MIT
// What of a range is admissible once it is stored. If one of these fails, conforming outputs of a
// narrow format are rejected, or wrong ones pass.
#include "oracles/reference/range_verdict.h"

#include <gtest/gtest.h>

#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

ElementVerdict verdict(FormatId id, float low, float high, std::uint64_t got) {
  return range_verdict(format(id), 0, {{low, high, false}, {low, 0}}, got);
}

constexpr std::uint64_t kZero = 0x00, kMinusLargest = 0xfe, kLargest = 0x7e, kNan = 0x7f;

TEST(RangeVerdict, BeyondTheLargestNumberOfAFormatWithoutInfinitiesIsNan) {
  // -504 is NaN in e4m3, and what is between -448 and 0 is a number.
  for (const std::uint64_t got : {kZero, kMinusLargest, kNan})
    EXPECT_TRUE(verdict(FormatId::e4m3, -504, 0, got).pass) << got;
  const ElementVerdict one = verdict(FormatId::e4m3, -504, 0, encode(format(FormatId::e4m3), 1));
  EXPECT_FALSE(one.pass);
  EXPECT_FALSE(one.class_mismatch);
  EXPECT_EQ(one.low, kMinusLargest);
  EXPECT_TRUE(verdict(FormatId::e4m3, 0, 504, kLargest).pass);
  EXPECT_TRUE(verdict(FormatId::e4m3, 0, 504, kNan).pass);
  EXPECT_FALSE(verdict(FormatId::e4m3, 0, 504, kMinusLargest).pass);
}

TEST(RangeVerdict, WhereAllOfTheRangeIsBeyondItNanAloneIsAdmissible) {
  EXPECT_TRUE(verdict(FormatId::e4m3, 500, 600, kNan).pass);
  EXPECT_TRUE(verdict(FormatId::e4m3, 500, 600, kLargest).class_mismatch);
  EXPECT_TRUE(verdict(FormatId::e4m3, -600, -500, kMinusLargest).class_mismatch);
}

// ue8m0 has no sign: of a number below 0 the magnitude is stored.
TEST(RangeVerdict, ScalesBelowZeroHaveTheirMagnitude) {
  const auto code = [](double x) { return encode(format(FormatId::ue8m0), x); };
  for (const double x : {0x1p-126, 0x1p-30, 0x1p-10})
    EXPECT_TRUE(verdict(FormatId::ue8m0, -0x1p-10F, 0x1p-12F, code(x)).pass) << x;
  EXPECT_FALSE(verdict(FormatId::ue8m0, -0x1p-10F, 0x1p-12F, code(0x1p-9)).pass);
  EXPECT_TRUE(verdict(FormatId::ue8m0, -0x1p-10F, -0x1p-12F, code(0x1p-11)).pass);
  EXPECT_FALSE(verdict(FormatId::ue8m0, -0x1p-10F, -0x1p-12F, code(0x1p-13)).pass);
}

TEST(RangeVerdict, NanIsNotAdmissibleWithinTheFormat) {
  EXPECT_TRUE(verdict(FormatId::e4m3, -448, 0, kNan).class_mismatch);
  // e5m2 has infinities.
  EXPECT_FALSE(verdict(FormatId::e5m2, -1e9F, 0, format(FormatId::e5m2).canonical_nan).pass);
  EXPECT_TRUE(verdict(FormatId::e5m2, -1e9F, 0, encode(format(FormatId::e5m2), -1e9)).pass);
}

}  // namespace
}  // namespace plumbline
