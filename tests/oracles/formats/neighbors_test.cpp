// SPDX-License-Identifier: MIT
// next_up and next_down walk every finite value of a format, in order, and stop at its ends.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

// The codes of the most negative and the most positive finite value.
std::uint64_t lowest(const Format& f) {
  if (!f.has_sign) return 0;
  if (f.is_integer) return std::uint64_t{1} << f.mantissa_bits;
  return f.max_finite() | std::uint64_t{1} << (f.exponent_bits + f.mantissa_bits);
}

TEST(Neighbors, UpFromTheLowestVisitsEveryFiniteValueOnce) {
  for (const Format& f : all_formats()) {
    if (f.storage_bits > 16) continue;
    std::uint64_t code = lowest(f);
    std::uint64_t visited = 1;
    for (std::uint64_t next = 0; next_up(f, code, next); code = next, ++visited) {
      ASSERT_LT(to_double(f, code), to_double(f, next)) << f.name << " " << code;
    }
    EXPECT_EQ(code, f.max_finite()) << f.name;
    // Both signs of every non-zero magnitude, and one zero.
    std::uint64_t expected = f.max_finite() + 1;
    if (f.has_sign) expected = f.is_integer ? 2 * expected : 2 * expected - 1;
    EXPECT_EQ(visited, expected) << f.name;
  }
}

TEST(Neighbors, DownUndoesUp) {
  for (const Format& f : all_formats()) {
    if (f.storage_bits > 16) continue;
    for (std::uint64_t code = 0; code < std::uint64_t{1} << f.code_bits(); ++code) {
      std::uint64_t up = 0;
      std::uint64_t back = 0;
      if (!next_up(f, code, up)) continue;
      ASSERT_TRUE(next_down(f, up, back)) << f.name << " " << code;
      ASSERT_EQ(to_double(f, back), to_double(f, code)) << f.name << " " << code;
    }
  }
}

TEST(Neighbors, OfF32AreTheMachinesOwn) {
  const Format& f32 = format(FormatId::f32);
  for (const std::uint32_t code :
       {0u, 1u, 0x80000001u, 0x007fffffu, 0x3f800000u, 0xbf800000u, 0x7f7ffffeu}) {
    const float value = std::bit_cast<float>(code);
    std::uint64_t out = 0;
    ASSERT_TRUE(next_up(f32, code, out));
    EXPECT_EQ(out, std::bit_cast<std::uint32_t>(std::nextafter(value, INFINITY)));
    ASSERT_TRUE(next_down(f32, code, out));
    EXPECT_EQ(out, std::bit_cast<std::uint32_t>(std::nextafter(value, -INFINITY)));
  }
}

TEST(Neighbors, OfZeroAreTheSmallestNumbersForEitherSign) {
  const Format& f16 = format(FormatId::f16);
  for (const std::uint64_t zero : {0x0000u, 0x8000u}) {
    std::uint64_t out = 0;
    ASSERT_TRUE(next_up(f16, zero, out));
    EXPECT_EQ(out, 0x0001u);
    ASSERT_TRUE(next_down(f16, zero, out));
    EXPECT_EQ(out, 0x8001u);
  }
}

TEST(Neighbors, StepOverThePaddingOfTf32) {
  std::uint64_t out = 0;
  ASSERT_TRUE(next_up(format(FormatId::tf32), 0x3f801234, out));
  EXPECT_EQ(out, 0x3f802000u);
}

TEST(Neighbors, EndAtTheEnds) {
  std::uint64_t out = 0;
  for (const Format& f : all_formats()) {
    EXPECT_FALSE(next_up(f, f.max_finite(), out)) << f.name;
    if (f.storage_bits <= 16) {
      EXPECT_FALSE(next_down(f, lowest(f), out)) << f.name;
    }
    if (f.has_nan()) {
      EXPECT_FALSE(next_up(f, f.canonical_nan, out)) << f.name;
      EXPECT_FALSE(next_down(f, f.canonical_nan, out)) << f.name;
    }
  }
  EXPECT_FALSE(next_down(format(FormatId::f16), 0x7c00, out));  // from Inf there is no way back
}

}  // namespace
}  // namespace plumbline
