// SPDX-License-Identifier: MIT
// Strips of attention's results to global memory.
#pragma once

#include "device/attention/products.cuh"
#include "device/output_formats.cuh"

namespace device {

// The lane's values of its row i, of which the matrix has `width` columns; `offset` elements from
// the start of the matrix, which need not be aligned to pairs.
template <typename Out, int kWidth, typename Element>
__device__ __forceinline__ void store_row(const Strip<kWidth>& x, int i, void* matrix,
                                          long long offset, int width) {
  using Stored = typename Out::Stored;
  using Lane = Neighbors<Element>;
  Stored* const row = static_cast<Stored*>(matrix) + offset + Lane::first_column();
  const bool pairs = reinterpret_cast<Address>(row) % (2 * sizeof(Stored)) == 0;
#pragma unroll
  for (int j = 0; j < kWidth / 8; ++j) {
    const int column = Lane::column(j);
    if (Lane::first_column() + column >= width) break;
    const float2 values = Lane::template pair<kWidth>(x, i, j);
    if (pairs) {
      Out::store_pair(row + column, values.x, values.y);
    } else {
      Out::store(row + column, values.x);
      Out::store(row + column + 1, values.y);
    }
  }
}

// The same in the format chosen at run time: a kCode of bf16 or f32, and of f16 where V is f16.
// Element: of the product that x comes from.
template <int kWidth, typename Element = Bf16>
__device__ __forceinline__ void store_row_as(int out, const Strip<kWidth>& x, int i, void* matrix,
                                             long long offset, int width) {
  if (out == OutBf16::kCode) {
    store_row<OutBf16, kWidth, Element>(x, i, matrix, offset, width);
  } else if (kIsF16<Element> && out == OutF16::kCode) {
    store_row<OutF16, kWidth, Element>(x, i, matrix, offset, width);
  } else {
    store_row<OutF32, kWidth, Element>(x, i, matrix, offset, width);
  }
}

}  // namespace device
