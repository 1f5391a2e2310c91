// SPDX-License-Identifier: MIT
// CUTLASS 3.x, bf16 on sm_90a, KernelTmaWarpSpecializedPingpong: two warpgroups take turns at
// tiles.
#include "collective_3x.h"

using Gemm = typename Collective<
    cutlass::bfloat16_t, cutlass::bfloat16_t, cute::Shape<cute::_64, cute::_128, cute::_64>,
    cutlass::gemm::KernelTmaWarpSpecializedPingpong, cutlass::epilogue::TmaWarpSpecialized>::Gemm;

COLLECTIVE_ENTRY(Gemm)
