// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/head_rows.h"

#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"

namespace plumbline {

std::vector<float> head_rows(const Tensor& tensor, std::int64_t batch, std::int64_t head,
                             std::int64_t first, std::int64_t count) {
  const TensorLayout& layout = tensor.layout;
  const Format& stored = format(layout.format);
  const bool vector = layout.shape.size() == 3;
  const std::int64_t width = vector ? 1 : layout.shape[3];
  PLUMB_ASSERT(vector || width <= 1 || layout.strides[3] == 1);
  std::vector<float> rows(static_cast<std::size_t>(count * width));
  for (std::int64_t i = 0; i < count && width > 0; ++i) {
    const std::int64_t row = layout.offset + batch * layout.strides[0] + head * layout.strides[1] +
                             (first + i) * layout.strides[2];
    to_float(stored, tensor.storage.data() + row * stored.storage_bits / 8, width,
             rows.data() + i * width);
  }
  return rows;
}

}  // namespace plumbline
