// SPDX-License-Identifier: MIT
// CUTLASS 3.x, bf16 on sm_90a, KernelTmaWarpSpecializedCooperative: two warpgroups share a tile of
// 128x128.
#include "collective_3x.h"

using Gemm = typename Collective<cutlass::bfloat16_t, cutlass::bfloat16_t,
                                 cute::Shape<cute::_128, cute::_128, cute::_64>,
                                 cutlass::gemm::KernelTmaWarpSpecializedCooperative,
                                 cutlass::epilogue::TmaWarpSpecializedCooperative>::Gemm;

COLLECTIVE_ENTRY(Gemm)
