// SPDX-License-Identifier: MIT
// vLLM's RMSNorm of bf16 rows and a residual: packed, and element by element.
#include "layernorm_kernels.cu"

#define FUSED_ADD_RMS_NORM(width)                                                 \
  template __global__ void vllm::fused_add_rms_norm_kernel<c10::BFloat16, width>( \
      c10::BFloat16*, c10::BFloat16*, const c10::BFloat16*, const float, const int, const int);

FUSED_ADD_RMS_NORM(8)
FUSED_ADD_RMS_NORM(0)
