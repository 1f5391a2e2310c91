// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/definition.h"

#include <algorithm>

#include <boost/math/constants/constants.hpp>

#include "oracles/base/assert.h"
#include "oracles/bounds/contract/activation_range.h"
#include "oracles/exact/gemm_block_sums.h"
#include "oracles/formats/decode.h"
#include "oracles/reference/gemm/scales.h"

namespace plumbline {
namespace {

template <typename Number>
Number element(const Tensor& tensor, std::int64_t linear) {
  return real_value<Number>(format(tensor.layout.format), tensor.bits(linear));
}

// The product of the scales that change along k.
double factor(const GemmProblem& problem, std::int64_t i, std::int64_t j, std::int64_t k) {
  const float a = problem.scale_a_block.along_k() ? *scale_at(problem, GemmSide::a, i, k) : 1;
  const float b = problem.scale_b_block.along_k() ? *scale_at(problem, GemmSide::b, j, k) : 1;
  return scale_product(problem.scale_products, a, b);
}

// The end of the k block of k: where a scale may change.
std::int64_t block_end(const GemmProblem& problem, std::int64_t k) {
  std::int64_t end = problem.k;
  for (const ScaleBlock block : {problem.scale_a_block, problem.scale_b_block}) {
    if (block.along_k()) end = std::min(end, (k / block.depth + 1) * block.depth);
  }
  return end;
}

template <typename Number>
Number sum(const GemmProblem& problem, std::int64_t batch, std::int64_t i, std::int64_t j) {
  Number y = 0;
  for (std::int64_t k = 0; k < problem.k;) {
    const std::int64_t begin = k, end = block_end(problem, k);
    Number p = 0;
    for (; k < end; ++k) {
      p += (element<Number>(*problem.a, (batch * problem.m + i) * problem.k + k) - problem.zero_a) *
           (element<Number>(*problem.b, (batch * problem.k + k) * problem.n + j) - problem.zero_b);
    }
    y += problem.block_scaled() ? factor(problem, i, j, begin) * p : p;
  }
  return y;
}

// A scale that does not change along k.
float vector_scale(const GemmProblem& problem, GemmSide side, std::int64_t vector) {
  const ScaleBlock block = side == GemmSide::a ? problem.scale_a_block : problem.scale_b_block;
  return block.along_k() ? 1 : scale_at(problem, side, vector, 0).value_or(1);
}

template <typename Number>
Number logistic(const Number& x) {  // 1 / (1 + e^-x), without overflow
  if (x > 0) return Number(1 / (1 + exp(Number(-x))));
  const Number power = exp(x);
  return Number(power / (1 + power));
}

template <typename Number>
Number activated(Activation function, const Number& x) {
  switch (function) {
    case Activation::none:
      break;
    case Activation::relu:
      return x < 0 ? Number(0) : x;
    case Activation::gelu: {
      Number tail = Number(-x / sqrt(Number(2)));
      mpfr_erfc(tail.backend().data(), tail.backend().data(), MPFR_RNDN);
      return Number(x * tail / 2);
    }
    case Activation::gelu_tanh: {
      const Number pi = boost::math::constants::pi<Number>();
      const Number cube = Number(x * x * x) * Number(44715) / 1000000;
      return Number(x * logistic(Number(2 * sqrt(Number(2 / pi)) * (x + cube))));
    }
    case Activation::silu:
      return Number(x * logistic(x));
  }
  return x;
}

template <typename Number>
Number value(const GemmProblem& problem, std::int64_t batch, std::int64_t i, std::int64_t j) {
  Number x = problem.alpha * sum<Number>(problem, batch, i, j);
  x *= vector_scale(problem, GemmSide::a, i);
  x *= vector_scale(problem, GemmSide::b, j);
  if (problem.beta != 0)
    x += problem.beta * element<Number>(*problem.c, (batch * problem.m + i) * problem.n + j);
  if (problem.bias_kind == BiasKind::per_row) x += element<Number>(*problem.bias, i);
  if (problem.bias_kind == BiasKind::per_column) x += element<Number>(*problem.bias, j);
  x = activated(problem.activation, x);
  if (problem.scale_d != nullptr) x *= element<Number>(*problem.scale_d, 0);
  return x + problem.zero_d;
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
  PLUMB_ASSERT(!is_smooth(problem.activation));
  Dyadic x = Dyadic(problem.alpha);
  if (problem.block_scaled()) {
    const BlockScales scales = block_scales(problem, block_end(problem, 0));
    x = x * exact_block_dot(operands.row(batch, i), operands.column(batch, j), problem.k,
                            scales.depth, scales.factors(i, j));
  } else {
    x = x * exact_dot(operands.row(batch, i), operands.column(batch, j), problem.k);
  }
  x = x * Dyadic(vector_scale(problem, GemmSide::a, i)) *
      Dyadic(vector_scale(problem, GemmSide::b, j));
  if (problem.beta != 0) {
    x = x +
        Dyadic(problem.beta) * dyadic_element(*problem.c, (batch * problem.m + i) * problem.n + j);
  }
  if (problem.bias_kind == BiasKind::per_row) x = x + dyadic_element(*problem.bias, i);
  if (problem.bias_kind == BiasKind::per_column) x = x + dyadic_element(*problem.bias, j);
  if (problem.activation == Activation::relu && x.negative()) x = Dyadic();
  if (problem.scale_d != nullptr) x = x * dyadic_element(*problem.scale_d, 0);
  return x + Dyadic(static_cast<double>(problem.zero_d));
}

}  // namespace plumbline
