// SPDX-License-Identifier: MIT
// --on both: a GPU that is a stand-in gives other bits than the emulator. Whether that breaks a
// promise depends on the kernel. What the emulator alone does wrong is told as well.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/judge/case_runner.h"
#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

// A case whose exact outputs are 0, beside an emulator that runs `body`; `entry` is what the
// stand-in runs.
std::optional<CaseRecord> record_of(std::string_view entry, std::string_view body,
                                    bool deterministic = true) {
  setenv("PLUMBLINE_LIBCUDA", PLUMBLINE_STAND_IN_DRIVER, 1);
  std::string text = tiny_gemm_manifest(
      fmt::format("entry = \"{}\"\nparameters = [\"ptr d\", \"s32 4 * m * n\"]", entry));
  if (!deterministic) text += "deterministic = false\n";
  const Result<Manifest> kernel = parse_manifest(text, "fills.toml");
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = Problem(kernel->schema());
  for (const std::string_view size : {"m", "n"}) test_case.problem.set_integer(size, 8);
  test_case.problem.set_integer("k", 0);
  test_case.recipe.value_class = "integers";
  RunnerOptions options;
  options.image = [&](const Manifest&, int) {
    return Result<std::string>(
        fmt::format(".version 8.7\n.target sm_80\n.address_size 64\n"
                    ".visible .entry {}(.param .u64 p_d, .param .u32 p_bytes)\n"
                    "{{\n.reg .f32 %x;\n.reg .b32 %i, %j;\n.reg .b64 %a, %o;\n"
                    "mov.f32 %x, 0f00000000;\nld.param.u64 %a, [p_d];\nmov.u32 %i, %tid.x;\n"
                    "mov.u32 %j, %ctaid.x;\nmad.lo.u32 %i, %j, 32, %i;\nmul.wide.u32 %o, %i, 4;\n"
                    "add.u64 %a, %a, %o;\n{}\nret;\n}}\n",
                    entry, body));
  };
  Target both = *probe_gpu();
  both.compare = true;
  std::optional<CaseRecord> record = CaseRunner(options).run(test_case, both);
  unsetenv("PLUMBLINE_LIBCUDA");
  EXPECT_NE(record->verdict, Verdict::error) << record->reason;
  return record;
}

constexpr std::string_view kStore = "st.global.f32 [%a], %x;";

// The stand-in fills d; here something else is stored.
std::optional<Verdict> agrees(std::string_view instruction, bool deterministic) {
  const std::optional<CaseRecord> record =
      record_of("fill", fmt::format("{}\n{}", instruction, kStore), deterministic);
  const auto claim = record->claims.find(Claim::agrees);
  return claim == record->claims.end() ? std::nullopt : std::optional(claim->second);
}

TEST(BesideEmulator, OtherBitsBreakThePromiseOfAKernelWhoseBitsAreFixed) {
  EXPECT_EQ(agrees("add.rn.f32 %x, %x, %x;", true), Verdict::fail);
}

TEST(BesideEmulator, ApproximateInstructionsHaveBitsOfTheirChip) {
  EXPECT_EQ(agrees("ex2.approx.f32 %x, %x;", true), Verdict::skip);
  EXPECT_EQ(agrees("div.full.f32 %x, %x, %x;", true), Verdict::skip);
}

TEST(BesideEmulator, AnyOrderGivesAnyOfItsBits) {
  EXPECT_EQ(agrees("add.rn.f32 %x, %x, %x;", false), Verdict::skip);
}

TEST(BesideEmulator, TheSameBitsPass) {
  const std::optional<CaseRecord> record = record_of("zeros", kStore);
  EXPECT_EQ(record->verdict, Verdict::pass) << record->reason;
  EXPECT_EQ(record->claims.at(Claim::agrees), Verdict::pass);
}

// What the GPU stores is right.
TEST(BesideEmulator, WrongValuesOfTheEmulatorAloneFail) {
  const std::optional<CaseRecord> record =
      record_of("zeros", fmt::format("ex2.approx.f32 %x, %x;\n{}", kStore));
  EXPECT_EQ(record->verdict, Verdict::fail);
  EXPECT_EQ(record->claims.at(Claim::bound), Verdict::fail);
  EXPECT_EQ(record->claims.at(Claim::agrees), Verdict::skip);
  EXPECT_THAT(record->reason, HasSubstr("emulator sm_90, beside the GPU: 64 of 64 outputs of d"));
  EXPECT_EQ(record->outputs.at(0).verdict.failed, 64);
  EXPECT_THAT(record->device, HasSubstr("Stand-in GPU"));
}

TEST(BesideEmulator, FindingsOfTheEmulatorAreKept) {
  const std::optional<CaseRecord> record = record_of(
      "zeros", fmt::format("{}\nsetp.eq.u32 %p, %i, 3;\n@%p st.global.f32 [%a + 4096], %x;",
                           ".reg .pred %p;\n" + std::string(kStore)));
  EXPECT_EQ(record->verdict, Verdict::fail);
  EXPECT_EQ(record->claims.at(Claim::in_bounds), Verdict::fail);
  ASSERT_EQ(record->findings.size(), 1u);
  EXPECT_EQ(record->findings[0].kind, "out of bounds");
  EXPECT_THAT(record->reason, HasSubstr("emulator sm_90: out of bounds"));
}

// The driver's word for it names no cause; the emulator does.
TEST(BesideEmulator, AFaultOfTheGpuIsExplainedByTheEmulator) {
  const std::optional<CaseRecord> record = record_of("failed", "st.global.f32 [%a + 4096], %x;");
  ASSERT_EQ(record->findings.size(), 2u);
  EXPECT_EQ(record->findings[0].kind, "device exception");
  EXPECT_EQ(record->findings[1].kind, "out of bounds");
  EXPECT_FALSE(record->claims.contains(Claim::agrees));
}

}  // namespace
}  // namespace plumbline
