// SPDX-License-Identifier: MIT
// linear_fp8_backward: dx = dy * w, dw = dy^T * x, db = column sums of dy, with dy in e5m2, x and w
// in e4m3 and one scale for each of them. dx and dw are stored as bf16 or f32, db as f32. One
// launch for each gradient. Needs sm_89.
#include "device/e5m2.cuh"
#include "device/linear_backward.cuh"

using namespace device;

extern "C" __global__ void __launch_bounds__(kThreads)
    linear_fp8_backward_dx(const void* dy, const void* w, const float* scale_dy,
                           const float* scale_w, void* dx, int m, int n, int k, int out) {
  Sums<E5m2, E4m3> sums;
  gradient(sums, rows_of_a<E5m2>(dy, m, n), rows_of_b<E4m3>(w, k), n, scale_dy, scale_w, dx, out);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    linear_fp8_backward_dw(const void* dy, const void* x, const float* scale_dy,
                           const float* scale_x, void* dw, int m, int n, int k, int out) {
  Sums<E5m2, E4m3> sums;
  gradient(sums, columns_of_a<E5m2>(dy, n), rows_of_b<E4m3>(x, k), m, scale_dy, scale_x, dw, out);
}

extern "C" __global__ void __launch_bounds__(column_sums::kThreads)
    linear_fp8_backward_db(const Bits8* dy, const float* scale_dy, float* db, int m, int n) {
  const float sum = column_sums::sum(
      m, n, [&](long long row, long long column) { return from_e5m2(dy[row * n + column]); });
  column_sums::store(db, n, __fmul_rn(sum, *scale_dy));
}
