// SPDX-License-Identifier: MIT
// vLLM's quantization of bf16 rows, each by its own largest magnitude, to e4m3 and to s8.
#include "quantization/compressed_tensors/int8_quant_kernels.cu"
#include "quantization/fp8/common.cu"

template __global__ void
vllm::dynamic_per_token_scaled_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn>(
    c10::Float8_e4m3fn*, float*, const c10::BFloat16*, const float*, const int);

template __global__ void vllm::dynamic_scaled_int8_quant_kernel<c10::BFloat16, float>(
    const c10::BFloat16*, int8_t*, float*, const int);
