// SPDX-License-Identifier: MIT
// DeepGEMM's grouped BF16 GEMM for Hopper ("m-grouped contiguous"): the rows of A belong to groups,
// and no tile of 128 rows has rows of two. 4 blocks share all tiles. Multicast needs a cluster, so
// there is none.
#include <deep_gemm/impls/sm90_bf16_gemm.cuh>

using namespace deep_gemm;
using cute::UMMA::Major;

// It wants the group of every row, which its callers have from the router.
extern "C" __global__ void group_of_each_row(const int* sizes, int* group_of, int groups) {
  int row = 0;
  for (int group = 0; group < groups; ++group)
    for (const int end = row + sizes[group]; row < end; ++row)
      if (row % blockDim.x == threadIdx.x) group_of[row] = group;
}

// A is contiguous along k, B as given; sizes are given at run time; groups are not counted;
// BLOCK_M, BLOCK_N, BLOCK_K; swizzles of A, B and D; stages, threads that copy and that compute; no
// multicast; blocks; no accumulation.
#define INSTANTIATE(kMajorB)                                                                \
  template __global__ void deep_gemm::sm90_bf16_gemm_impl<                                  \
      Major::K, kMajorB, 0, 0, 0, 1, 128, 192, 64, 128, 128, 128, 4, 128, 256, 1, false, 4, \
      GemmType::MGroupedContiguous, false, cutlass::bfloat16_t>(                            \
      int*, uint32_t, uint32_t, uint32_t, const __grid_constant__ cute::TmaDescriptor,      \
      const __grid_constant__ cute::TmaDescriptor, const __grid_constant__ cute::TmaDescriptor);

INSTANTIATE(Major::MN)
INSTANTIATE(Major::K)
