// SPDX-License-Identifier: MIT
// How one thread block and its 8 warps divide a 128x128 tile of D, and how stages of A and B lie in
// shared memory. Each warp computes a 64x32 part, in steps of 64 bytes along k (32 elements of 2
// bytes, 64 of 1 byte):
//
//             n 0    32    64    96   128    Tiles of A and B pass through a ring of three 16 KiB
//        m 0  +-----+-----+-----+-----+      stages in shared memory: the stage two steps ahead is
//             | w0  | w2  | w4  | w6  |      filled while mma.sync reads the current one. Chunks of
//         64  +-----+-----+-----+-----+      16 bytes are XOR-swizzled so that neither cp.async nor
//             | w1  | w3  | w5  | w7  |      ldmatrix meets a bank conflict.
//        128  +-----+-----+-----+-----+
#pragma once

#include "device/instructions.cuh"

namespace device {

constexpr int kTileM = 128, kTileN = 128;
constexpr int kThreads = 256;
constexpr int kStages = 3;
constexpr int kTileKBytes = 64;                         // along k, of a row of A or a column of B
constexpr Bits32 kOperandBytes = kTileM * kTileKBytes;  // one operand's part of a stage
constexpr Bits32 kStageBytes = 2 * kOperandBytes;       // A, then B
constexpr int kChunkBytes = 16;  // the unit of cp.async, ldmatrix rows and swizzling

constexpr int kRowBytes = kTileKBytes;       // of a stage whose rows run along k: 4 chunks
constexpr int kAcrossRowBytes = 2 * kTileM;  // of a 2-byte stage whose rows run across k: 16 chunks

// The first byte of a chunk of 16 within an operand's part of a stage, rows along k.
__device__ __forceinline__ Bits32 swizzled(int row, int chunk) {
  return row * kRowBytes + (chunk ^ ((row >> 1) & 3)) * kChunkBytes;
}

// The same for rows across k: `row` counts k, chunks hold 8 neighbors along m or n.
__device__ __forceinline__ Bits32 swizzled_across(int row, int chunk) {
  return row * kAcrossRowBytes + (chunk ^ (row & 7)) * kChunkBytes;
}

// How many tiles (or blocks, or steps) cover an extent.
__device__ __forceinline__ unsigned tiles(int extent, int tile) {
  return (static_cast<unsigned>(extent) + tile - 1) / tile;
}

// The tile of D this block computes; the grid counts them down the columns first.
struct Tile {
  int first_row, first_column;

  // `m`: rows of D.
  __device__ __forceinline__ explicit Tile(int m) {
    const unsigned down = tiles(m, kTileM);
    first_row = static_cast<int>(blockIdx.x % down) * kTileM;
    first_column = static_cast<int>(blockIdx.x / down) * kTileN;
  }
};

// The 64 values a lane holds of its warp's part: x[i][j][v] belongs to row() + 16 * i + 8 * (v / 2)
// and column() + 8 * j + v % 2 of the tile.
template <typename T>
using Fragments = T[4][4][4];

struct WarpPart {
  int first_row, first_column;  // within the tile
  int lane;

  __device__ __forceinline__ explicit WarpPart(int thread)
      : first_row(thread / 32 % 2 * 64), first_column(thread / 32 / 2 * 32), lane(thread % 32) {}

  __device__ __forceinline__ int row() const { return first_row + lane / 4; }

  __device__ __forceinline__ int column() const { return first_column + lane % 4 * 2; }
};

}  // namespace device
