// SPDX-License-Identifier: MIT
// llm.c's kernels of GPT-2 in bf16: encoder, LayerNorm and residuals, GELU, and the classifier.
#include <cuda_runtime.h>
#define cudaMemAdvise(...) cudaSuccess  // of CUDA before 13; no host code runs

#include "llmc/encoder.cuh"
#include "llmc/fused_classifier.cuh"
#include "llmc/gelu.cuh"
#include "llmc/layernorm.cuh"

template __global__ void fused_classifier_kernel5<true, false>(floatX*, float*, floatX*,
                                                               const float, const int*, int, int,
                                                               int, int, std::bool_constant<true>);
