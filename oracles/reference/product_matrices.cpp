// SPDX-License-Identifier: MIT
#include "oracles/reference/product_matrices.h"

#include "oracles/reference/gemm_oracle.h"
#include "oracles/reference/joined_oracle.h"

namespace plumbline {
namespace {

std::vector<const GemmCase*> gemms_of(const CaseOracle& oracle, int output) {
  if (const auto* gemm = dynamic_cast<const GemmOracle*>(&oracle)) return {&gemm->gemm()};
  if (const auto* joined = dynamic_cast<const JoinedOracle*>(&oracle)) return joined->gemms(output);
  return {};
}

}  // namespace

std::vector<ProductMatrix> product_matrices(const CaseOracle& oracle, int output) {
  std::vector<ProductMatrix> matrices;
  std::int64_t first_row = 0;
  for (const GemmCase* gemm : gemms_of(oracle, output)) {
    if (gemm->problem.outputs() == 0) continue;
    for (std::int64_t batch = 0; batch < gemm->problem.batch; ++batch) {
      matrices.push_back({gemm, batch, first_row});
      first_row += gemm->problem.m;
    }
  }
  return matrices;
}

}  // namespace plumbline
