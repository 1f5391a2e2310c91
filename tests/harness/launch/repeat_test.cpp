// SPDX-License-Identifier: MIT
// What a GPU finds, which here is a stand-in: a kernel that writes behind its output from the
// second launch of --repeat on, and one that ends with an illegal address.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/judge/case_runner.h"
#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

// Of the first launches of this process: the stand-in counts.
std::vector<Finding> findings_of(std::string_view entry, int launches) {
  setenv("PLUMBLINE_LIBCUDA", PLUMBLINE_STAND_IN_DRIVER, 1);
  const Result<Manifest> kernel =
      parse_manifest(tiny_gemm_manifest(fmt::format(
                         "entry = \"{}\"\nparameters = [\"ptr d\", \"s32 4 * m * n\"]", entry)),
                     "fills.toml");
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = Problem(kernel->schema());
  for (const std::string_view size : {"m", "n", "k"}) test_case.problem.set_integer(size, 8);
  RunnerOptions options;
  options.repeat = launches;
  options.image = [&](const Manifest&, int) {
    return Result<std::string>(
        fmt::format(".version 8.7\n.target sm_80\n.address_size 64\n"
                    ".visible .entry {}(.param .u64 p_d, .param .u32 p_bytes)\n{{\nret;\n}}\n",
                    entry));
  };
  const Result<Target> gpu = probe_gpu();
  EXPECT_TRUE(gpu.ok()) << gpu.error().text();
  const Result<Execution> execution = CaseRunner(options).execute(test_case, *gpu);
  unsetenv("PLUMBLINE_LIBCUDA");
  EXPECT_TRUE(execution.ok()) << execution.error().text();
  // As the stand-in says; a launch that ends early has no time.
  EXPECT_DOUBLE_EQ(execution->kernel_ms, execution->launch.completed ? 0.5 : 0.0);
  return execution->launch.findings;
}

TEST(Repeat, FindingsOfLaterLaunchesCount) {
  EXPECT_EQ(findings_of("overrun_later", 2).size(), 1u);
}

// Its inputs are gone with the context, not changed.
TEST(Repeat, AFaultIsOneFinding) {
  const std::vector<Finding> findings = findings_of("fault", 1);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingKind::out_of_bounds);
}

}  // namespace
}  // namespace plumbline
