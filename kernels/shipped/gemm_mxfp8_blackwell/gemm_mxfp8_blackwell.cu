// SPDX-License-Identifier: MIT
// gemm_mxfp8_blackwell: D = alpha * A * B with MXFP8 operands: e4m3 or e5m2 in every pair, and a
// power of two (ue8m0) per 32 of k, which mma.sync of sm_120 applies itself. Any M, N and K.
// device/block_scaled_sums.cuh shows how; gemm_mxfp8 is the same for chips without such scales.
#include "device/block_scaled_gemm.cuh"

PLUMBLINE_BLOCK_SCALED_ENTRY(gemm_mxfp8_blackwell_e4m3_e4m3, MxE4m3E4m3, E4m3, E4m3)
PLUMBLINE_BLOCK_SCALED_ENTRY(gemm_mxfp8_blackwell_e4m3_e5m2, MxE4m3E5m2, E4m3, E5m2)
PLUMBLINE_BLOCK_SCALED_ENTRY(gemm_mxfp8_blackwell_e5m2_e4m3, MxE5m2E4m3, E5m2, E4m3)
PLUMBLINE_BLOCK_SCALED_ENTRY(gemm_mxfp8_blackwell_e5m2_e5m2, MxE5m2E5m2, E5m2, E5m2)
