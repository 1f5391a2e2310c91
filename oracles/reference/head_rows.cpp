// SPDX-License-Identifier: MIT
#include "oracles/reference/head_rows.h"

#include "oracles/formats/decode.h"

namespace plumbline {

std::vector<float> head_rows(const Tensor& tensor, std::int64_t batch, std::int64_t head,
                             std::int64_t first, std::int64_t count) {
  const TensorLayout& layout = tensor.layout;
  const Format& stored = format(layout.format);
  const bool vector = layout.shape.size() == 3;
  const std::int64_t width = vector ? 1 : layout.shape[3], step = vector ? 0 : layout.strides[3];
  std::vector<float> rows;
  rows.reserve(static_cast<std::size_t>(count * width));
  for (std::int64_t i = first; i < first + count; ++i) {
    const std::int64_t row = layout.offset + batch * layout.strides[0] +
                             head * layout.strides[1] + i * layout.strides[2];
    for (std::int64_t x = 0; x < width; ++x)
      rows.push_back(static_cast<float>(to_double(stored, tensor.bits_at(row + x * step))));
  }
  return rows;
}

}  // namespace plumbline
