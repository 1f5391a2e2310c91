// SPDX-License-Identifier: MIT
#include "oracles/reference/rows/variance.h"

#include "oracles/reference/rows/definition.h"
#include "oracles/reference/rows/ranges.h"

namespace plumbline {

Certified padded_variance(const RowOf<Certified>& row) {
  const std::int64_t n = row.n(), padding = (n + 7) / 8 * 8 - n;
  const Certified mean = row_definition::norm(row, true).mean;
  Certified squares = Certified(static_cast<double>(padding)) * (mean * mean);
  for (const Certified& x : row.x) squares += (x - mean) * (x - mean);
  return squares / Certified(static_cast<double>(n));
}

RowResult<F32Range> one_pass_layernorm(const RowContract& contract, const RowOf<float>& row) {
  const std::int64_t additions = contract.row_additions(row.n());
  F32Sum sum, squares;
  for (const float x : row.x) {
    sum.add(F32Range::of(x));
    squares.add(F32Range::of(x) * F32Range::of(x));
  }
  RowResult<F32Range> out;
  out.mean = mean_of(contract, sum.range(additions), row.n());
  const F32Range variance =
      mean_of(contract, squares.range(additions), row.n()) - out.mean * out.mean;
  out.rstd = F32Range::of(1) / sqrt(variance + F32Range::of(row.eps));
  for (std::size_t j = 0; j < row.gamma.size(); ++j) {
    const F32Range normal = normalized_of(contract, (F32Range::of(row.x[j]) - out.mean) * out.rstd);
    out.out.push_back(fma(normal, F32Range::of(row.gamma[j]), F32Range::of(row.beta[j])));
  }
  return out;
}

}  // namespace plumbline
