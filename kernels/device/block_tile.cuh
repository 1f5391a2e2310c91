// SPDX-License-Identifier: MIT
// The tile of D this block computes, and where its results lie in D.
#pragma once

#include "device/epilogue.cuh"
#include "device/tile.cuh"

namespace device {

struct BlockTile : Tile {
  using Tile::Tile;

  // Where the values of this lane lie in D [m, n].
  __device__ __forceinline__ Place place(int m, int n) const {
    return Place(first_row, first_column, m, n);
  }
};

}  // namespace device
