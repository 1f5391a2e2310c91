// SPDX-License-Identifier: MIT
// Shipped kernels counted from a few of their blocks, as `plumbline perf` counts large problems,
// and from all of them: every counter of every instruction is the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/launch/launcher.h"
#include "harness/launch/target.h"
#include "kernels/registry.h"
#include "tests/folders.h"

namespace plumbline {
namespace {

struct Row {
  const char* kernel;
  int sm;
  const char* problem;
  std::int64_t most;  // blocks that may run; 0: all have to
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.kernel << " sm_" << row.sm << " " << row.problem;
}

class Representatives : public testing::TestWithParam<Row> {};

std::vector<CountedLaunch> count(const Case& test_case, int sm, bool representatives) {
  std::string skipped;
  const std::vector<Target> targets =
      kernel_targets(*test_case.kernel, On::emulator, sm, std::nullopt, skipped);
  EXPECT_EQ(targets.size(), 1u) << skipped;
  Result<CaseTensors> tensors = materialize(test_case);
  EXPECT_TRUE(tensors.ok()) << tensors.error().text();
  const LaunchChoices choices{.count_traffic = true, .count_representatives = representatives};
  RunnerOptions options;
  options.threads = 1;
  Launcher launcher(options);
  Result<LaunchResult> launch = launcher.launch(test_case, *tensors, targets.at(0), choices);
  EXPECT_TRUE(launch.ok()) << launch.error().text();
  EXPECT_TRUE(launch->completed);
  return std::move(launch->traffic);
}

TEST_P(Representatives, CountWhatAllBlocksMove) {
  const Row& row = GetParam();
  const std::string path =
      fmt::format("{0}/kernels/shipped/{1}/{1}.toml", PLUMBLINE_BINARY_DIR, row.kernel);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "kernels are not compiled";
  const Result<Manifest> kernel = read_manifest(path);
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = *parse_problem(kernel->schema(), row.problem);
  const std::vector<CountedLaunch> few = count(test_case, row.sm, true);
  const std::vector<CountedLaunch> all = count(test_case, row.sm, false);
  ASSERT_EQ(few.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const LaunchTraffic& some = few[i].traffic;
    const LaunchTraffic& every = all[i].traffic;
    EXPECT_LE(some.representatives, row.most) << some.all_ran_because;
    EXPECT_EQ(some.representatives > 0, row.most > 0) << some.all_ran_because;
    EXPECT_EQ(some.sectors_only_read, every.sectors_only_read);
    EXPECT_EQ(some.sectors_written, every.sectors_written);
    EXPECT_EQ(some.tensor_columns, every.tensor_columns);
    ASSERT_EQ(some.instructions.size(), every.instructions.size());
    for (std::size_t k = 0; k < every.instructions.size(); ++k) {
      EXPECT_TRUE(some.instructions[k].counts == every.instructions[k].counts)
          << every.instructions[k].instruction << " " << every.instructions[k].place.ptx_line;
    }
  }
}

constexpr Row kRows[] = {
    {"gemm_bf16", 80, "m=1024 n=1024 k=64", 8},
    {"gemm_bf16", 90, "m=1992 n=1992 k=72", 32},  // tiles and chunks of 16 bytes in part
    {"gemm_fp8", 90, "m=1152 n=1024 k=64", 9},
    {"gemm_s8", 80, "m=1152 n=1024 k=64", 9},
    {"gemm_bf16_splitk", 80, "m=1024 n=1024 k=256", 8},
    {"softmax_bf16", 80, "m=1024 n=256", 4},
    {"silu_and_mul_bf16", 80, "m=512 n=256", 4},
    {"gemm_bf16_hopper", 90, "m=1024 n=1024 k=128", 0},  // persistent
    {"rmsnorm_bf16", 80, "m=512 n=256", 0},              // a row's statistics are 4 bytes
};

INSTANTIATE_TEST_SUITE_P(Shipped, Representatives, testing::ValuesIn(kRows));

}  // namespace
}  // namespace plumbline
