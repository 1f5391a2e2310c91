// SPDX-License-Identifier: MIT
// FlashInfer's RMSNorm of bf16 rows to e4m3 with a scale that is given, for the widths of loads
// that its host code chooses between.
#include <flashinfer/norm.cuh>

#define RMSNORM_QUANT(elements)                                                       \
  template __global__ void                                                            \
  flashinfer::norm::RMSNormQuantKernel<elements, __nv_bfloat16, __nv_fp8_e4m3>(       \
      __nv_bfloat16*, __nv_bfloat16*, __nv_fp8_e4m3*, const uint32_t, const uint32_t, \
      const uint32_t, float, float*, float);

RMSNORM_QUANT(8)
RMSNORM_QUANT(4)
RMSNORM_QUANT(2)
RMSNORM_QUANT(1)
