// SPDX-License-Identifier: MIT
#include "kernels/manifest/real_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace plumbline {
namespace {

TEST(RealText, ReadsBackToTheSameBits) {
  EXPECT_TRUE(
      rc::check([](std::uint32_t bits) { RC_ASSERT(parse_real(real_text(bits)) == bits); }));
  for (const std::uint32_t bits :
       {0u, 0x80000000u, 1u, 0x7fffffu, 0x800000u, 0x7f7fffffu, 0x7f800000u, 0xff800000u,
        0x7fc00000u, 0xffc00001u, 0x7f800001u}) {
    EXPECT_EQ(parse_real(real_text(bits)), bits) << real_text(bits);
  }
}

TEST(RealText, IsTheShortestDecimal) {
  EXPECT_EQ(real_text(0x3f800000), "1");
  EXPECT_EQ(real_text(0x3dcccccd), "0.1");
  EXPECT_EQ(real_text(0x80000000), "-0");
  EXPECT_EQ(real_text(0x7f800000), "inf");
  EXPECT_EQ(real_text(0x7fc00001), "0x7fc00001");
}

TEST(RealText, TakesBitsInHexadecimal) {
  EXPECT_EQ(parse_real("0x3F800000"), 0x3f800000u);
  EXPECT_EQ(parse_real("0x0"), 0u);
  EXPECT_EQ(parse_real("0x"), std::nullopt);
  EXPECT_EQ(parse_real("0x100000000"), std::nullopt);
  EXPECT_EQ(parse_real("0x3f80000g"), std::nullopt);
}

TEST(RealText, RefusesWhatIsNoF32) {
  for (const char* text : {"", "one", "1.5x", "1e99", "nan", "+1", " 1", "1 "}) {
    EXPECT_EQ(parse_real(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace plumbline
