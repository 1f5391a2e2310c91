// SPDX-License-Identifier: MIT
// FlashInfer's gated activations of bf16 rows, for the widths of loads that its host code chooses
// between. The activation is a parameter of its template: these are the usual ones.
#include <flashinfer/activation.cuh>

__device__ __forceinline__ float silu(const float& x) { return x / (1.0f + __expf(-x)); }

__device__ __forceinline__ float gelu_tanh(const float& x) {
  return x * (0.5f * (1.0f + tanhf(0.79788456080286535588f * (x + 0.044715f * x * x * x))));
}

#define ACT_AND_MUL(function, elements)                                          \
  template __global__ void                                                       \
  flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, function, elements>( \
      __nv_bfloat16*, const __nv_bfloat16*, const int);

ACT_AND_MUL(silu, 8)
ACT_AND_MUL(silu, 4)
ACT_AND_MUL(silu, 2)
ACT_AND_MUL(silu, 1)
ACT_AND_MUL(gelu_tanh, 8)
ACT_AND_MUL(gelu_tanh, 4)
ACT_AND_MUL(gelu_tanh, 2)
ACT_AND_MUL(gelu_tanh, 1)
