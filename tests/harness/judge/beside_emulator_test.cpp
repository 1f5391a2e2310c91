// SPDX-License-Identifier: MIT
// --on both: a GPU that is a stand-in gives other bits than the emulator. Whether that breaks a
// promise depends on the kernel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/judge/case_runner.h"
#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

// The stand-in fills d; here nothing is stored.
std::optional<Verdict> agrees(std::string_view instruction, bool deterministic) {
  setenv("PLUMBLINE_LIBCUDA", PLUMBLINE_STAND_IN_DRIVER, 1);
  std::string text =
      tiny_gemm_manifest("entry = \"fill\"\nparameters = [\"ptr d\", \"s32 4 * m * n\"]");
  if (!deterministic) text += "deterministic = false\n";
  const Result<Manifest> kernel = parse_manifest(text, "fills.toml");
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = Problem(kernel->schema());
  for (const std::string_view size : {"m", "n", "k"}) test_case.problem.set_integer(size, 8);
  test_case.recipe.value_class = "integers";
  RunnerOptions options;
  options.image = [&](const Manifest&, int) {
    return Result<std::string>(fmt::format(
        ".version 8.7\n.target sm_80\n.address_size 64\n"
        ".visible .entry fill(.param .u64 p_d, .param .u32 p_bytes)\n"
        "{{\n.reg .f32 %x;\nmov.f32 %x, 0f3f800000;\n{}\nret;\n}}\n",
        instruction));
  };
  Target both = *probe_gpu();
  both.compare = true;
  const std::optional<CaseRecord> record = CaseRunner(options).run(test_case, both);
  unsetenv("PLUMBLINE_LIBCUDA");
  EXPECT_NE(record->verdict, Verdict::error) << record->reason;
  const auto claim = record->claims.find(Claim::agrees);
  return claim == record->claims.end() ? std::nullopt : std::optional(claim->second);
}

TEST(BesideEmulator, OtherBitsBreakThePromiseOfAKernelWhoseBitsAreFixed) {
  EXPECT_EQ(agrees("add.rn.f32 %x, %x, %x;", true), Verdict::fail);
}

TEST(BesideEmulator, ApproximateInstructionsHaveBitsOfTheirChip) {
  EXPECT_EQ(agrees("ex2.approx.f32 %x, %x;", true), std::nullopt);
  EXPECT_EQ(agrees("div.full.f32 %x, %x, %x;", true), std::nullopt);
}

TEST(BesideEmulator, AnyOrderGivesAnyOfItsBits) {
  EXPECT_EQ(agrees("add.rn.f32 %x, %x, %x;", false), std::nullopt);
}

}  // namespace
}  // namespace plumbline
