// SPDX-License-Identifier: MIT
// The module level: headers, functions, and the noise around them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/emulator/ptx_text.h"

namespace plumbline::emulator {
namespace {

using test::kernel;
using test::kHeader;
using test::parsed;

TEST(Parser, ReadsTheHeader) {
  const PtxModule module =
      parsed(".version 8.5\n.target sm_90a, texmode_independent, debug\n.address_size 64\n");
  EXPECT_EQ(module.version_major, 8);
  EXPECT_EQ(module.version_minor, 5);
  EXPECT_EQ(module.target_sm, 90);
  EXPECT_EQ(module.target_text, "sm_90a");
  EXPECT_EQ(module.address_size, 64);
  EXPECT_EQ(module.file, "t.ptx");
}

TEST(Parser, FindsEntriesByName) {
  const PtxModule module =
      parsed(std::string(kHeader) +
             ".func f() { ret; } .weak .entry g { ret; } .visible .entry h() { ret; }");
  EXPECT_EQ(module.functions.size(), 3u);
  ASSERT_NE(module.entry("g"), nullptr);
  EXPECT_EQ(module.entry("g")->name, "g");
  EXPECT_EQ(module.entry("f"), nullptr);
  EXPECT_EQ(module.entry("absent"), nullptr);
}

TEST(Parser, PrototypeAndDefinitionAreOneFunction) {
  const PtxModule module = parsed(std::string(kHeader) + R"(
.func (.param .b32 r) f(.param .b32 a);
.entry k() { .param .b32 x; call (x), f, (x); ret; }
.func (.param .b32 r) f(.param .b32 a) { .param .b32 x; call (x), f, (x); ret; }
.extern .func e();)");
  ASSERT_EQ(module.functions.size(), 3u);
  EXPECT_TRUE(module.functions[0].has_body);
  EXPECT_EQ(module.functions[0].line, 7);
  EXPECT_EQ(module.functions[0].instructions[0].operands[1].index, 0);
  EXPECT_EQ(module.functions[1].instructions[0].operands[1].index, 0);
  EXPECT_FALSE(module.functions[2].has_body);
}

TEST(Parser, ReadsLaunchBounds) {
  const PtxModule module = parsed(std::string(kHeader) + R"(
.entry a() .maxntid 128, 2, 4 .minnctapersm 2 .maxnreg 64 { ret; }
.entry b() .reqntid 96 .reqnctapercluster 2, 1, 1 .maxclusterrank 8 .pragma "nounroll"; { ret; })");
  const Function& a = module.functions.at(0);
  EXPECT_THAT(a.max_threads, testing::ElementsAre(128, 2, 4));
  EXPECT_FALSE(a.exact_threads);
  EXPECT_EQ(a.max_registers, 64);
  const Function& b = module.functions.at(1);
  EXPECT_THAT(b.max_threads, testing::ElementsAre(96, 1, 1));
  EXPECT_TRUE(b.exact_threads);
  EXPECT_THAT(b.cluster, testing::ElementsAre(2, 1, 1));
}

TEST(Parser, InstructionsKeepTheirPlaceInBothTexts) {
  const PtxModule module = parsed(std::string(kHeader) + R"(.file 1 "/a b.cu", 12, 34
.file 3 "\303\274.cuh"
.entry k() {
.reg .pred %p;
ret;
.loc 1 24 3
  @!%p ret;
.loc 3 7 9, function_name $L__info_string0+12, inlined_at 1 25 1
	trap; exit;
})");
  ASSERT_EQ(module.files.size(), 4u);
  EXPECT_EQ(module.files[1], "/a b.cu");
  EXPECT_EQ(module.files[2], "");
  EXPECT_EQ(module.files[3], "\303\274.cuh") << "nvcc writes ü in octal digits";
  const auto& code = module.functions.at(0).instructions;
  EXPECT_EQ(code[0].line, 8);
  EXPECT_EQ(code[0].column, 1);
  EXPECT_EQ(code[0].source.file, -1);
  EXPECT_EQ(code[1].line, 10);
  EXPECT_EQ(code[1].column, 8);
  EXPECT_EQ(code[1].source.file, 1);
  EXPECT_EQ(code[1].source.line, 24);
  EXPECT_EQ(code[2].column, 2);
  EXPECT_EQ(code[2].source.file, 3);
  EXPECT_EQ(code[3].source.line, 7);
  EXPECT_EQ(code[1].source.calls, nullptr);
  ASSERT_THAT(*code[3].source.calls, testing::SizeIs(1));
  EXPECT_EQ(code[3].source.calls->front().file, 1);
  EXPECT_EQ(code[3].source.calls->front().line, 25);
}

TEST(Parser, NoiseIsPassedOver) {
  const PtxModule module = parsed(std::string(kHeader) + R"(
.pragma "x", "y";
.section .debug_str { $L__info_string0: .b8 95,90,0  .b64 x+1 { } }
.entry k() .noreturn {
.pragma "nounroll";
.loc 1 2 3
ret;; ;
.section .debug_loc { }
}
.section	.debug_abbrev
{
.b8 1
})");
  EXPECT_EQ(module.functions.at(0).instructions.size(), 1u);
  EXPECT_TRUE(module.skipped.empty());
}

TEST(Parser, UnknownDirectivesAreSkippedAndNoted) {
  const PtxModule module = parsed(std::string(kHeader) + R"(.frob 1, "x"
.frob
.block { { .b8 1 } }
.frob 2; .entry k() .hint 3 .other "x" {
.inner 4
ret; .inner 5; exit;
})");
  EXPECT_EQ(module.functions.at(0).instructions.size(), 2u);
  EXPECT_THAT(module.skipped, testing::ElementsAre("t.ptx:4: \".frob\"", "t.ptx:5: \".frob\"",
                                                   "t.ptx:6: \".block\"", "t.ptx:7: \".frob\"",
                                                   "t.ptx:7: \".hint\"", "t.ptx:7: \".other\"",
                                                   "t.ptx:8: \".inner\"", "t.ptx:9: \".inner\""));
}

TEST(Parser, UsedBytesMaskBelongsToTheNextInstruction) {
  const Function function =
      test::body("ret;\n.pragma \"used_bytes_mask 0x0FFF\";\nexit;\n.pragma \"nounroll\";\ntrap;");
  EXPECT_EQ(function.instructions[0].used_bytes_mask, 0u);
  EXPECT_EQ(function.instructions[1].used_bytes_mask, 0xfffu);
  EXPECT_EQ(function.instructions[2].used_bytes_mask, 0u);
}

TEST(Parser, AliasesPointToTheirFunction) {
  const PtxModule module = parsed(std::string(kHeader) + R"(
.func f() { ret; }
.func g();
.alias g, f;
.alias h, f;
.entry k() { call h; ret; })");
  EXPECT_EQ(module.functions.at(1).alias_of, 0);
  EXPECT_EQ(module.functions.at(2).name, "h");
  EXPECT_EQ(module.functions.at(2).alias_of, 0);
}

TEST(Parser, OneEntryAloneBringsWhatItReaches) {
  const std::string text = std::string(kHeader) + R"(
.func leaf() { ret; }
.func in_table() { ret; }
.func unused() { this is not even ptx [ ( }
.global .u64 table[1] = {in_table};
.global .u64 root[1] = {generic(table)};
.func middle() { call leaf; ret; }
.entry other() { bra nowhere; }
.entry wanted() {
  .reg .b64 %rd<2>;
  mov.u64 %rd1, root;
  call middle;
  ret; })";
  ParseOptions options;
  options.wanted = [](const std::string& entry) { return entry == "wanted"; };
  const auto module = parse_ptx(text, "t.ptx", options);
  ASSERT_TRUE(module) << module.error().text();
  std::vector<std::string> bodies;
  for (const Function& function : module->functions) {
    EXPECT_NE(function.has_body, function.body_skipped) << function.name;
    if (function.has_body) bodies.push_back(function.name);
  }
  EXPECT_THAT(bodies, testing::UnorderedElementsAre("leaf", "in_table", "middle", "wanted"));
  EXPECT_EQ(module->entry("wanted")->instructions[0].line, 14);
  EXPECT_EQ(module->entry("wanted")->instructions[0].column, 3);
  EXPECT_FALSE(parse_ptx(text, "t.ptx"));
}

TEST(Parser, BothDialectsOfNvcc) {
  const PtxModule old = parsed(R"(//
// Based on NVVM 7.0.1
//
.version 9.0
.target sm_80
.address_size 64
	// .globl	k
.visible .entry k(
	.param .u64 k_param_0
)
{
	.reg .f32 	%f<3>;
	.reg .b64 	%rd<3>;


	ld.param.u64 	%rd1, [k_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	ld.global.f32 	%f1, [%rd2];
	add.rn.f32 	%f2, %f1, 0f3F800000;
	st.global.f32 	[%rd2+4], %f2;
	ret;

}
)");
  const PtxModule young = parsed(R"(//
// Based on NVVM 20.0.0
//
.version 9.0
.target sm_100
.address_size 64
	// .globl	k
.visible .entry k(
	.param .u64 .ptr .align 1 k_param_0
)
{
	.reg .b32 	%r<3>;
	.reg .b64 	%rd<3>;

// %bb.0:
	ld.param.b64 	%rd1, [k_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	ld.global.b32 	%r1, [%rd2];
	add.rn.f32 	%r2, %r1, 0f3F800000;
	st.global.b32 	[%rd2+4], %r2;
	ret;
                                        // -- End function
}
)");
  EXPECT_EQ(old.functions.at(0).instructions.size(), 6u);
  EXPECT_EQ(young.functions.at(0).instructions.size(), 6u);
  EXPECT_EQ(young.target_sm, 100);
}

TEST(Parser, LargeTextsTakeLinearTime) {
  // Half a million characters of everything that could be quadratic; a second is already far too
  // long for it.
  std::string text = ".reg .b32 %r<1000>; .reg .pred %p<2>;\n";
  for (int i = 0; i < 10'000; ++i) {
    text += "{ .reg .pred p; L: setp.eq.b32 p, %r" + std::to_string(i % 1000) +
            ", 0; @p bra L; bra END; }\n";
  }
  const Function function = test::body(text + "END: ret;");
  EXPECT_EQ(function.instructions.size(), 30'001u);
  EXPECT_EQ(function.registers.size(), 11'000u);
  EXPECT_EQ(function.labels.size(), 10'001u);
}

}  // namespace
}  // namespace plumbline::emulator
