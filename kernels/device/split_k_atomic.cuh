// SPDX-License-Identifier: MIT
// Split K with atomic additions to one f32 matrix [m, n]: the least memory and no waiting, but the
// parts meet in any order, so that sums of more than two parts may differ from run to run. Three
// launches: zeros, parts, epilogue.
//
// A device may replace subnormal values by zero when it adds f32 atomically in global memory (the
// PTX manual says it does): each addition may lose up to 2^-126 besides its rounding.
#pragma once

#include "device/split_k.cuh"

namespace device {

// First launch, any number of blocks.
__device__ __forceinline__ void fill_zeros(float* workspace, long long count) {
  const long long threads = static_cast<long long>(gridDim.x) * kThreads;
  for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += threads)
    workspace[i] = 0.0f;
}

// Second launch, a thread block for each tile and part.
template <typename A, typename B>
__device__ __forceinline__ void add_part(const Operand<A>& a, const Operand<B>& b, float* workspace,
                                         int k, int splits) {
  const BlockTile tile(a.extent);
  const SplitK<A> split(k, splits);
  if (split.empty()) return;
  Sums<A, B> sums;
  sum_part(sums, a, b, tile, split);
  with_partial(sums.x, workspace, b.extent, tile.place(a.extent, b.extent),
               [](float& value, float& sum) { atomicAdd(&sum, value); });
}

}  // namespace device
