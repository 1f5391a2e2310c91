// SPDX-License-Identifier: MIT
// Which errors of which operations the theorems about many errors are asked of. A kernel without
// any error but its last rounding passes each of them. One that rounds some outputs otherwise, by
// less than one unit of their last place, does not.
#include "harness/population/design.h"
#include "tests/folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/population/population.h"
#include "kernels/registry.h"
#include "oracles/base/random.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

const Registry& shipped() {
  static const Result<Registry> registry = Registry::open(PLUMBLINE_SOURCE_DIR "/kernels");
  EXPECT_TRUE(registry);
  return *registry;
}

Rounding to_nearest(std::int64_t, std::int64_t) { return Rounding::nearest_even; }

// A case whose outputs are the exact ones, each rounded as the test says.
struct Rounded {
  Case test_case;
  CaseTensors tensors;
  std::unique_ptr<CaseOracle> oracle;

  Rounded(std::string_view kernel, const std::string& problem) {
    test_case.kernel = shipped().find(kernel);
    test_case.problem = *parse_problem(test_case.kernel->schema(), problem);
    tensors = *materialize(test_case);
    judge_by(*test_case.kernel);
    store(0, to_nearest);
  }

  void judge_by(const Manifest& kernel) {
    test_case.kernel = &kernel;
    oracle = kernel.operation->oracle(test_case.problem, kernel, 90, tensors);
  }

  std::vector<double> exact(int output) const {
    return oracle->reference_values(output, Reference::contract, 1);
  }

  Tensor& stored(int output) { return *tensors.find(oracle->output_name(output)); }

  // rounding(row, column), rows being all but the last dimension.
  template <typename Choose>
  void store(int output, const Choose& rounding) {
    Tensor& tensor = stored(output);
    const std::vector<double> values = exact(output);
    const std::int64_t columns = tensor.layout.shape.back();
    for (std::int64_t at = 0; at < tensor.layout.count(); ++at) {
      tensor.set_bits(at, encode(format(tensor.layout.format), values[static_cast<std::size_t>(at)],
                                 {rounding(at / columns, at % columns), Overflow::to_special, 0}));
    }
  }

  // Everything too large by this factor.
  void enlarge(int output, double factor) {
    Tensor& tensor = stored(output);
    const std::vector<double> values = exact(output);
    for (std::int64_t at = 0; at < tensor.layout.count(); ++at) {
      tensor.set_bits(
          at, encode(format(tensor.layout.format), factor * values[static_cast<std::size_t>(at)]));
    }
  }

  PopulationDesign design(int output = 0) {
    return population_design(test_case, tensors, *oracle, output, exact(output));
  }

  bool may_have(int output = 0) { return may_have_design(test_case, tensors, *oracle, output); }

  PopulationVerdict verdict() { return *test_population(test_case, tensors, *oracle, 1); }
};

// Every eighth column upward.
Rounding one_lane_up(std::int64_t, std::int64_t column) {
  return column % 8 == 3 ? Rounding::up : Rounding::nearest_even;
}

// Every eighth column up or down by chance: errors without a side, but larger ones.
Rounding one_lane_wild(std::int64_t row, std::int64_t column) {
  if (column % 8 != 5) return Rounding::nearest_even;
  const std::uint64_t draw = Random(static_cast<std::uint64_t>(row * 4096 + column)).next();
  return draw % 2 == 0 ? Rounding::up : Rounding::down;
}

// The tests beside the contract's model see the rows of all matrices together.
void expect_envelope(Rounded& made, int output) {
  EXPECT_TRUE(made.verdict().suspicions.empty());
  made.enlarge(output, 1 + 0x1p-6);
  std::vector<std::pair<std::string, EnvelopeTest>> found;
  for (const Suspicion& suspicion : made.verdict().suspicions)
    found.emplace_back(suspicion.output, suspicion.test);
  const std::string name = made.oracle->outputs() > 1 ? made.oracle->output_name(output) : "";
  for (const EnvelopeTest test : {EnvelopeTest::rms, EnvelopeTest::tile_profile})
    EXPECT_THAT(found, Contains(std::pair(name, test)));
}

void expect_theorems(Rounded& made) {
  EXPECT_EQ(made.verdict().broken, "");
  made.store(0, one_lane_up);
  EXPECT_THAT(made.verdict().broken,
              AllOf(HasSubstr("columns j with j mod 8 = 3"), HasSubstr("lean to one side")));
  made.store(0, one_lane_wild);
  EXPECT_THAT(made.verdict().broken,
              AllOf(HasSubstr("columns j with j mod 8 = 5"), HasSubstr("other errors")));
}

TEST(PopulationDesign, ABatchIsMoreRowsAndMoreColumns) {
  Rounded made("gemm_bf16", "m=128 n=256 k=16 batch=4");
  EXPECT_EQ(made.design().with_signs->rows, 512);
  ASSERT_EQ(made.design().drawn_alike.size(), 4);
  EXPECT_EQ(made.design().drawn_alike[3].rows, 128);
  EXPECT_EQ(made.design().drawn_alike[3].at(5, 7), made.design().with_signs->at(3 * 128 + 5, 7));
  expect_theorems(made);
  made.store(0, to_nearest);
  expect_envelope(made, 0);
}

TEST(PopulationDesign, ABatchThatSharesBIsMoreRows) {
  Rounded made("gemm_bf16", "m=64 n=512 k=16 batch=4 stride_b=0");
  EXPECT_EQ(made.design().with_signs->rows, 256);
  ASSERT_EQ(made.design().drawn_alike.size(), 1);
  EXPECT_EQ(made.design().drawn_alike[0].rows, 256);
  expect_theorems(made);
  made.store(0, to_nearest);
  expect_envelope(made, 0);
}

