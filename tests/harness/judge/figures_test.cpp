// SPDX-License-Identifier: MIT
#include "harness/judge/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "tests/kernels/ops/gemm_problems.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;

// Outputs of a 2 by 200 tensor, exactly 2^row * 1.5 and a quarter ulp more; from column 130 on what
// is stored is 8 ulp off.
constexpr std::int64_t kColumns = 200, kRight = 130;

double right(std::int64_t index) { return index < kColumns ? 1.5 : 3; }

class StripedOracle : public CaseOracle {
 public:
  int outputs() const override { return 1; }

  std::string output_name(int) const override { return "d"; }

  OutputVerdict judge(int, const Tensor&, const JudgeOptions&) const override { return {}; }

  // Asked about infinities and clamped results alone, which are as they should be but for column 0.
  ElementVerdict element(int, std::int64_t index, std::uint64_t got) const override {
    ElementVerdict e;
    EXPECT_GE(std::fabs(to_double(format(FormatId::bf16), got)), 3e38);
    e.error_ulp = std::numeric_limits<double>::quiet_NaN();
    e.pass = index % kColumns != 0;
    return e;
  }

  Explanation explain(int, std::int64_t, const Tensor&) const override { return {}; }

  std::vector<double> reference_values(int, Reference, int) const override {
    std::vector<double> exact;
    for (std::int64_t index = 0; index < 2 * kColumns; ++index) {
      const double quarter = index % kColumns < kRight ? 0.25 : 0;
      exact.push_back(right(index) * (1 + quarter / 192));
    }
    return exact;
  }
};

TEST(DescribeLength, GradientsHaveSumsOfTheirOwn) {
  Manifest manifest;
  manifest.operation = find_operation("linear_backward");
  manifest.own_schema = every_field(*manifest.operation);
  Case test_case;
  test_case.kernel = &manifest;
  test_case.problem = Problem(manifest.schema());
  test_case.problem.set_integer("m", 5);
  test_case.problem.set_integer("n", 7);
  test_case.problem.set_integer("k", 9);
  OutputRecord dx{"dx", "bf16", {}}, dw{"dw", "bf16", {}};
  describe_length(test_case, dx);
  describe_length(test_case, dw);
  EXPECT_EQ(dx.length_name, "n");
  EXPECT_EQ(dx.length, 7);
  EXPECT_EQ(dw.length_name, "m");
  EXPECT_EQ(dw.length, 5);
}

struct Figures : testing::Test {
  Manifest manifest;
  Case test_case;
  Examined examined;

  void store(std::int64_t index, double value) {
    examined.tensors.tensors.front().set_bits(index, encode(format(FormatId::bf16), value));
  }

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
    Tensor& d = examined.tensors.tensors.emplace_back(layout);
    for (std::int64_t index = 0; index < d.layout.count(); ++index) {
      const bool off = index % kColumns >= kRight;
      store(index, right(index) * (off ? 1 - 8.0 / 192 : 1));
    }
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

TEST_F(Figures, AnErrorMapFoldsTilesAndKeepsTheWorst) {
  const std::optional<ErrorMap> p = error_map_of_case(test_case, examined, 1);
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

// bf16: a word is two columns. Row 0 is warp 0's, of row 1 the first half warp 11's, and the last
// word of all has no writer.
TEST_F(Figures, AnErrorMapKnowsWhoStored) {
  std::vector<Writer> words(200);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    words[i].warp = i >= 100 && i < 150 ? 11 : 0;
    words[i].lane = static_cast<std::int16_t>(i % 100 >= 65 ? 31 : 4);
  }
  examined.launch.writers["d"] = words;
  const std::optional<ErrorMap> p = error_map_of_case(test_case, examined, 1);
  ASSERT_TRUE(p);
  // Columns 128 on fall onto 0 to 71: there two warps meet in row 1.
  const std::string mixed = std::string(72, '.') + std::string(28, 'b') + std::string(28, '0');
  EXPECT_THAT(p->warps, ElementsAre(std::string(128, '0'), mixed));
  ASSERT_EQ(p->threads.size(), 12u);
  std::string lanes(32, ' ');
  lanes[4] = '.';
  EXPECT_EQ(p->threads[11], lanes);
  lanes[31] = 'h';
  EXPECT_EQ(p->threads[0], lanes);
}

TEST_F(Figures, WhatIsNotFiniteIsAsTheOracleFindsIt) {
  store(0, std::numeric_limits<double>::infinity());
  store(1, std::numeric_limits<double>::infinity());
  const std::optional<ErrorMap> p = error_map_of_case(test_case, examined, 1);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->heat[0].substr(0, 3), "z.h");
}

TEST_F(Figures, WhatPassesHasNoHeatMap) {
  examined.record.verdict = Verdict::pass;
  const std::optional<ErrorMap> p = error_map_of_case(test_case, examined, 1);
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->heat.empty());
  EXPECT_EQ(p->binades.size(), 2u);
}

TEST_F(Figures, LargeCasesHaveNoErrorMap) {
  test_case.problem.set_integer("k", 1 << 20);
  EXPECT_FALSE(error_map_of_case(test_case, examined, 1));
}

}  // namespace
}  // namespace plumbline
