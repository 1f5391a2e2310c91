// SPDX-License-Identifier: MIT
// gemm_mxfp4: D = alpha * A * B with MXFP4 operands: e2m1, two in a byte, and a power of two
// (ue8m0) per 32 of k, which mma.sync of sm_120 applies itself. Any M and N, even K.
// device/block_scaled_sums.cuh shows how.
#include "device/block_scaled_gemm.cuh"

PLUMBLINE_BLOCK_SCALED_ENTRY(gemm_mxfp4, MxFp4, E2m1x2, E2m1x2)
