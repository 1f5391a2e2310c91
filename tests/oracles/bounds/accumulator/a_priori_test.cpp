// SPDX-License-Identifier: MIT
// The a-priori facts are weaker than the running bound and never contradict it.
#include "oracles/bounds/accumulator/a_priori.h"

#include <gtest/gtest.h>

#include "tests/oracles/bounds/accumulator/bound_contracts.h"
#include "tests/oracles/bounds/accumulator/dot_samples.h"

namespace plumbline {
namespace {

using testing::Data;

TEST(APriori, HoldsWhereTheRunningBoundDoes) {
  std::int64_t exact = 0;
  for (const testing::NamedContract& named : testing::bound_contracts()) {
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    Random random(1);
    for (const Data data : testing::kAllData) {
      for (const std::int64_t k : {1, 8, 50, 300}) {
        const APriori limits(model, k);
        for (int repeat = 0; repeat < 10; ++repeat) {
          const testing::DotSample sample = testing::dot_sample(data, named.a, named.b, k, random);
          const VectorSize row = vector_size(sample.row.data(), k, model.a_minimum_exponent);
          const VectorSize column = vector_size(sample.column.data(), k, model.b_minimum_exponent);
          double magnitude = 0;
          for (std::size_t p = 0; p < sample.row.size(); ++p) {
            magnitude += std::fabs(static_cast<double>(sample.row[p]) * sample.column[p]);
          }
          EXPECT_GE(magnitude_bound(row, column), magnitude);
          const RunningBound bound =
              running_bound(model, sample.row.data(), sample.column.data(), k);
          EXPECT_GE(limits.error(magnitude_bound(row, column)), bound.error * 0.999) << named.name;
          if (limits.surely_exact(magnitude_bound(row, column), row.lowest * column.lowest)) {
            EXPECT_EQ(bound.error, 0) << named.name;
            ++exact;
          }
        }
      }
    }
  }
  EXPECT_GT(exact, 300);
}

// A tensor core's constant has room for one step more than a sum takes: that much it says of no
// products at all. The survey of attention's gradients lives on it.
TEST(APriori, CountsAStepTooMany) {
  for (const testing::NamedContract& named : testing::bound_contracts()) {
    const bool chain = named.contract.schedule == Schedule::sequential;
    if (named.contract.unit != Unit::tensor_core || !chain ||
        named.contract.accumulator != FormatId::f32)
      continue;
    const BoundModel model = *bound_model(named.contract, named.sm, named.a, named.b);
    const APriori empty(model, 0);
    const double spare = empty.error(1) - empty.error(0);
    EXPECT_GE(spare, 5 * 0x1p-24) << named.name;
    Random random(2);
    for (const Data data : testing::kAllData) {
      for (const std::int64_t k : {1, 16, 33, 200}) {
        const testing::DotSample sample = testing::dot_sample(data, named.a, named.b, k, random);
        const double magnitude =
            magnitude_bound(vector_size(sample.row.data(), k, model.a_minimum_exponent),
                            vector_size(sample.column.data(), k, model.b_minimum_exponent));
        const RunningBound bound = running_bound(model, sample.row.data(), sample.column.data(), k);
        EXPECT_GE(APriori(model, k).error(magnitude) - spare * magnitude, bound.error * 0.999)
            << named.name;
      }
    }
  }
}

TEST(APriori, ConstantsAreThoseOfTheTheory) {
  using enum FormatId;
  const Contract mma = testing::tensor_core_contract(),
                 wgmma = testing::tensor_core_contract(Instruction::wgmma);
  const auto constant = [](const Contract& contract, int sm, FormatId id) {
    return APriori(*bound_model(contract, sm, id, id), 4096).error(1);
  };
  // The published constants count L units per node, the ones here L + 1 and one node more.
  EXPECT_NEAR(constant(mma, 80, bf16), 3.05e-4, 0.15 * 3.05e-4);
  EXPECT_NEAR(constant(mma, 90, bf16), 1.53e-4, 0.1 * 1.53e-4);
  EXPECT_NEAR(constant(wgmma, 90, e4m3), 0.516, 0.1 * 0.516);
  EXPECT_NEAR(constant(testing::fma_contract(), 80, bf16), 2.44e-4, 0.01 * 2.44e-4);
}

TEST(APriori, CountsSubnormalsAsTheSmallestNormal) {
  const float tiny[] = {0x1p-9f, 0};
  const VectorSize size = vector_size(tiny, 2, -6);
  EXPECT_NEAR(size.largest, 0x1p-6, 0);
  EXPECT_EQ(size.lowest, 0x1p-9);
}

}  // namespace
}  // namespace plumbline
