// SPDX-License-Identifier: MIT
// FlashInfer's RMSNorm of bf16 rows, for the widths of loads that its host code chooses between.
#include <flashinfer/norm.cuh>

#define RMSNORM(elements)                                                             \
  template __global__ void flashinfer::norm::RMSNormKernel<elements, __nv_bfloat16>(  \
      __nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, const uint32_t, const uint32_t, \
      const uint32_t, float, float);

RMSNORM(8)
RMSNORM(4)
RMSNORM(2)
RMSNORM(1)
