// SPDX-License-Identifier: MIT
// gemm_fp8_splitk_atomic: D = relu(alpha * (scale_a * scale_b * A * B) + beta * C + bias) over e4m3
// and e5m2 operands, with k cut into parts that are added atomically, in any order. Scales are per
// tensor, or per row of A and column of B, and belong to the epilogue. Three launches: zeros,
// parts, epilogue. Needs sm_89.
#include "device/gemm_epilogue.cuh"
#include "device/split_k_atomic.cuh"

using namespace device;

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_fp8_splitk_atomic_zero(float* workspace, long long count) {
  fill_zeros(workspace, count);
}

// Second launch: gemm_fp8_splitk_atomic_<a>_<b>. The layout is chosen at run time: the main loop
// transposes bytes where they do not lie along k.
#define PART(a_name, A, b_name, B)                                                               \
  extern "C" __global__ void __launch_bounds__(kThreads)                                         \
      gemm_fp8_splitk_atomic_##a_name##_##b_name(const void* a, const void* b, float* workspace, \
                                                 int m, int n, int k, int splits, long long lda, \
                                                 long long ldb, int a_along_k, int b_along_k) {  \
    add_part(Operand<A>(a, lda, m, a_along_k), Operand<B>(b, ldb, n, b_along_k), workspace, k,   \
             splits);                                                                            \
  }

PART(e4m3, E4m3, e4m3, E4m3)
PART(e4m3, E4m3, e5m2, E5m2)
PART(e5m2, E5m2, e4m3, E4m3)
PART(e5m2, E5m2, e5m2, E5m2)

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_fp8_splitk_atomic_finish(const float* workspace, const float* scale_a,
                                  const float* scale_b, const void* c, const float* bias, void* d,
                                  int m, int n, long long ldc, long long ldd, float alpha,
                                  float beta, int scale_a_kind, int scale_b_kind, int bias_kind,
                                  int relu, int out) {
  const Place place = BlockTile(m).place(m, n);
  Fragments<float> x = {};
  load_partial(x, workspace, n, place);
  const GemmEpilogue epilogue{{scale_a_kind, scale_a},
                              {scale_b_kind, scale_b},
                              alpha,
                              beta,
                              c,
                              ldc,
                              {bias_kind, bias},
                              relu,
                              d,
                              ldd,
                              out};
  epilogue.finish(x, place);
}
