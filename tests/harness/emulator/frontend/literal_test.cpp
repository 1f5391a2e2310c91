// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/literal.h"

#include <gtest/gtest.h>

#include <bit>

namespace plumbline::emulator {
namespace {

Literal literal(std::string_view text) {
  Cursor cursor(text, "t");
  const Literal result = parse_literal(cursor);
  EXPECT_FALSE(cursor.failed()) << text;
  EXPECT_TRUE(cursor.at_end()) << text;
  return result;
}

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

TEST(Literal, ReadsEveryRadix) {
  EXPECT_EQ(literal("12").value, 12u);
  EXPECT_EQ(literal("12U").value, 12u);
  EXPECT_EQ(literal("0").value, 0u);
  EXPECT_EQ(literal("0U").value, 0u);
  EXPECT_EQ(literal("0x1F").value, 31u);
  EXPECT_EQ(literal("0XffU").value, 255u);
  EXPECT_EQ(literal("0b1010").value, 10u);
  EXPECT_EQ(literal("017").value, 15u);
  EXPECT_EQ(literal("18446744073709551615").value, ~std::uint64_t{0});
}

TEST(Literal, NegativesAreTwosComplement) {
  EXPECT_EQ(literal("-1").value, ~std::uint64_t{0});
  EXPECT_EQ(literal("-0x80000000").value, 0xffffffff80000000u);
  EXPECT_EQ(literal("-9223372036854775808").value, std::uint64_t{1} << 63);
  EXPECT_TRUE(literal("-1").negative);
}

TEST(Literal, FloatsKeepTheirBits) {
  EXPECT_EQ(literal("0f3F800000").value, 0x3f800000u);
  EXPECT_EQ(literal("0f3F800000").float_bits, 32);
  EXPECT_EQ(literal("-0f3F800000").value, 0xbf800000u);
  EXPECT_EQ(literal("0F7fc00000").value, 0x7fc00000u);
  EXPECT_EQ(literal("0d400921FB54442D18").value, 0x400921FB54442D18u);
  EXPECT_EQ(literal("0d400921FB54442D18").float_bits, 64);
  EXPECT_EQ(literal("1.5").value, bits(1.5));
  EXPECT_EQ(literal("-1.5e-3").value, bits(-1.5e-3));
  EXPECT_EQ(literal("1e10").value, bits(1e10));
  // What ptxas 13.0 takes beside these.
  EXPECT_EQ(literal("0.").value, bits(0));
  EXPECT_EQ(literal("0.").float_bits, 64);
  EXPECT_EQ(literal("-0.").value, bits(-0.0));
  EXPECT_EQ(literal("+12.").value, bits(12));
  EXPECT_EQ(literal("1.e-3").value, bits(1e-3));
  EXPECT_EQ(literal(".5").value, bits(0.5));
  EXPECT_EQ(literal("-.5e+1").value, bits(-5));
}

TEST(Literal, RefusesWhatIsNone) {
  for (const char* text :
       {"08", "0b2", "0x", "0xg", "0f3F80000", "0f3F8000000", "0d0", "12q", "1.5x", "5e", ".",
        ".5x", "18446744073709551616", "-9223372036854775809", "1e999", "x", "-", ""}) {
    Cursor cursor(text, "t");
    parse_literal(cursor);
    EXPECT_TRUE(cursor.failed()) << text;
  }
}

TEST(Literal, IntegersHaveALimit) {
  Cursor good("128", "t");
  EXPECT_EQ(parse_integer(good, "an extent", 1, 1024), 128);
  EXPECT_FALSE(good.failed());
  for (const char* text : {"0", "1025", "-1", "1.5", "18446744073709551615"}) {
    Cursor cursor(text, "t");
    parse_integer(cursor, "an extent", 1, 1024);
    ASSERT_TRUE(cursor.failed()) << text;
    EXPECT_EQ(cursor.error().text(), "t:1:1: an extent must be an integer from 1 to 1024");
  }
}

}  // namespace
}  // namespace plumbline::emulator
