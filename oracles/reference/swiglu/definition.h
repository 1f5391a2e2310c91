// SPDX-License-Identifier: MIT
// The MLP as mathematics has it, element by element, over MPFR numbers: the specification, and the
// referee of the fast path. Nothing is rounded but to the precision of the numbers; y is that of
// the exact h. (A kernel's y is judged by the h it stored, as a GEMM: gemm/definition.h.)
#pragma once

#include "oracles/exact/real.h"
#include "oracles/reference/swiglu/silu.h"
#include "oracles/reference/swiglu/swiglu.h"

namespace plumbline {

template <typename Number>
Number defined_product(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j) {
  const std::int64_t k = a.layout.shape[1];
  Number sum = 0;
  for (std::int64_t p = 0; p < k; ++p)
    sum += real_value<Number>(format(a.layout.format), a.bits(i * k + p)) *
           real_value<Number>(format(b.layout.format), b.bits(j * k + p));
  return sum;
}

template <typename Number>
Number defined_hidden(const SwigluProblem& mlp, std::int64_t token, std::int64_t j) {
  return silu(defined_product<Number>(*mlp.x, token, *mlp.gate, j)) *
         defined_product<Number>(*mlp.x, token, *mlp.up, j);
}

template <typename Number>
Number defined_output(const SwigluProblem& mlp, std::int64_t token, std::int64_t o) {
  const std::int64_t hidden = mlp.hidden();
  Number sum = 0;
  for (std::int64_t j = 0; j < hidden; ++j)
    sum += defined_hidden<Number>(mlp, token, j) *
           real_value<Number>(format(mlp.down->layout.format), mlp.down->bits(o * hidden + j));
  return sum;
}

}  // namespace plumbline
