// SPDX-License-Identifier: MIT
#include "oracles/reference/rows/row.h"

#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

// n neighboring elements from a logical index on; nothing of a tensor that there is not.
std::vector<float> elements(const Tensor* tensor, std::int64_t first, std::int64_t n) {
  if (tensor == nullptr || n == 0) return {};
  const Format& f = format(tensor->layout.format);
  std::vector<float> out(static_cast<std::size_t>(n));
  const std::int64_t begin = tensor->layout.storage_index(first);
  to_float(f, tensor->storage.data() + begin * f.storage_bytes(), n, out.data());
  return out;
}

float element(const Tensor* tensor, std::int64_t index, float otherwise) {
  return tensor == nullptr ? otherwise : elements(tensor, index, 1).front();
}

}  // namespace

RowOf<float> RowProblem::row(std::int64_t i, std::int64_t first, std::int64_t count) const {
  const std::int64_t at = i * n + first;
  return {elements(x, at, count),
          elements(dy, at, count),
          elements(gamma, first, count),
          elements(beta, first, count),
          scale,
          eps,
          element(mean, i, 0),
          element(rstd, i, 1),
          gamma_plus,
          contract.normalized};
}

}  // namespace plumbline
