// SPDX-License-Identifier: MIT
// FlashInfer's rotary position embedding of bf16 heads of 64, from a table of cosines and sines: a
// block of threads for a few tokens of each head.
#include <flashinfer/pos_enc.cuh>

#define ROPE(interleave)                                                                          \
  template __global__ void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheHeadParallelismKernel<  \
      interleave, 64, 8, 8, __nv_bfloat16, int32_t>(                                              \
      __nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, float*, int32_t*, uint32_t, \
      uint32_t, uint32_t, uint32_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t,       \
      size_t);

ROPE(false)
ROPE(true)
