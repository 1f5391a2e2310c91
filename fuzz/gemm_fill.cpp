// SPDX-License-Identifier: MIT
// From a pattern (values at logical positions) to the bits of tensors: the one place where GEMM
// data is rounded to its format.
#include "fuzz/gemm_fill.h"

#include <algorithm>
#include <limits>

#include "fuzz/gemm_values.h"
#include "oracles/base/assert.h"
#include "oracles/base/hash.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

GemmContext context_of(const Case& test_case, const CaseTensors& tensors) {
  const auto element = [&](std::string_view name) {
    const Tensor* tensor = tensors.find(name);
    return &format(tensor ? tensor->layout.format : FormatId::f32);
  };
  const Problem& problem = test_case.problem;
  GemmContext context;
  context.m = problem.integer("m");
  context.n = problem.integer("n");
  context.k = problem.integer("k");
  context.batch = problem.integer("batch");
  context.a = element("a");
  context.b = element("b");
  context.c = element("c");
  context.bias = element("bias");
  context.f32_output = element("d")->id == FormatId::f32;
  context.random = Random(test_case.recipe.seed).fork(fingerprint(test_case.recipe.value_class));
  return context;
}

// Matrices of a batch that share storage (stride 0) share the first one's values.
std::int64_t batch_of(const Tensor& matrix, std::int64_t batch) {
  return matrix.layout.strides[0] == 0 ? 0 : batch;
}

template <typename Value>
void fill_matrix(Tensor* matrix, const Value& value) {
  if (!matrix) return;
  const TensorLayout& layout = matrix->layout;
  PLUMB_ASSERT(layout.shape.size() == 3);
  const Format& element = format(layout.format);
  for (std::int64_t batch = 0; batch < layout.shape[0]; ++batch) {
    if (batch_of(*matrix, batch) != batch) break;
    for (std::int64_t row = 0; row < layout.shape[1]; ++row) {
      // A dimension of size 1 is never stepped along, whatever its stride.
      const std::int64_t start =
          layout.offset + batch * layout.strides[0] + row * layout.strides[1];
      for (std::int64_t column = 0; column < layout.shape[2]; ++column) {
        matrix->set_bits_at(start + column * layout.strides[2],
                            encode(element, value(At{batch, row, column})));
      }
    }
  }
}

void fill_bias(Tensor* bias, const std::function<double(std::int64_t)>& value) {
  if (!bias) return;
  const Format& element = format(bias->layout.format);
  for (std::int64_t i = 0; i < bias->layout.count(); ++i)
    bias->set_bits(i, encode(element, value(i)));
}

void place(const Placement& placement, CaseTensors& tensors) {
  Tensor* tensor = tensors.find(placement.tensor);
  if (!tensor || tensor->layout.count() == 0) return;
  const std::vector<std::int64_t>& shape = tensor->layout.shape;
  const std::uint64_t bits = encode(format(tensor->layout.format), placement.value);
  const auto [batch, row, column] = placement.at;
  if (shape.size() ==
      1) {  // a bias is by row or by column: the index may lie outside the other dimension
    if (column < shape[0]) tensor->set_bits(column, bits);
    return;
  }
  tensor->set_bits((batch_of(*tensor, batch) * shape[1] + row) * shape[2] + column, bits);
}

}  // namespace

void gemm_fill(const Case& test_case, CaseTensors& tensors) {
  const std::span<const GemmValueClass> classes = gemm_value_classes();
  const auto found =
      std::find_if(classes.begin(), classes.end(), [&](const GemmValueClass& candidate) {
        return candidate.name == test_case.recipe.value_class;
      });
  PLUMB_ASSERT(found != classes.end());
  const GemmPattern pattern = found->pattern(context_of(test_case, tensors));
  fill_matrix(tensors.find("a"), pattern.a);
  fill_matrix(tensors.find("b"), pattern.b);
  fill_bias(tensors.find("bias"), pattern.bias);
  if (test_case.problem.real("beta") != 0) {
    fill_matrix(tensors.find("c"), pattern.c);
  } else {
    fill_matrix(tensors.find("c"),
                [](const At&) { return std::numeric_limits<double>::quiet_NaN(); });
  }
  for (const Placement& placement : pattern.placements) {
    if (placement.tensor == "c" && test_case.problem.real("beta") == 0) continue;
    place(placement, tensors);
  }
}

}  // namespace plumbline
