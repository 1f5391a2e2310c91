// SPDX-License-Identifier: MIT
// DeepGEMM's BF16 GEMM for Hopper: tiles of 128x192, as its heuristics
// choose for m=128 n=24576 k=1536, in every layout.
// 4 blocks share all tiles. Multicast needs a cluster, so there is none.
#include <deep_gemm/impls/sm90_bf16_gemm.cuh>

using namespace deep_gemm;
using cute::UMMA::Major;

// Along which dimension A and B are contiguous; sizes are given at run time; no groups; BLOCK_M,
// BLOCK_N, BLOCK_K; swizzles of A, B and D; stages, threads that copy and that compute; no
// multicast; blocks; no accumulation.
#define INSTANTIATE(kMajorA, kMajorB)                                                      \
  template __global__ void deep_gemm::sm90_bf16_gemm_impl<                                 \
      kMajorA, kMajorB, 0, 0, 0, 1, 128, 192, 64, 128, 128, 128, 4, 128, 256, 1, false, 4, \
      GemmType::Normal, false, cutlass::bfloat16_t>(                                       \
      int*, uint32_t, uint32_t, uint32_t, const __grid_constant__ cute::TmaDescriptor,     \
      const __grid_constant__ cute::TmaDescriptor, const __grid_constant__ cute::TmaDescriptor);

INSTANTIATE(Major::K, Major::MN)
INSTANTIATE(Major::K, Major::K)
INSTANTIATE(Major::MN, Major::MN)
INSTANTIATE(Major::MN, Major::K)
