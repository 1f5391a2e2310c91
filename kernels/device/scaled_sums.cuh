// SPDX-License-Identifier: MIT
// Sums under block scales: the tensor core adds up one block of k in a fresh accumulator p, which
// then joins an f32 sum as sum = fma(p, scale_a * scale_b, sum). The product of the two scales is
// rounded once; nothing else rounds outside the tensor core but the fma.
#pragma once

#include "device/sums.cuh"

namespace device {

// `Scales` gives the scales of a block for a lane's rows and columns: row(i, block) for row 8 * i,
// column(j, v, block) for column 8 * j + v, both counted from the lane's first. `kSlices`: slices
// of k (32 bytes) in a block.
template <typename A, typename B, int kSlices, typename Scales>
struct ScaledSums {
  Fragments<float> x = {};

  __device__ __forceinline__ ScaledSums(const Scales& scales, int k)
      : scales_(scales), slices_(static_cast<int>(tiles(k, kTileKBytes / 2 / A::kBytes))) {}

  __device__ __forceinline__ void multiply(const Bits32 (&a)[4][4], const Bits32 (&b)[2][4],
                                           int slice) {
    if (slice >= slices_) return;
    multiply_slice<A, B>(block_, a, b);
    if ((slice + 1) % kSlices == 0 || slice + 1 == slices_) promote(slice / kSlices);
  }

 private:
  __device__ __forceinline__ void promote(int block) {
    float row[8], column[4][2];
#pragma unroll
    for (int i = 0; i < 8; ++i) row[i] = scales_.row(i, block);
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int v = 0; v < 2; ++v) column[j][v] = scales_.column(j, v, block);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          const float scale = __fmul_rn(row[2 * i + v / 2], column[j][v % 2]);
          x[i][j][v] = __fmaf_rn(block_[i][j][v], scale, x[i][j][v]);
          block_[i][j][v] = 0.0f;
        }
  }

  Fragments<float> block_ = {};
  Scales scales_;
  int slices_;
};

}  // namespace device
