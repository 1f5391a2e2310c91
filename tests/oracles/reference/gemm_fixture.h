// SPDX-License-Identifier: MIT
// Small GEMMs with their tensors, and a kernel to judge: the contract's accumulator
// (oracles/bounds/accumulator_model.h) and an epilogue written out here, with places to go wrong on
// purpose.
#pragma once

#include <bit>
#include <cmath>
#include <functional>
#include <memory>

#include "oracles/base/random.h"
#include "oracles/bounds/accumulator_model.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/gemm.h"
#include "tests/oracles/bounds/bound_contracts.h"
#include "tests/oracles/bounds/dot_samples.h"

namespace plumbline::testing {

struct GemmSetup {
  std::int64_t m = 9, n = 10, k = 40, batch = 1;
  FormatId a = FormatId::bf16, b = FormatId::bf16, c = FormatId::bf16, output = FormatId::bf16;
  float alpha = 1, beta = 0;
  BiasKind bias = BiasKind::none;
  bool relu = false;
  Data data = Data::normal;
  std::uint64_t seed = 1;
};

inline Tensor tensor_of(FormatId id, std::vector<std::int64_t> shape) {
  TensorLayout layout;
  layout.format = id;
  layout.strides = contiguous_strides(shape);
  layout.shape = std::move(shape);
  return Tensor(layout);
}

inline void fill(Tensor& tensor, Data data, Random random) {
  const Format& stored_as = format(tensor.layout.format);
  for (std::int64_t p = 0; p < tensor.layout.count(); ++p) {
    const EncodeOptions saturating{Rounding::nearest_even, Overflow::saturate, 0};
    tensor.set_bits(p, encode(stored_as, draw(data, tensor.layout.format, random), saturating));
  }
}

// Owns what a GemmProblem points to. Not movable.
struct Gemm {
  Tensor a, b, c, bias, d;
  GemmProblem problem;

  explicit Gemm(const GemmSetup& setup)
      : a(tensor_of(setup.a, {setup.batch, setup.m, setup.k})),
        b(tensor_of(setup.b, {setup.batch, setup.k, setup.n})),
        c(tensor_of(setup.c, {setup.batch, setup.m, setup.n})),
        bias(tensor_of(FormatId::f32, {setup.bias == BiasKind::per_row ? setup.m : setup.n})),
        d(tensor_of(setup.output, {setup.batch, setup.m, setup.n})) {
    const Random random(setup.seed);
    fill(a, setup.data, random.fork(1));
    fill(b, setup.data, random.fork(2));
    fill(c, Data::normal, random.fork(3));
    fill(bias, Data::normal, random.fork(4));
    problem.m = setup.m;
    problem.n = setup.n;
    problem.k = setup.k;
    problem.batch = setup.batch;
    problem.a = &a;
    problem.b = &b;
    problem.c = &c;
    problem.bias = setup.bias == BiasKind::none ? nullptr : &bias;
    problem.bias_kind = setup.bias;
    problem.alpha = setup.alpha;
    problem.beta = setup.beta;
    problem.activation = setup.relu ? Activation::relu : Activation::none;
    problem.output = setup.output;
  }

  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  float value(const Tensor& tensor, std::int64_t linear) const {
    return static_cast<float>(to_double(format(tensor.layout.format), tensor.bits(linear)));
  }

  std::vector<float> row(std::int64_t batch, std::int64_t i) const {
    std::vector<float> out;
    for (std::int64_t p = 0; p < problem.k; ++p)
      out.push_back(value(a, (batch * problem.m + i) * problem.k + p));
    return out;
  }

  std::vector<float> column(std::int64_t batch, std::int64_t j) const {
    std::vector<float> out;
    for (std::int64_t p = 0; p < problem.k; ++p)
      out.push_back(value(b, (batch * problem.k + p) * problem.n + j));
    return out;
  }
};

// A kernel and the faults it may have. Each hook sees the element it is called for.
struct Kernel {
  NamedContract promised;
  std::function<void(std::vector<float>& row, std::vector<float>& column)>
      products;                                         // changes what is summed
  std::function<float(float accumulator)> accumulator;  // changes the accumulator
  std::function<std::int64_t(std::int64_t i, std::int64_t j)> bias_index;
  std::function<void(GemmProblem&)> problem;  // changes the scalars
  EncodeOptions output{};

  // Computes the element as the contract says: alpha, beta * C, bias, relu in f32.
  std::uint64_t element(const Gemm& gemm, std::int64_t batch, std::int64_t i,
                        std::int64_t j) const {
    GemmProblem p = gemm.problem;
    if (problem) problem(p);
    std::vector<float> row = gemm.row(batch, i), column = gemm.column(batch, j);
    if (products) products(row, column);
    float x = run_accumulator(promised.contract, promised.sm, promised.a, promised.b, row.data(),
                              column.data(), static_cast<std::int64_t>(row.size()))
                  .value;
    if (accumulator) x = accumulator(x);
    if (p.alpha != 1) x = p.alpha * x;
    if (p.beta != 0) x = x + p.beta * gemm.value(gemm.c, (batch * p.m + i) * p.n + j);
    if (p.bias_kind != BiasKind::none) {
      x = x + gemm.value(gemm.bias, bias_index                         ? bias_index(i, j)
                                    : p.bias_kind == BiasKind::per_row ? i
                                                                       : j);
    }
    if (p.activation == Activation::relu && x < 0) x = 0;
    return encode(format(p.output), static_cast<double>(x), output);
  }

  void run(Gemm& gemm) const {
    for (std::int64_t index = 0; index < gemm.problem.outputs(); ++index) {
      const std::int64_t j = index % gemm.problem.n, row = index / gemm.problem.n;
      gemm.d.set_bits(index, element(gemm, row / gemm.problem.m, row % gemm.problem.m, j));
    }
  }
};

inline Kernel kernel(NamedContract promised) {
  Kernel out;
  out.output = promised.contract.output;
  out.promised = std::move(promised);
  return out;
}

inline NamedContract hopper_bf16() {
  return {"hopper bf16", tensor_core_contract(), 90, FormatId::bf16, FormatId::bf16};
}

}  // namespace plumbline::testing
