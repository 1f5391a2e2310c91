// SPDX-License-Identifier: MIT
// What goes wrong in a later launch of --repeat counts, too: a GPU that is a stand-in, whose kernel
// writes behind its output from the second launch on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/case_runner.h"
#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

constexpr const char* kPtx = R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry overrun_later(.param .u64 p_d, .param .u32 p_bytes)
{
ret;
}
)";

// Of the first launches of this process: the stand-in counts.
std::size_t findings_of_launches(int count) {
  setenv("PLUMBLINE_LIBCUDA", PLUMBLINE_STAND_IN_DRIVER, 1);
  const Result<Manifest> kernel = parse_manifest(
      tiny_gemm_manifest("entry = \"overrun_later\"\nparameters = [\"ptr d\", \"s32 4 * m * n\"]"),
      "fills.toml");
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = Problem(kernel->schema());
  for (const std::string_view size : {"m", "n", "k"}) test_case.problem.set_integer(size, 8);
  RunnerOptions options;
  options.repeat = count;
  options.image = [](const Manifest&, int) { return Result<std::string>(kPtx); };
  const Result<Target> gpu = probe_gpu();
  EXPECT_TRUE(gpu.ok()) << gpu.error().text();
  const Result<Execution> execution = CaseRunner(options).execute(test_case, *gpu);
  unsetenv("PLUMBLINE_LIBCUDA");
  EXPECT_TRUE(execution.ok()) << execution.error().text();
  return execution->launch.findings.size();
}

TEST(Repeat, FindingsOfLaterLaunchesCount) {
  EXPECT_EQ(findings_of_launches(2), 1u);
}

}  // namespace
}  // namespace plumbline
