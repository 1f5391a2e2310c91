// SPDX-License-Identifier: MIT
// A warpgroup's sums to D in bf16 by way of shared memory: each warp writes its 16 rows there, and
// one of its lanes has them copied to D in bulk. No lane waits for the copy before the warp has its
// next tile.
//
//     64 columns       64 columns
//   +----------------+----------------+    a box each: 16 rows of 128 bytes, whose chunks of 16
//   | 16 rows        | 16 rows        |    bytes are XOR-swizzled, so that the 8 rows that lanes
//   +----------------+----------------+    write at once lie in different banks
#pragma once

#include "device/bulk_copy.cuh"
#include "device/warpgroup.cuh"

namespace device {

class StagedStore {
 public:
  static constexpr int kBoxColumns = 64;
  static constexpr Bits32 kBoxBytes = 16 * 128;
  static constexpr Bits32 kWarpBytes = 2 * kBoxBytes;

  // `shared`: kWarpBytes for each warp, aligned to 1024.
  __device__ __forceinline__ StagedStore(Bits32 shared, int thread)
      : first_(shared + thread / 32 * kWarpBytes),
        warp_row_(thread / 32 * 16),
        lane_(thread % 32) {}

  // The tile whose first row and column of D are given; all lanes of the warp call.
  __device__ __forceinline__ void store(const WarpgroupSums& x, const TensorMap& d, int row,
                                        int column, int matrix) const {
    finish();  // the last tile has left shared memory
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      const Bits32 chunk = first_ + j / 8 * kBoxBytes + lane_ / 4 * 128 + lane_ % 4 * 4 +
                           ((j % 8) ^ (lane_ / 4)) * 16;
#pragma unroll
      for (int v = 0; v < 4; v += 2) {
        Bits32 pair;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x[0][j][v + 1]), "f"(x[0][j][v]));
        store_shared(chunk + v / 2 * 8 * 128, pair);
      }
    }
    fence_before_bulk_store();
    __syncwarp();
    if (lane_ == 0) {
      store_box(d, first_, column, row + warp_row_, matrix);
      store_box(d, first_ + kBoxBytes, column + kBoxColumns, row + warp_row_, matrix);
      bulk_commit();
    }
  }

  // Before shared memory is given to anything else, or back.
  __device__ __forceinline__ void finish() const {
    if (lane_ == 0) bulk_wait_read();
  }

 private:
  Bits32 first_;
  int warp_row_, lane_;
};

}  // namespace device
