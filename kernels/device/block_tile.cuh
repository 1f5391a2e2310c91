// SPDX-License-Identifier: MIT
// Which tile of D a thread block works on, where the grid has one block for each tile in x, down
// the columns of D.
#pragma once

#include "device/epilogue.cuh"
#include "device/tile.cuh"

namespace device {

struct BlockTile {
  int first_row, first_column;

  // `m`: rows of D.
  __device__ __forceinline__ explicit BlockTile(int m)
      : first_row(static_cast<int>(blockIdx.x % tiles(m, kTileM)) * kTileM),
        first_column(static_cast<int>(blockIdx.x / tiles(m, kTileM)) * kTileN) {}

  // Where the values of this lane lie in D [m, n].
  __device__ __forceinline__ Place place(int m, int n) const {
    return Place(first_row, first_column, m, n);
  }
};

}  // namespace device
