// SPDX-License-Identifier: MIT
#include "harness/scan/instruction.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

ScanInstruction parsed(std::string_view spelling) {
  const Result<ScanInstruction> instruction = parse_scan_instruction(spelling);
  EXPECT_TRUE(instruction) << instruction.error().text();
  return instruction ? *instruction : ScanInstruction();
}

std::string refused(std::string_view spelling) {
  const Result<ScanInstruction> instruction = parse_scan_instruction(spelling);
  EXPECT_FALSE(instruction) << spelling;
  return instruction ? "" : instruction.error().text();
}

TEST(ScanInstruction, SaysWhatItsWordsMean) {
  const ScanInstruction e4m3 = parsed("cvt.rn.satfinite.relu.e4m3x2.f32");
  EXPECT_EQ(e4m3.function, ScanFunction::identity);
  EXPECT_EQ(e4m3.to.format, FormatId::e4m3);
  EXPECT_EQ(e4m3.to.elements, 2);
  EXPECT_EQ(e4m3.sources(), 2);
  EXPECT_TRUE(e4m3.satfinite && e4m3.relu && !e4m3.sat && !e4m3.ftz);

  const ScanInstruction integral = parsed("cvt.rmi.ftz.sat.f32.f32");
  EXPECT_TRUE(integral.to_integral && integral.ftz && integral.sat);
  EXPECT_EQ(integral.rounding, Rounding::down);

  const ScanInstruction ex2 = parsed("ex2.approx.ftz.bf16x2");
  EXPECT_TRUE(ex2.approximate && ex2.ftz && !ex2.full);
  EXPECT_EQ(ex2.sources(), 1);
  EXPECT_TRUE(ex2.flushes(FormatId::bf16));
  EXPECT_FALSE(parsed("cvt.rn.ftz.bf16.f32").flushes(FormatId::bf16));

  EXPECT_TRUE(parsed("div.full.f32").full);
  EXPECT_EQ(parsed("div.rn.f32").sources(), 2);
  EXPECT_EQ(parsed("rcp.rz.f32").rounding, Rounding::toward_zero);
  EXPECT_TRUE(parsed("cvt.u8.s32").keeps_low_bits());
  EXPECT_FALSE(parsed("cvt.sat.u8.s32").keeps_low_bits());
}

TEST(ScanInstruction, RefusesWithTheReason) {
  EXPECT_NE(refused("fma.rn.f32").find("no conversion and no function"), std::string::npos);
  EXPECT_NE(refused("cvt.rn.f32.f64").find("64 bits"), std::string::npos);
  EXPECT_NE(refused("cvt.rs.f16x2.f32").find("\"rs\" is not known"), std::string::npos);
  EXPECT_NE(refused("ex2.aprox.f32").find("did you mean \"ex2.approx.f32\"?"), std::string::npos);
  EXPECT_NE(refused("cvt.rn").find("types are missing"), std::string::npos);
  EXPECT_NE(refused("cvt.f16.f16x2").find("no scalar"), std::string::npos);
  EXPECT_NE(refused("").find("no conversion"), std::string::npos);
}

// What ptxas refuses as well.
TEST(ScanInstruction, RefusesRoundingsThatAreNone) {
  for (const std::string_view spelling :
       {"rcp.f32", "sqrt.f32", "div.f32", "cvt.rn.f32.f16", "cvt.rn.f32.f32", "cvt.rna.bf16.f32",
        "cvt.rn.s8.f32", "cvt.rn.s32.f32", "cvt.s32.f32", "cvt.f32.s32", "cvt.rni.f32.s32",
        "cvt.f16.f32", "cvt.rzi.s8.s32", "div.s32", "div.u32"})
    refused(spelling);
  for (const std::string_view spelling :
       {"cvt.rn.f16x2.e4m3x2", "cvt.rn.relu.satfinite.f16x2.f32", "cvt.f32.f32", "cvt.u8.s32",
        "cvt.rna.tf32.f32", "cvt.rni.ftz.sat.f32.f32"})
    parsed(spelling);
}

TEST(ScanInstruction, IsPickedOutOfCode) {
  EXPECT_TRUE(is_scalar_function("cvt.u64.u32"));
  EXPECT_TRUE(is_scalar_function("div.full.f32"));
  EXPECT_FALSE(is_scalar_function("cvta.to.global.u64"));
  EXPECT_FALSE(is_scalar_function("div.u32"));
  EXPECT_FALSE(is_scalar_function("div.s64"));
  EXPECT_FALSE(is_scalar_function("tanhf"));
  EXPECT_FALSE(is_scalar_function(""));
}

}  // namespace
}  // namespace plumbline
