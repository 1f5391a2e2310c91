// SPDX-License-Identifier: MIT
// When a list of jobs ends early.
#include "harness/run/run.h"

#include <gtest/gtest.h>

#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

TEST(RunJobs, NoneBeginsOnceThereIsEnough) {
  const Result<Manifest> kernel = parse_manifest(tiny_gemm_manifest(kTinyEntry), "tiny.toml");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = Problem(kernel->schema());
  for (const std::string_view size : {"m", "n", "k"}) test_case.problem.set_integer(size, 1);
  const std::vector<Job> jobs(5, {test_case, Target{.sm = 80, .gpu_name = ""}});
  RunOptions options;
  int asked = 0;
  options.enough = [&] { return ++asked > 2; };
  options.runner.image = [](const Manifest&, int) { return Result<std::string>("not PTX"); };
  Observer nobody;
  EXPECT_EQ(run_jobs(jobs, options, nobody).size(), 2u);
  options.enough = {};
  EXPECT_EQ(run_jobs(jobs, options, nobody).size(), 5u);
}

}  // namespace
}  // namespace plumbline
