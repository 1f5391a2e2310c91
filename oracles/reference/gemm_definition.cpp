// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm_definition.h"

#include "oracles/base/assert.h"
#include "oracles/exact/gemm_sums.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

template <typename Number>
Number element(const Tensor& tensor, std::int64_t linear) {
  return real_value<Number>(format(tensor.layout.format), tensor.bits(linear));
}

template <typename Number>
Number sum(const GemmProblem& problem, std::int64_t batch, std::int64_t i, std::int64_t j) {
  Number y = 0;
  for (std::int64_t k = 0; k < problem.k; ++k) {
    y += element<Number>(*problem.a, (batch * problem.m + i) * problem.k + k) *
         element<Number>(*problem.b, (batch * problem.k + k) * problem.n + j);
  }
  return y;
}

template <typename Number>
Number value(const GemmProblem& problem, std::int64_t batch, std::int64_t i, std::int64_t j) {
  Number x = problem.alpha * sum<Number>(problem, batch, i, j);
  if (problem.beta != 0)
    x += problem.beta * element<Number>(*problem.c, (batch * problem.m + i) * problem.n + j);
  if (problem.bias_kind == BiasKind::per_row) x += element<Number>(*problem.bias, i);
  if (problem.bias_kind == BiasKind::per_column) x += element<Number>(*problem.bias, j);
  if (problem.activation == Activation::relu && x < 0) x = 0;
  return x;
}

Dyadic dyadic_element(const Tensor& tensor, std::int64_t linear) {
  return Dyadic(to_double(format(tensor.layout.format), tensor.bits(linear)));
}

}  // namespace

Real gemm_sum(const GemmProblem& problem, std::int64_t batch, std::int64_t i, std::int64_t j,
              int bits) {
  return at_precision(bits,
                      [&]<typename Number>() { return Real(sum<Number>(problem, batch, i, j)); });
}

Real gemm_value(const GemmProblem& problem, std::int64_t batch, std::int64_t i, std::int64_t j,
                int bits) {
  return at_precision(bits,
                      [&]<typename Number>() { return Real(value<Number>(problem, batch, i, j)); });
}

Dyadic gemm_value_exact(const GemmProblem& problem, const GemmOperands& operands,
                        std::int64_t batch, std::int64_t i, std::int64_t j) {
  Dyadic x = Dyadic(problem.alpha) *
             exact_dot(operands.row(batch, i), operands.column(batch, j), problem.k);
  if (problem.beta != 0) {
    x = x +
        Dyadic(problem.beta) * dyadic_element(*problem.c, (batch * problem.m + i) * problem.n + j);
  }
  if (problem.bias_kind == BiasKind::per_row) x = x + dyadic_element(*problem.bias, i);
  if (problem.bias_kind == BiasKind::per_column) x = x + dyadic_element(*problem.bias, j);
  if (problem.activation == Activation::relu && x.negative()) x = Dyadic();
  return x;
}

}  // namespace plumbline