// A column's scale is in all matrices: exchanging columns of one alone would not do.
TEST(PopulationDesign, ABatchThatSharesScalesOfColumnsIsMoreRows) {
  Rounded made("gemm_fp8", "m=64 n=512 k=16 batch=4 scale_b=column");
  ASSERT_EQ(made.design().drawn_alike.size(), 1);
  EXPECT_EQ(made.design().drawn_alike[0].rows, 256);
  EXPECT_EQ(
      Rounded("gemm_fp8", "m=64 n=512 k=16 batch=4 scale_b=tensor").design().drawn_alike.size(), 4);
}

// A row's sign is that of all rows it makes: they count as one.
TEST(PopulationDesign, RowsOfASharedAHaveOneSign) {
  Rounded made("gemm_bf16", "m=256 n=256 k=16 batch=4 stride_a=0");
  const PopulationDesign design = made.design();
  ASSERT_EQ(design.drawn_alike.size(), 4);
  ASSERT_TRUE(design.with_signs);
  EXPECT_EQ(design.with_signs->rows, 256);
  double sum = 0;
  for (const ErrorMatrix& matrix : design.drawn_alike) sum += matrix.at(7, 9);
  EXPECT_DOUBLE_EQ(design.with_signs->at(7, 9), sum);
  expect_theorems(made);
  made.store(0, to_nearest);
  expect_envelope(made, 0);
}

TEST(PopulationDesign, OverlappingMatricesShareElementsAndProveNothing) {
  EXPECT_TRUE(Rounded("gemm_bf16", "m=64 n=512 k=16 batch=4 stride_b=8192").may_have());
  EXPECT_FALSE(Rounded("gemm_bf16", "m=64 n=512 k=16 batch=4 stride_b=8191").may_have());
  EXPECT_FALSE(Rounded("gemm_bf16", "m=64 n=512 k=16 batch=4 stride_a=16").may_have());
}

TEST(PopulationDesign, GroupsLieBelowEachOther) {
  Rounded made("gemm_grouped_bf16", "m=256 n=512 k=16 groups=5 routing=random");
  expect_theorems(made);
  made.store(0, to_nearest);
  expect_envelope(made, 0);
}

TEST(PopulationDesign, GradientsOfALinearLayerAreAskedEachAndItsColumnSumsAreNot) {
  Rounded made("linear_bf16_backward", "m=256 n=256 k=512");
  for (int output = 0; output < 3; ++output) made.store(output, to_nearest);
  EXPECT_EQ(made.verdict().broken, "");
  EXPECT_THAT(made.verdict().detectable, AllOf(HasSubstr("dx: a bias"), HasSubstr("dw: a bias")));
  EXPECT_FALSE(made.may_have(2));
  expect_envelope(made, 1);
  made.store(1, one_lane_up);
  EXPECT_THAT(made.verdict().broken,
              AllOf(HasSubstr("dw: the errors of columns j with j mod 8 = 3")));
}

// Column d of O has the sign of column d of V, in all heads and sequences that read it.
TEST(PopulationDesign, ColumnsOfValuesHaveSigns) {
  Rounded made("attention_bf16_forward", "batch=8 heads=4 kv_heads=2 queries=128 keys=9 d=64");
  const PopulationDesign design = made.design();
  ASSERT_EQ(design.drawn_alike.size(), 8 * 2);
  EXPECT_EQ(design.with_signs->rows, 8 * 2 * 64);
  EXPECT_EQ(design.with_signs->columns, 128);
  EXPECT_DOUBLE_EQ(design.with_signs->at((1 * 2 + 1) * 64 + 5, 17),
                   design.drawn_alike[3].at(17, 5) + design.drawn_alike[3].at(128 + 17, 5));
  EXPECT_EQ(made.verdict().broken, "");
  made.store(0, [](std::int64_t row, std::int64_t) {
    return row % 8 == 3 ? Rounding::up : Rounding::nearest_even;
  });
  EXPECT_THAT(made.verdict().broken, HasSubstr("queries j with j mod 8 = 3 lean to one side"));
  made.store(0, one_lane_wild);
  EXPECT_THAT(made.verdict().broken, HasSubstr("columns j with j mod 8 = 5 have other errors"));
}

TEST(PopulationDesign, SequencesThatShareTheirValuesShareTheirSigns) {
  Rounded made("attention_bf16_forward", "batch=4 heads=4 queries=128 keys=9 d=64 kv=shared");
  EXPECT_EQ(made.design().with_signs->rows, 4 * 64);
}

TEST(PopulationDesign, WhatAContractDoesNotPromiseIsNotAsked) {
  Manifest kernel = *shipped().find("gemm_bf16");
  kernel.promised.contract.odd_symmetric = false;
  Rounded made("gemm_bf16", "m=256 n=512 k=16");
  made.judge_by(kernel);
  EXPECT_FALSE(made.design().with_signs);
  EXPECT_FALSE(made.design().drawn_alike.empty());
  kernel.promised.contract.position_independent = false;
  made.judge_by(kernel);
  EXPECT_TRUE(made.design().drawn_alike.empty());
}

TEST(PopulationDesign, OtherValuesOrNumbersWithoutErrorsSayNothing) {
  Rounded made("gemm_bf16", "m=256 n=512 k=16");
  made.test_case.recipe.value_class = "positive";
  EXPECT_FALSE(test_population(made.test_case, made.tensors, *made.oracle, 1));
  Rounded row("softmax_bf16", "m=64 n=64");
  EXPECT_FALSE(test_population(row.test_case, row.tensors, *row.oracle, 1));
}

}  // namespace
}  // namespace plumbline
