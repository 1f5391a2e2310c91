// SPDX-License-Identifier: MIT
// Grouped GEMM: the rows of A fall into groups, one after the other, and each group has a B of its
// own. How many rows a group has is only known on the device, so the grid is sized for the worst
// case and every block finds its own work.
//
//   group_sizes   200  0  1  130    A group's rows are cut into tiles of 128 of its own: no tile
//   row tiles     0 1     2  3 4    straddles two groups. They are at most ceil(m / 128) + groups;
//                                   blocks beyond the last one have nothing to do.
#pragma once

#include "device/epilogue.cuh"
#include "device/main_loop.cuh"

namespace device {

// A row tile, and the group it belongs to.
struct GroupTile {
  int group;      // -1: there is no such tile
  int first_row;  // of the group, in A and D
  int rows;       // of the group
  int tile_row;   // first row of the tile, within the group
};

// The sum of `x` over this lane and those before it.
__device__ __forceinline__ int inclusive_sum(int x) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int before = __shfl_up_sync(0xffffffffu, x, distance);
    if (lane >= distance) x += before;
  }
  return x;
}

// Every warp looks for itself, 32 groups at a time.
__device__ __forceinline__ GroupTile find_group_tile(const int* group_sizes, int groups, int tile) {
  const int lane = threadIdx.x % 32;
  int rows_before = 0, tiles_before = 0;
  for (int first = 0; first < groups; first += 32) {
    const int size = first + lane < groups ? group_sizes[first + lane] : 0;
    const int rows = rows_before + inclusive_sum(size);
    const int count = static_cast<int>(tiles(size, kTileM));
    const int last_tile = tiles_before + inclusive_sum(count);  // one beyond this group's
    const unsigned later = __ballot_sync(0xffffffffu, last_tile > tile);
    if (later != 0) {
      const int found = __ffs(static_cast<int>(later)) - 1;
      const int found_size = __shfl_sync(0xffffffffu, size, found);
      const int found_rows = __shfl_sync(0xffffffffu, rows, found);
      const int first_tile = __shfl_sync(0xffffffffu, last_tile - count, found);
      return {first + found, found_rows - found_size, found_size, (tile - first_tile) * kTileM};
    }
    rows_before = __shfl_sync(0xffffffffu, rows, 31);
    tiles_before = __shfl_sync(0xffffffffu, last_tile, 31);
  }
  return {-1, 0, 0, 0};
}

// d = scale_a * scale_b[group] * (A * B[group]), a thread block for each row tile and column tile.
// `a`: all rows; `b`: the first group's B, its successors `b_elements` apart. scale_b is null
// without scales of B.
template <typename A, typename B>
__device__ __forceinline__ void grouped_gemm(const Operand<A>& a, const Operand<B>& b,
                                             long long b_elements, const int* group_sizes,
                                             int groups, int k, const Vector& scale_a,
                                             const float* scale_b, void* d, int out) {
  const unsigned row_tiles = tiles(a.extent, kTileM) + groups;
  const GroupTile tile =
      find_group_tile(group_sizes, groups, static_cast<int>(blockIdx.x % row_tiles));
  if (tile.group < 0) return;
  const int first_column = static_cast<int>(blockIdx.x / row_tiles) * kTileN;

  Sums<A, B> sums;
  accumulate(sums, a.slice(tile.first_row, tile.rows), b.at(tile.group * b_elements), tile.tile_row,
             first_column, k);

  // In D the group ends at its last row, not at that of the matrix.
  const Place place(tile.first_row + tile.tile_row, first_column, tile.first_row + tile.rows,
                    b.extent);
  scale(sums.x, scale_a, place);
  if (scale_b) scale(sums.x, {kPerTensor, scale_b + tile.group}, place);
  store_as<OutBf16, OutF32>(out, sums.x, d, 0, b.extent, place);
}

}  // namespace device
