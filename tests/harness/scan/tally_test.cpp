// SPDX-License-Identifier: MIT
#include "harness/scan/tally.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace plumbline {
namespace {

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// What one execution is judged to be.
ScanTally tally_of(std::string_view spelling, std::uint32_t a, std::uint32_t b,
                   std::uint32_t result) {
  ScanTally tally(*parse_scan_instruction(spelling));
  tally.add(a, b, result);
  tally.confirm();
  return tally;
}

bool holds(std::string_view spelling, std::uint32_t a, std::uint32_t b, std::uint32_t result) {
  return tally_of(spelling, a, b, result).holds();
}

TEST(ScanTally, OneRoundedResultIsRight) {
  EXPECT_TRUE(holds("cvt.rn.f16.f32", bits(1 + 0x1p-11f), 0, 0x3c00));   // a tie, to even
  EXPECT_FALSE(holds("cvt.rn.f16.f32", bits(1 + 0x1p-11f), 0, 0x3c01));  // away
  EXPECT_FALSE(holds("cvt.rz.f16.f32", bits(1 + 0x1.8p-11f), 0, 0x3c01));
  EXPECT_TRUE(holds("cvt.rn.f16.f32", bits(65520), 0, 0x7c00));
  EXPECT_FALSE(holds("cvt.rn.f16.f32", bits(65519), 0, 0x7c00));
  EXPECT_FALSE(holds("cvt.rz.f16.f32", bits(1e30f), 0, 0x7c00));
  EXPECT_TRUE(holds("cvt.rn.f16.f32", bits(-0.0f), 0, 0x8000));
  EXPECT_FALSE(holds("cvt.rn.f16.f32", bits(-0.0f), 0, 0));
  EXPECT_FALSE(holds("cvt.rn.f16.f32", bits(NAN), 0, 0x3c00));
  EXPECT_FALSE(holds("cvt.rn.f16.f32", bits(1), 0, 0x7e00));
  EXPECT_FALSE(holds("cvt.rna.tf32.f32", bits(1), 0, bits(1) + 1));  // bits that tf32 has not
}

TEST(ScanTally, TheFirstSourceIsTheUpperElement) {
  EXPECT_TRUE(holds("cvt.rn.satfinite.e4m3x2.f32", bits(1), bits(448), 0x387e));
  EXPECT_FALSE(holds("cvt.rn.satfinite.e4m3x2.f32", bits(448), bits(1), 0x387e));
  EXPECT_EQ(tally_of("cvt.rn.satfinite.e4m3x2.f32", bits(1), bits(448), 0).elements(), 2u);
  EXPECT_EQ(tally_of("cvt.rn.satfinite.e4m3x2.f32", bits(1), bits(448), 0).wrong(), 2u);
}

TEST(ScanTally, WhatSaturatesIsTheLargestNumber) {
  EXPECT_TRUE(holds("cvt.rn.satfinite.e5m2x2.f32", bits(INFINITY), bits(1e9f), 0x7b7b));
  EXPECT_FALSE(holds("cvt.rn.satfinite.e5m2x2.f32", bits(INFINITY), bits(1e9f), 0x7c7b));
  EXPECT_TRUE(holds("cvt.rn.satfinite.e2m1x2.f32", bits(NAN), bits(-9), 0x7f));
  EXPECT_TRUE(holds("cvt.rp.satfinite.ue8m0x2.f32", bits(-3), bits(0), 0x8100));
  EXPECT_FALSE(holds("cvt.rz.satfinite.ue8m0x2.f32", bits(-3), bits(0), 0x8100));
}

TEST(ScanTally, DivisionIsDecidedWhereFp64IsNot) {
  // 1 / 3 in f32 is 0x3eaaaaab to nearest, one less toward zero.
  EXPECT_TRUE(holds("div.rn.f32", bits(1), bits(3), 0x3eaaaaab));
  EXPECT_FALSE(holds("div.rn.f32", bits(1), bits(3), 0x3eaaaaaa));
  EXPECT_TRUE(holds("rcp.rz.f32", bits(3), 0, 0x3eaaaaaa));
  // Exactly on the end of an interval, which the FP64 quotient cannot tell from beside it.
  EXPECT_TRUE(holds("rcp.rz.f32", bits(4), 0, bits(0.25f)));
  EXPECT_FALSE(holds("rcp.rz.f32", bits(4), 0, bits(0.25f) - 1));
}

TEST(ScanTally, ErrorsOfApproximationsAreMeasured) {
  const std::uint32_t exact = bits(std::exp2(0.3f));
  const ScanTally within = tally_of("ex2.approx.f32", bits(0.3f), 0, exact + 2);
  EXPECT_TRUE(within.holds());
  EXPECT_NEAR(within.errors()[0].error, 2, 0.5);
  const ScanTally beyond = tally_of("ex2.approx.f32", bits(0.3f), 0, exact + 4);
  EXPECT_FALSE(beyond.holds());
  EXPECT_EQ(beyond.wrong(), 0u);
  EXPECT_EQ(beyond.errors()[0].at.a, bits(0.3f));
  // What is 0, infinite or NaN is not approximate, and signs are not.
  EXPECT_FALSE(holds("lg2.approx.f32", bits(1), 0, 1));
  EXPECT_FALSE(holds("rcp.approx.f32", bits(0), 0, bits(3e38f)));
  EXPECT_FALSE(holds("rsqrt.approx.f32", bits(-1), 0, bits(1)));
  EXPECT_FALSE(holds("sin.approx.f32", bits(0.5f), 0, bits(-0.479426f)));
  // Nothing is documented so far out.
  EXPECT_TRUE(holds("sin.approx.f32", bits(1e6f), 0, bits(-0.9f)));
  // Of two limits each has its own inputs.
  EXPECT_FALSE(holds("lg2.approx.f32", bits(0.75f), 0, bits(-0.41503f)));
  EXPECT_EQ(tally_of("lg2.approx.f32", bits(3), 0, bits(1.5849625f)).errors()[0].inputs, 0u);
}

TEST(ScanTally, FlushesWithoutPardonForTheRest) {
  EXPECT_TRUE(holds("ex2.approx.ftz.f32", bits(-130), 0, 0));
  EXPECT_FALSE(holds("ex2.approx.f32", bits(-130), 0, 0));
  EXPECT_FALSE(holds("ex2.approx.ftz.f32", bits(-130), 0, bits(0x1p-130f)));  // not flushed
  EXPECT_FALSE(holds("ex2.approx.ftz.f32", bits(-120), 0, 0));
}

TEST(ScanTally, PartsAddUpInAnyOrder) {
  const ScanInstruction instruction = *parse_scan_instruction("rcp.approx.f32");
  ScanTally one(instruction), two(instruction);
  one.add(bits(3), 0, bits(1 / 3.0f) + 1);
  one.add(bits(0), 0, bits(1));  // infinity is due
  two.add(bits(5), 0, bits(1 / 5.0f) - 3);
  two.add(bits(2), 0, bits(1));
  ScanTally first = one, second = two;
  first += two;
  second += one;
  EXPECT_EQ(first.elements(), 4u);
  EXPECT_EQ(first.wrong(), 1u);
  EXPECT_EQ(first.errors()[0].at.a, second.errors()[0].at.a);
  EXPECT_EQ(first.errors()[0].error, second.errors()[0].error);
  EXPECT_EQ(first.errors()[0].inputs, 3u);
}

}  // namespace
}  // namespace plumbline
