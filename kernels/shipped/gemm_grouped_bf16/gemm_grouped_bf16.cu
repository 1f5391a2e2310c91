// SPDX-License-Identifier: MIT
// gemm_grouped_bf16: D = A * B[group of the row]. Rows of A are sorted by group; the sizes of the
// groups are data on the device, and any of them may be 0.
#include "device/grouped.cuh"

using namespace device;

// Entry points gemm_grouped_bf16_<layout>: how every B is stored, [k, n] or [n, k].
#define GROUPED(layout, b_along_k, ldb)                                                         \
  extern "C" __global__ void __launch_bounds__(kThreads)                                        \
      gemm_grouped_bf16_##layout(const void* a, const void* b, const int* group_sizes, void* d, \
                                 int m, int n, int k, int groups, int out) {                    \
    grouped_gemm(Operand<Bf16>(a, k, m, true), Operand<Bf16>(b, ldb, n, b_along_k),             \
                 static_cast<long long>(k) * n, group_sizes, groups, k, {}, nullptr, d, out);   \
  }

GROUPED(nn, false, n)
GROUPED(nt, true, k)
