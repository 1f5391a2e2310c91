// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm_case.h"

#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/exact/gemm_sums.h"
#include "oracles/exact/parallel.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

std::vector<VectorSize> sizes_of(const std::vector<float>& vectors, std::int64_t count,
                                 std::int64_t k, int minimum_exponent, int threads) {
  std::vector<VectorSize> sizes(static_cast<std::size_t>(count));
  for_each_block(count, 64, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      sizes[static_cast<std::size_t>(v)] = vector_size(vectors.data() + v * k, k, minimum_exponent);
    }
  });
  return sizes;
}

std::optional<BoundModel> model_of(const Contract& contract, int sm, const GemmProblem& problem) {
  const FormatId a = problem.a->layout.format, b = problem.b->layout.format;
  PLUMB_ASSERT(contract.check(sm, a, b).ok());
  if (contract.unit == Unit::int32) return std::nullopt;
  const std::optional<BoundModel> model = bound_model(contract, sm, a, b);
  PLUMB_ASSERT(model.has_value());
  return model;
}

EpilogueScalars scalars_of(const GemmProblem& problem) {
  return {problem.alpha, problem.beta, problem.bias_kind != BiasKind::none,
          problem.activation == Activation::relu};
}

int minimum_exponent(const Tensor* tensor) {
  const Format& stored = format(tensor->layout.format);
  return stored.is_integer ? 0 : stored.emin();
}

float value_of(const Tensor& tensor, std::uint64_t bits) {
  return static_cast<float>(to_double(format(tensor.layout.format), bits));
}

}  // namespace

GemmTensorReader::GemmTensorReader(const Tensor& tensor)
    : tensor_(&tensor), offset_(tensor.layout.offset) {
  PLUMB_ASSERT(tensor.layout.shape.size() == 3);
  for (std::size_t d = 0; d < 3; ++d)
    strides_[d] = tensor.layout.shape[d] == 1 ? 0 : tensor.layout.strides[d];
}

GemmCase::GemmCase(const GemmProblem& gemm, const Contract& promised, int target, int threads)
    : problem(gemm),
      contract(promised),
      sm(target),
      operands(decode_operands(*gemm.a, *gemm.b, threads)),
      scalars(scalars_of(gemm)),
      epilogue(promised, scalars, gemm.output),
      model(model_of(promised, target, gemm)),
      grid(model ? model->accumulator_precision() : 24),
      a_priori(model ? std::optional<APriori>(std::in_place, *model, gemm.k) : std::nullopt),
      row_specials_(operands.a_special, gemm.k,
                    [&](std::int64_t row, std::int64_t p) {
                      const GemmPlace at{row / gemm.m, row % gemm.m, p};
                      return value_of(*gemm.a, GemmTensorReader(*gemm.a).bits(at));
                    }),
      column_specials_(operands.b_special, gemm.k, [&](std::int64_t column, std::int64_t p) {
        const GemmPlace at{column / gemm.n, p, column % gemm.n};
        return value_of(*gemm.b, GemmTensorReader(*gemm.b).bits(at));
      }) {
  row_sizes_ =
      sizes_of(operands.a, operands.batch_a * gemm.m, gemm.k, minimum_exponent(gemm.a), threads);
  column_sizes_ =
      sizes_of(operands.b, operands.batch_b * gemm.n, gemm.k, minimum_exponent(gemm.b), threads);
  if (gemm.beta != 0) {
    PLUMB_ASSERT(gemm.c != nullptr);
    c_.emplace(*gemm.c);
  }
  if (gemm.bias_kind != BiasKind::none) {
    PLUMB_ASSERT(gemm.bias != nullptr);
    for (std::int64_t p = 0; p < gemm.bias->layout.count(); ++p) {
      bias_.push_back(value_of(*gemm.bias, gemm.bias->bits(p)));
    }
  }
}

ClassSet GemmCase::special_classes(const GemmPlace& at) const {
  const ClassSet classes = special_class(row(at), column(at), row_specials_.of(row_vector(at)),
                                         column_specials_.of(column_vector(at)));
  if (classes.is_only(ResultClass::nan) || !model) return classes;
  if (a_priori->cannot_overflow(magnitude(at))) return classes;
  // The finite products may overflow before an infinite one comes; afterwards they change nothing.
  ClassSet before = bound(at).classes;
  before.add(ResultClass::finite);
  return ClassSet::of_sum(before, classes);
}

EpilogueOperands GemmCase::epilogue_operands(const GemmPlace& at) const {
  EpilogueOperands out;
  if (c_) out.c = value_of(*problem.c, c_->bits(at));
  if (problem.bias_kind == BiasKind::per_row) out.bias = bias_at(at.i);
  if (problem.bias_kind == BiasKind::per_column) out.bias = bias_at(at.j);
  return out;
}

RunningBound GemmCase::bound(const GemmPlace& at) const {
  return running_bound(*model, row(at), column(at), problem.k);
}

Dyadic GemmCase::exact_sum(const GemmPlace& at) const {
  return exact_dot(row(at), column(at), problem.k);
}

}  // namespace plumbline
