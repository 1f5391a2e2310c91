// SPDX-License-Identifier: MIT
// CUTLASS 3.x, e4m3 on sm_90a, KernelTmaWarpSpecialized: the unit's accumulator is added to one in
// f32 every 128 of k.
#include "collective_3x.h"

using Gemm = typename Collective<
    cutlass::float_e4m3_t, cutlass::bfloat16_t, cute::Shape<cute::_64, cute::_128, cute::_128>,
    cutlass::gemm::KernelTmaWarpSpecialized, cutlass::epilogue::TmaWarpSpecialized>::Gemm;

COLLECTIVE_ENTRY(Gemm)
