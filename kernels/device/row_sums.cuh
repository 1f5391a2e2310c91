// SPDX-License-Identifier: MIT
// Sums and maxima over one block of threads, joined in pairs: within warps, then of the four warps.
// All threads get the result, and all must call.
#pragma once

#include "device/row_columns.cuh"

namespace rows {

struct Add {
  __device__ __forceinline__ float operator()(float a, float b) const { return __fadd_rn(a, b); }
};

struct Max {  // passes NaN over

  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <typename Join>
__device__ __forceinline__ float joined(float x, Join join) {
  static_assert(kWarps == 4);
  __shared__ float of_warps[kWarps];
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    x = join(x, __shfl_xor_sync(0xffffffffu, x, distance));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = join(join(of_warps[0], of_warps[1]), join(of_warps[2], of_warps[3]));
  __syncthreads();  // a second call may overwrite them
  return x;
}

__device__ __forceinline__ float block_sum(float x) { return joined(x, Add()); }

__device__ __forceinline__ float block_max(float x) { return joined(x, Max()); }

// The mean of n values whose sums of threads are given.
__device__ __forceinline__ float block_mean(float x, int n) {
  return __fdiv_rn(block_sum(x), static_cast<float>(n));
}

__device__ __forceinline__ float rsqrt_approx(float x) {
  float y;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace rows
