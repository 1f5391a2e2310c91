// SPDX-License-Identifier: MIT
// gemm_nvfp4: D = alpha * A * B with NVFP4 operands: e2m1, two in a byte, and a ue4m3 scale per 16
// of k, which mma.sync of sm_120 applies itself; `alpha` is the product of the two f32 scales per
// tensor. Any M and N, even K. device/block_scaled_sums.cuh shows how.
#include "device/block_scaled_gemm.cuh"

PLUMBLINE_BLOCK_SCALED_ENTRY(gemm_nvfp4, NvFp4, E2m1x2, E2m1x2)
