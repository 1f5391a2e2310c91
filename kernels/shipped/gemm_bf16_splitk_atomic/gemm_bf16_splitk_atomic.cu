// SPDX-License-Identifier: MIT
// gemm_bf16_splitk_atomic: D = relu(alpha * A * B + beta * C + bias) with k cut into parts that are
// added atomically, in any order. Three launches: zeros, parts, epilogue.
#include "device/gemm_epilogue.cuh"
#include "device/split_k_atomic.cuh"

using namespace device;

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_bf16_splitk_atomic_zero(float* workspace, long long count) {
  fill_zeros(workspace, count);
}

// Second launch: gemm_bf16_splitk_atomic_<layout>.
#define PART(layout, a_along_k, b_along_k)                                                        \
  extern "C" __global__ void __launch_bounds__(kThreads)                                          \
      gemm_bf16_splitk_atomic_##layout(const void* a, const void* b, float* workspace, int m,     \
                                       int n, int k, int splits, long long lda, long long ldb) {  \
    add_part(Operand<Bf16>(a, lda, m, a_along_k), Operand<Bf16>(b, ldb, n, b_along_k), workspace, \
             k, splits);                                                                          \
  }

PART(nn, true, false)
PART(nt, true, true)
PART(tn, false, false)
PART(tt, false, true)

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_bf16_splitk_atomic_finish(const float* workspace, const void* c, const float* bias,
                                   void* d, int m, int n, long long ldc, long long ldd, float alpha,
                                   float beta, int bias_kind, int relu, int out) {
  const Place place = BlockTile(m).place(m, n);
  Fragments<float> x = {};
  load_partial(x, workspace, n, place);
  const GemmEpilogue epilogue{{}, {}, alpha, beta, c, ldc, {bias_kind, bias}, relu, d, ldd, out};
  epilogue.finish(x, place);
}
