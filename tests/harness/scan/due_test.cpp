// SPDX-License-Identifier: MIT
#include "harness/scan/due.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/base/random.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

ScanInstruction parsed(std::string_view spelling) { return *parse_scan_instruction(spelling); }

// encode() rounds by the discarded bits; an interval knows nothing of bits. Of every format and
// rounding the code that encode() gives is the only one whose interval holds the number.
TEST(Due, IntervalsAndEncodeAgree) {
  constexpr Rounding kRoundings[] = {Rounding::nearest_even, Rounding::nearest_away,
                                     Rounding::toward_zero, Rounding::up, Rounding::down};
  constexpr FormatId kFormats[] = {FormatId::f16,  FormatId::bf16, FormatId::tf32, FormatId::e4m3,
                                   FormatId::e5m2, FormatId::e2m1, FormatId::e3m2, FormatId::f32};
  Random random(7);
  for (const FormatId id : kFormats) {
    const Format& to = format(id);
    ScanInstruction instruction = parsed("cvt.rn.f16.f32");
    instruction.to.format = id;
    // The formats of FP8 and below only come with it.
    instruction.satfinite = !to.has_infinity() || to.storage_bits == 8;
    const std::uint64_t sign = std::uint64_t{1} << (to.code_bits() - 1);
    const std::uint64_t last = (to.max_finite() >> to.padding_bits) + (to.has_infinity() ? 1 : 0);
    for (const Rounding rounding : kRoundings) {
      instruction.rounding = rounding;
      const Overflow overflow = instruction.satfinite ? Overflow::saturate : Overflow::to_special;
      for (int i = 0; i < 3000; ++i) {
        // On codes, on midpoints, beside both, and past the last.
        const std::uint64_t near = random.below(last + 1);
        const double here = to_double(to, std::min(near, last - 1) << to.padding_bits);
        const double up = to_double(to, std::min(near + 1, last - 1) << to.padding_bits);
        double magnitude = i % 3 == 0 ? here : i % 3 == 1 ? (here + up) / 2 : here * 1.7;
        if (i % 2 == 0) magnitude = std::nextafter(magnitude, i % 4 == 0 ? 0 : 1e300);
        const bool negative = (i & 8) != 0;
        const std::uint64_t code =
            (encode(to, negative ? -magnitude : magnitude, {rounding, overflow}) >>
             to.padding_bits) &
            ~sign;
        EXPECT_TRUE(rounds_to(instruction, code, negative).holds(magnitude))
            << to.name << " " << static_cast<int>(rounding) << " " << magnitude << " " << negative;
        for (const std::uint64_t other : {code - 1, code + 1}) {
          if (other > last || (instruction.satfinite && other == last && to.has_infinity()))
            continue;
          EXPECT_FALSE(rounds_to(instruction, other, negative).holds(magnitude))
              << to.name << " " << static_cast<int>(rounding) << " " << magnitude << " "
              << negative;
        }
      }
    }
  }
}

TEST(Due, FunctionsByMpfrAreThoseOfFp64) {
  Random random(3);
  for (const std::string_view spelling :
       {"ex2.approx.f32", "lg2.approx.f32", "rcp.approx.f32", "rsqrt.approx.f32", "sqrt.approx.f32",
        "sin.approx.f32", "cos.approx.f32", "tanh.approx.f32", "div.full.f32"}) {
    const ScanInstruction instruction = parsed(spelling);
    for (int i = 0; i < 200; ++i) {
      const double a = static_cast<double>(static_cast<float>(20 * random.unit() + 1e-3)),
                   b = static_cast<double>(static_cast<float>(random.unit() + 0.1));
      const double due = due_value(instruction, a, b);
      const auto exact = static_cast<double>(due_real(instruction, a, b));
      EXPECT_LE(std::fabs(due - exact), 0x1p-51 * std::fabs(exact)) << spelling << " " << a;
    }
  }
}

TEST(Due, IntegersAreClampedOrCut) {
  EXPECT_EQ(due_integer(parsed("cvt.rni.s8.f32"), 0x43960000), 0x7fu);        // 300
  EXPECT_EQ(due_integer(parsed("cvt.rni.s8.f32"), 0x40200000), 2u);           // 2.5
  EXPECT_EQ(due_integer(parsed("cvt.rpi.s8.f32"), 0xc0200000), 0xfffffffeu);  // -2.5
  EXPECT_EQ(due_integer(parsed("cvt.rzi.u32.f32"), 0xbf800000), 0u);          // -1
  EXPECT_EQ(due_integer(parsed("cvt.rzi.s32.f32"), 0x7fc00000), 0u);          // NaN
  EXPECT_EQ(due_integer(parsed("cvt.rzi.s32.f32"), 0xff800000), 0x80000000u);
  EXPECT_EQ(due_integer(parsed("cvt.u8.s32"), 0xffffff85), 0x85u);
  EXPECT_EQ(due_integer(parsed("cvt.sat.u8.s32"), 0xffffff85), 0u);
  EXPECT_EQ(due_integer(parsed("cvt.sat.s8.s32"), 0x80000000), 0xffffff80u);
  EXPECT_EQ(due_integer(parsed("cvt.s16.s32"), 0x12348001), 0x8001u);
}

TEST(Due, FlushesWhatTheInstructionFlushes) {
  EXPECT_EQ(operand_value(parsed("ex2.approx.ftz.f32"), 0x007fffff), 0);
  EXPECT_NE(operand_value(parsed("ex2.approx.f32"), 0x007fffff), 0);
  EXPECT_NE(operand_value(parsed("cvt.ftz.f32.f16"), 1), 0);  // f16 is not
}

}  // namespace
}  // namespace plumbline
