// SPDX-License-Identifier: MIT
// DeepGEMM's FP8 GEMM for Hopper, scales per 1x128 of A and 128x128 of B: tiles of 128x128,
// as its heuristics choose (with multicast) for m=128 n=32768 k=512; a tile has one scale of B.
// 4 blocks share all tiles. Multicast needs a cluster, so there is none.
#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>

#include "scales.cuh"

using namespace deep_gemm;

// Sizes are given at run time; no groups; BLOCK_M, BLOCK_N, BLOCK_K; swizzles of A, B and D;
// stages, threads that copy and that compute; no multicast; blocks.
template __global__ void deep_gemm::sm90_fp8_gemm_1d2d_impl<
    cute::UMMA::Major::MN, 0, 0, 0, 1, 128, 128, 128, 128, 128, 128, 5, 128, 256, 1, false, 4,
    GemmType::Normal, cutlass::bfloat16_t, epilogue::transform::EpilogueIdentity>(
    float*, int*, uint32_t, uint32_t, uint32_t, const __grid_constant__ cute::TmaDescriptor,
    const __grid_constant__ cute::TmaDescriptor, const __grid_constant__ cute::TmaDescriptor,
    const __grid_constant__ cute::TmaDescriptor);
