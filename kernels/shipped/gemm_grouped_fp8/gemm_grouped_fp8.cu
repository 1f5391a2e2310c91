// SPDX-License-Identifier: MIT
// gemm_grouped_fp8: D = scale_a * scale_b[group] * (A * B[group of the row]) over e4m3 and e5m2
// operands, with one scale for A or one per row, and one for every B. Rows of A are sorted by
// group; the sizes of the groups are data on the device, and any of them may be 0. Needs sm_89.
#include "device/grouped.cuh"

using namespace device;

// Entry points gemm_grouped_fp8_<a>_<b>. Whether every B is stored [k, n] or [n, k] is chosen at
// run time: the main loop transposes bytes where they do not lie along k.
#define GROUPED(a_name, A, b_name, B)                                                            \
  extern "C" __global__ void __launch_bounds__(kThreads) gemm_grouped_fp8_##a_name##_##b_name(   \
      const void* a, const void* b, const int* group_sizes, const float* scale_a,                \
      const float* scale_b, void* d, int m, int n, int k, int groups, int b_along_k,             \
      int scale_a_kind, int out) {                                                               \
    grouped_gemm(Operand<A>(a, k, m, true), Operand<B>(b, b_along_k ? k : n, n, b_along_k),      \
                 static_cast<long long>(k) * n, group_sizes, groups, k, {scale_a_kind, scale_a}, \
                 scale_b, d, out);                                                               \
  }

GROUPED(e4m3, E4m3, e4m3, E4m3)
GROUPED(e4m3, E4m3, e5m2, E5m2)
GROUPED(e5m2, E5m2, e4m3, E4m3)
GROUPED(e5m2, E5m2, e5m2, E5m2)
