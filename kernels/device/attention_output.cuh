// SPDX-License-Identifier: MIT
// Strips of attention's results to global memory.
#pragma once

#include "device/attention_products.cuh"
#include "device/output_formats.cuh"

namespace device {

// The lane's values of its row i, of which the matrix has `width` columns; `offset` elements from
// the start of the matrix, which need not be aligned to pairs.
template <typename Out, int kWidth>
__device__ __forceinline__ void store_row(const Strip<kWidth>& x, int i, void* matrix,
                                          long long offset, int width) {
  using Stored = typename Out::Stored;
  Stored* const row = static_cast<Stored*>(matrix) + offset + static_cast<int>(threadIdx.x) % 4 * 2;
  const bool pairs = reinterpret_cast<Address>(row) % (2 * sizeof(Stored)) == 0;
#pragma unroll
  for (int j = 0; j < kWidth / 8; ++j) {
    if (8 * j >= width) break;
    const float x0 = x[j][2 * i], x1 = x[j][2 * i + 1];
    if (pairs) {
      Out::store_pair(row + 8 * j, x0, x1);
    } else {
      Out::store(row + 8 * j, x0);
      Out::store(row + 8 * j + 1, x1);
    }
  }
}

// The same in the format chosen at run time: a kCode of bf16 or f32.
template <int kWidth>
__device__ __forceinline__ void store_row_as(int out, const Strip<kWidth>& x, int i, void* matrix,
                                             long long offset, int width) {
  if (out == OutBf16::kCode) {
    store_row<OutBf16, kWidth>(x, i, matrix, offset, width);
  } else {
    store_row<OutF32, kWidth>(x, i, matrix, offset, width);
  }
}

}  // namespace device
