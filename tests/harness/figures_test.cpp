// SPDX-License-Identifier: MIT
#include "harness/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/gemm_problems.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;

// Outputs of a 2 by 200 tensor: exact is 2^row, the errors are in column 130 and beyond.
class StripedOracle : public CaseOracle {
 public:
  int outputs() const override { return 1; }

  std::string output_name(int) const override { return "d"; }

  OutputVerdict judge(int, const Tensor&, const JudgeOptions&) const override { return {}; }

  ElementVerdict element(int, std::int64_t index, std::uint64_t) const override {
    ElementVerdict e;
    e.index = index;
    e.exact = index < 200 ? 1.5 : 3;
    e.pass = index % 200 < 130;
    e.got = e.pass ? 0 : 1;
    e.error_ulp = e.pass ? 0.25 : -8;
    return e;
  }

  Explanation explain(int, std::int64_t, const Tensor&) const override { return {}; }

  std::vector<double> reference_values(int, Reference, int) const override { return {}; }
};

struct Figures : testing::Test {
  Manifest manifest;
  Case test_case;
  Examined examined;

  void SetUp() override {
    manifest.name = "k";
    manifest.operation = find_operation("gemm");
    manifest.own_schema = every_field(*manifest.operation);
    test_case.kernel = &manifest;
    test_case.problem = Problem(manifest.schema());
    for (const auto& [size, value] : {std::pair{"m", 2}, std::pair{"n", 200}, std::pair{"k", 33}})
      test_case.problem.set_integer(size, value);
    TensorLayout layout{FormatId::bf16, {1, 2, 200}, {400, 200, 1}, 0};
    examined.tensors.specs.push_back({"d", TensorRole::output, layout});
    examined.tensors.tensors.emplace_back(layout);
    examined.oracle = std::make_unique<StripedOracle>();
    examined.record = describe_case(test_case);
    examined.record.outputs.push_back({"d", "bf16", {}});
    examined.record.verdict = Verdict::fail;
  }
};

TEST_F(Figures, ACaseKnowsTheLengthOfItsSums) {
  EXPECT_EQ(examined.record.length_name, "k");
  EXPECT_EQ(examined.record.length, 33);
}

TEST_F(Figures, APortraitFoldsTilesAndKeepsTheWorst) {
  const std::optional<Portrait> p = portrait_of(test_case, examined);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->tile_rows, 2);
  EXPECT_EQ(p->tile_columns, 128);
  // Columns 130 to 199 fall onto 2 to 71; 8 ulp is "below 2^4", seven letters above 2^-3.
  const std::string row = ".." + std::string(70, 'h') + std::string(56, '.');
  EXPECT_THAT(p->heat, ElementsAre(row, row));
  ASSERT_EQ(p->binades.size(), 2u);
  EXPECT_EQ(p->binades[0].exponent, 0);
  EXPECT_EQ(p->binades[1].exponent, 1);
  EXPECT_EQ(p->binades[1].outputs, 200);
  EXPECT_EQ(p->binades[1].median_ulp, 0.25);
  EXPECT_EQ(p->binades[1].worst_ulp, 8);
}

TEST_F(Figures, WhatPassesHasNoHeatMap) {
  examined.record.verdict = Verdict::pass;
  const std::optional<Portrait> p = portrait_of(test_case, examined);
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->heat.empty());
  EXPECT_EQ(p->binades.size(), 2u);
}

TEST_F(Figures, LargeCasesHaveNoPortrait) {
  test_case.problem.set_integer("k", 1 << 20);
  EXPECT_FALSE(portrait_of(test_case, examined));
}

}  // namespace
}  // namespace plumbline
