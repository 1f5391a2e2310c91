// SPDX-License-Identifier: MIT
// The generators of the row operations: plans that reach every class for every shipped kernel, and
// the inputs that decide about these operations.
#include "fuzz/rows/generator.h"
#include "tests/folders.h"

#include <cmath>
#include <set>

#include "tests/fuzz/plan/generated_plan.h"

namespace plumbline {
namespace {

const Manifest& row_kernel(const std::string& name) {
  static std::map<std::string, Manifest> read;
  const auto found = read.find(name);
  if (found != read.end()) return found->second;
  const std::string path =
      std::string(PLUMBLINE_SOURCE_DIR) + "/kernels/shipped/" + name + "/" + name + ".toml";
  Result<Manifest> manifest = read_manifest(path);
  PLUMB_ASSERT(manifest.ok());
  return read.emplace(name, std::move(*manifest)).first->second;
}

class RowGenerators : public ::testing::TestWithParam<const char*> {};

TEST_P(RowGenerators, PlanReachesEveryClass) { check_plan(row_kernel(GetParam())); }

TEST_P(RowGenerators, CasesAreTheSameEveryTime) { check_bits_repeat(row_kernel(GetParam())); }

TEST_P(RowGenerators, DesignedCasesAreProblems) { check_designed(row_kernel(GetParam())); }

TEST_P(RowGenerators, QuickPlanStaysSmall) {
  const Manifest& kernel = row_kernel(GetParam());
  double elements = 0;
  for (const Case& test_case : plan_cases(kernel, {Profile::quick, 1}))
    elements += kernel.operation->work(test_case.problem);
  EXPECT_LT(elements, 5e6);
}

TEST_P(RowGenerators, StridesDoNotChangeBits) {
  const Manifest& kernel = row_kernel(GetParam());
  const auto bits = [&](const std::string& strides) {
    return bits_of(case_with(kernel, "m=7 n=30" + strides, "normal", 3));
  };
  std::string strides;
  for (const std::string_view field : generator_of(*kernel.operation).shrink_fields().strides)
    strides += " " + std::string(field) + "=37";
  EXPECT_EQ(bits(""), bits(strides));
}

INSTANTIATE_TEST_SUITE_P(Kernels, RowGenerators,
                         ::testing::Values("softmax_bf16", "softmax_bf16_backward", "rmsnorm_bf16",
                                           "rmsnorm_bf16_backward", "layernorm_bf16",
                                           "layernorm_bf16_backward"),
                         [](const auto& test) { return std::string(test.param); });

TEST(RowGenerator, ProbabilitiesAddUpToOne) {
  const CaseTensors tensors =
      filled(case_with(row_kernel("softmax_bf16_backward"), "m=20 n=50", "normal"));
  for (std::int64_t i = 0; i < 20; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < 50; ++j) sum += element_of(*tensors.find("y"), i * 50 + j);
    EXPECT_NEAR(sum, 1, 0x1p-7);
  }
}

TEST(RowGenerator, StatisticsAreThoseOfTheRows) {
  const CaseTensors tensors =
      filled(case_with(row_kernel("layernorm_bf16_backward"), "m=6 n=500", "offset_rows"));
  for (std::int64_t i = 0; i < 6; ++i) {
    double sum = 0, squares = 0;
    for (std::int64_t j = 0; j < 500; ++j) sum += element_of(*tensors.find("x"), i * 500 + j);
    for (std::int64_t j = 0; j < 500; ++j)
      squares += std::pow(element_of(*tensors.find("x"), i * 500 + j) - sum / 500, 2);
    EXPECT_NEAR(element_of(*tensors.find("mean"), i) / (sum / 500), 1, 1e-6);
    EXPECT_NEAR(element_of(*tensors.find("rstd"), i) * std::sqrt(squares / 500 + 1e-5), 1, 1e-6);
    EXPECT_GT(std::fabs(sum / 500), 20 * std::sqrt(squares / 500)) << "a mean far above the spread";
  }
}

TEST(RowGenerator, SpecialRowsAreOfEveryKind) {
  const CaseTensors tensors =
      filled(case_with(row_kernel("softmax_bf16"), "m=12 n=40", "specials"));
  std::set<int> kinds;
  for (std::int64_t i = 0; i < 12; ++i) {
    int nans = 0, plus = 0, minus = 0, first = 0, last = 0;
    for (std::int64_t j = 0; j < 40; ++j) {
      const double x = element_of(*tensors.find("x"), i * 40 + j);
      first += std::isinf(x) && x < 0 && j < 20;
      last += std::isinf(x) && x < 0 && j >= 20;
      nans += std::isnan(x);
      plus += std::isinf(x) && x > 0;
      minus += std::isinf(x) && x < 0;
    }
    kinds.insert(nans > 0                     ? 0
                 : plus > 0                   ? 1
                 : minus == 40                ? 2
                 : minus == 20 && first == 20 ? 6
                 : minus == 20 && last == 20  ? 7
                 : minus > 1                  ? 3
                 : minus == 1                 ? 4
                                              : 5);
  }
  EXPECT_EQ(kinds.size(), 8u);
}

}  // namespace
}  // namespace plumbline
