// SPDX-License-Identifier: MIT
// CUTLASS 3.x, bf16 on sm_90a, KernelTmaWarpSpecialized: one warp copies, one warpgroup computes, a
// block for each tile.
#include "collective_3x.h"

using Gemm = typename Collective<
    cutlass::bfloat16_t, cutlass::bfloat16_t, cute::Shape<cute::_64, cute::_128, cute::_64>,
    cutlass::gemm::KernelTmaWarpSpecialized, cutlass::epilogue::TmaWarpSpecialized>::Gemm;

COLLECTIVE_ENTRY(Gemm)
