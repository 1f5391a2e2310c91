// SPDX-License-Identifier: MIT
// Walking the logical elements of a tensor in row-major order, with the storage index of each,
// without the divisions of TensorLayout::storage_index().
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "oracles/formats/tensor.h"

namespace plumbline {

// Calls visit(storage_index, step, count) for every row: the elements along the last dimension, so
// many of them, each `step` behind the one before.
template <typename Visit>
void for_each_row(const TensorLayout& layout, Visit visit) {
  const std::size_t rank = layout.shape.size();
  for (const std::int64_t extent : layout.shape) {
    if (extent == 0) return;
  }
  if (rank == 0) {
    visit(layout.offset, std::int64_t{1}, std::int64_t{1});
    return;
  }
  const std::int64_t row = layout.shape[rank - 1];
  const std::int64_t step = layout.strides[rank - 1];
  std::vector<std::int64_t> at(rank, 0);
  while (true) {
    std::int64_t index = layout.offset;
    for (std::size_t d = 0; d + 1 < rank; ++d) index += at[d] * layout.strides[d];
    visit(index, step, row);
    std::size_t d = rank - 1;
    while (d > 0 && ++at[d - 1] == layout.shape[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

// Calls visit(storage_index) for every logical element, last dimension fastest.
template <typename Visit>
void for_each_element(const TensorLayout& layout, Visit visit) {
  for_each_row(layout, [&](std::int64_t index, std::int64_t step, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) visit(index + i * step);
  });
}

}  // namespace plumbline
