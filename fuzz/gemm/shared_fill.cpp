// SPDX-License-Identifier: MIT
#include "fuzz/gemm/shared_fill.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/base/hash.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

// Where a tensor has a batch, and its matrices share storage (stride 0), they share the first one's
// values.
std::int64_t batch_of(const Tensor& matrix, std::int64_t batch) {
  return matrix.layout.strides[0] == 0 ? 0 : batch;
}

}  // namespace

Random recipe_random(const Recipe& recipe) {
  return Random(recipe.seed).fork(fingerprint(recipe.value_class));
}

GemmPattern gemm_pattern(std::string_view value_class, const GemmContext& context) {
  const std::span<const GemmValueClass> classes = gemm_value_classes();
  const auto found =
      std::find_if(classes.begin(), classes.end(),
                   [&](const GemmValueClass& candidate) { return candidate.name == value_class; });
  PLUMB_ASSERT(found != classes.end());
  return found->pattern(context);
}

const Format& element_format(const CaseTensors& tensors, std::string_view name) {
  const Tensor* tensor = tensors.find(name);
  return format(tensor ? tensor->layout.format : FormatId::f32);
}

void fill_matrix(Tensor* matrix, const std::function<double(const At&)>& value) {
  if (!matrix) return;
  const TensorLayout& layout = matrix->layout;
  const std::size_t rank = layout.shape.size();
  PLUMB_ASSERT(rank == 2 || rank == 3);
  const Format& element = format(layout.format);
  const std::int64_t batches = rank == 3 ? layout.shape[0] : 1;
  const std::int64_t batch_stride = rank == 3 ? layout.strides[0] : 0;
  const std::int64_t rows = layout.shape[rank - 2], columns = layout.shape[rank - 1];
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    if (batch > 0 && batch_stride == 0) break;
    for (std::int64_t row = 0; row < rows; ++row) {
      // No step is made along a dimension of size 1: its stride does not matter.
      const std::int64_t start =
          layout.offset + batch * batch_stride + row * layout.strides[rank - 2];
      for (std::int64_t column = 0; column < columns; ++column) {
        matrix->set_bits_at(start + column * layout.strides[rank - 1],
                            encode(element, gemm_in_range(element, value(At{batch, row, column}))));
      }
    }
  }
}

void fill_vector(Tensor* vector, const std::function<double(std::int64_t)>& value) {
  if (!vector) return;
  const Format& element = format(vector->layout.format);
  for (std::int64_t i = 0; i < vector->layout.count(); ++i) {
    vector->set_bits(i, encode(element, value(i)));
  }
}

void fill_scales(std::string_view name, std::string_view value_class, const Random& random,
                 CaseTensors& tensors) {
  const ElementStream stream(random, name);
  Tensor* scales = tensors.find(name);
  if (scales == nullptr) return;
  // Of ue4m3, which has no sign, the largest is no special value.
  const Format& element = format(scales->layout.format);
  const bool narrow = element.id == FormatId::e4m3;
  const double largest = to_double(element, element.max_finite());
  fill_vector(scales, [&](std::int64_t i) {
    const double scale = gemm_scale(value_class, stream(At{0, 0, i}));
    return narrow && std::isfinite(scale) ? std::min(std::fabs(scale), largest) : scale;
  });
}

void place(Tensor* tensor, const At& at, double value) {
  if (!tensor || tensor->layout.count() == 0) return;
  const std::vector<std::int64_t>& shape = tensor->layout.shape;
  const std::uint64_t bits = encode(format(tensor->layout.format), value);
  switch (shape.size()) {
    case 1:
      if (at.column < shape[0]) tensor->set_bits(at.column, bits);
      return;
    case 2:
      tensor->set_bits(at.row * shape[1] + at.column, bits);
      return;
    default:
      PLUMB_ASSERT(shape.size() == 3);
      tensor->set_bits((batch_of(*tensor, at.batch) * shape[1] + at.row) * shape[2] + at.column,
                       bits);
  }
}

}  // namespace plumbline
