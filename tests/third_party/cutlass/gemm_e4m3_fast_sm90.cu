// SPDX-License-Identifier: MIT
// CUTLASS 3.x, e4m3 on sm_90a, KernelTmaWarpSpecializedFP8FastAccum: one accumulator of the unit
// for all of k.
#include "collective_3x.h"

using Gemm = typename Collective<cutlass::float_e4m3_t, cutlass::bfloat16_t,
                                 cute::Shape<cute::_64, cute::_128, cute::_128>,
                                 cutlass::gemm::KernelTmaWarpSpecializedFP8FastAccum,
                                 cutlass::epilogue::TmaWarpSpecialized>::Gemm;

COLLECTIVE_ENTRY(Gemm)
