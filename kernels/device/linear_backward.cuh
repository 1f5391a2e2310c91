// SPDX-License-Identifier: MIT
// The gradients of a linear layer y = x * w^T + bias, given those of its output: with tokens m,
// output features n and input features k, all matrices row-major,
//
//   dx [m, k] = dy [m, n] * w [n, k]
//   dw [n, k] = dy^T [n, m] * x [m, k]
//   db [n]    = column sums of dy
//
// dx and dw are GEMMs with operands as they lie in memory; neither dy, x nor w is transposed or
// copied first.
#pragma once

#include "device/block_tile.cuh"
#include "device/column_sums.cuh"
#include "device/main_loop.cuh"

namespace device {

// A row-major matrix as the operand A of a product: itself, or transposed.
template <typename Format>
__device__ __forceinline__ Operand<Format> rows_of_a(const void* matrix, int rows, int columns) {
  return Operand<Format>(matrix, columns, rows, true);
}

template <typename Format>
__device__ __forceinline__ Operand<Format> columns_of_a(const void* matrix, int columns) {
  return Operand<Format>(matrix, columns, columns, false);
}

// A row-major matrix as the operand B: its rows count along the summed dimension.
template <typename Format>
__device__ __forceinline__ Operand<Format> rows_of_b(const void* matrix, int columns) {
  return Operand<Format>(matrix, columns, columns, false);
}

// d = scale_a * scale_b * A * B over `depth` of the summed dimension, a thread block for each tile
// of 128x128. A scale is null where there is none.
template <typename Sum, typename A, typename B>
__device__ __forceinline__ void gradient(Sum& sums, const A& a, const B& b, int depth,
                                         const float* scale_a, const float* scale_b, void* d,
                                         int out) {
  const BlockTile tile(a.extent);
  accumulate(sums, a, b, tile.first_row, tile.first_column, depth);
  const Place place = tile.place(a.extent, b.extent);
  if (scale_a) scale(sums.x, {kPerTensor, scale_a}, place);
  if (scale_b) scale(sums.x, {kPerTensor, scale_b}, place);
  store_as<OutBf16, OutF32>(out, sums.x, d, 0, b.extent, place);
}

}  // namespace device
