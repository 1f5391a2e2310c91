// SPDX-License-Identifier: MIT
#include "oracles/population/product_matrices.h"

namespace plumbline {

std::vector<ProductMatrix> product_matrices(const CaseOracle& oracle, int output) {
  std::vector<ProductMatrix> matrices;
  std::int64_t first_row = 0;
  for (const PreparedGemm* gemm : oracle.gemms(output)) {
    if (gemm->problem.outputs() == 0) continue;
    for (std::int64_t batch = 0; batch < gemm->problem.batch; ++batch) {
      matrices.push_back({gemm, batch, first_row});
      first_row += gemm->problem.m;
    }
  }
  return matrices;
}

}  // namespace plumbline
