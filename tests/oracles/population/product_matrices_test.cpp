// SPDX-License-Identifier: MIT
// An output made of GEMMs, as matrices one below the other; each with the model of its contract.
#include "oracles/population/product_matrices.h"

#include <gtest/gtest.h>

#include "oracles/population/gemm_model.h"
#include "oracles/reference/gemm/joined_oracle.h"
#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using namespace plumbline::testing;

NamedContract hopper() {
  return {"hopper bf16", tensor_core_contract(), 90, FormatId::bf16, FormatId::bf16};
}

TEST(ProductMatrices, ABatchHasItsOwnOperandsInEachMatrix) {
  GemmSetup setup;
  setup.batch = 3, setup.k = 100, setup.output = FormatId::f32;
  Gemm gemm(setup);
  kernel(hopper()).run(gemm);
  const GemmOracle oracle(gemm.problem, hopper().contract, 90);
  const std::vector<ProductMatrix> matrices = product_matrices(oracle, 0);
  ASSERT_EQ(matrices.size(), 3);
  for (std::size_t batch = 0; batch < 3; ++batch) {
    const ProductMatrix& matrix = matrices[batch];
    EXPECT_EQ(matrix.first_row, static_cast<std::int64_t>(batch) * setup.m);
    EXPECT_FALSE(matrix.shares_a());
    const GemmModel model(*matrix.gemm, {{1, 4}, {0, 7, 8}, matrix.batch});
    const std::vector<std::uint64_t> outputs = model.outputs(1);
    const std::vector<double> sums = model.contributions(0, setup.k, 1),
                              exact = oracle.reference_values(0, Reference::contract, 1);
    std::size_t next = 0;
    for (const std::int64_t i : model.rectangle().rows) {
      for (const std::int64_t j : model.rectangle().columns) {
        const std::int64_t at = (matrix.first_row + i) * setup.n + j;
        EXPECT_NEAR(sums[next], exact[static_cast<std::size_t>(at)], 1e-9);
        EXPECT_EQ(outputs[next++], gemm.d.bits(at));
      }
    }
  }
}

TEST(ProductMatrices, PartsOfAnOutputFollowEachOtherAndEmptyOnesAreLeftOut) {
  JoinedOracle oracle({"d", "e"});
  std::vector<std::unique_ptr<Gemm>> gemms;
  const auto add = [&](int output, std::int64_t rows) {
    GemmSetup setup;
    setup.m = rows;
    gemms.push_back(std::make_unique<Gemm>(setup));
    oracle.add(output, "", gemms.back()->problem, hopper().contract, 90);
  };
  add(0, 5), add(0, 0), add(1, 2), add(0, 7);
  const std::vector<ProductMatrix> matrices = product_matrices(oracle, 0);
  ASSERT_EQ(matrices.size(), 2);
  EXPECT_EQ(matrices[0].gemm->problem.m, 5);
  EXPECT_EQ(matrices[1].gemm->problem.m, 7);
  EXPECT_EQ(matrices[1].first_row, 5);
  EXPECT_EQ(product_matrices(oracle, 1).size(), 1);
}

}  // namespace
}  // namespace plumbline
