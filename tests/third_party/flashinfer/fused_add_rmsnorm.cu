// SPDX-License-Identifier: MIT
// FlashInfer's RMSNorm of bf16 rows and a residual, for the widths of loads that its host code
// chooses between.
#include <flashinfer/norm.cuh>

#define FUSED_ADD_RMSNORM(elements)                                                          \
  template __global__ void flashinfer::norm::FusedAddRMSNormKernel<elements, __nv_bfloat16>( \
      __nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, const uint32_t, const uint32_t,        \
      const uint32_t, float, float);

FUSED_ADD_RMSNORM(8)
FUSED_ADD_RMSNORM(4)
FUSED_ADD_RMSNORM(2)
FUSED_ADD_RMSNORM(1)
