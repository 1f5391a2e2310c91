// SPDX-License-Identifier: MIT
// linear_bf16_backward: dx = dy * w, dw = dy^T * x, db = column sums of dy, all in bf16 with f32
// sums; dx and dw are stored as bf16 or f32, db as f32. One launch for each gradient.
#include "device/linear_backward.cuh"

using namespace device;

extern "C" __global__ void __launch_bounds__(kThreads)
    linear_bf16_backward_dx(const void* dy, const void* w, void* dx, int m, int n, int k, int out) {
  Sums<Bf16, Bf16> sums;
  gradient(sums, rows_of_a<Bf16>(dy, m, n), rows_of_b<Bf16>(w, k), n, nullptr, nullptr, dx, out);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    linear_bf16_backward_dw(const void* dy, const void* x, void* dw, int m, int n, int k, int out) {
  Sums<Bf16, Bf16> sums;
  gradient(sums, columns_of_a<Bf16>(dy, n), rows_of_b<Bf16>(x, k), m, nullptr, nullptr, dw, out);
}

extern "C" __global__ void __launch_bounds__(column_sums::kThreads)
    linear_bf16_backward_db(const Bits16* dy, float* db, int m, int n) {
  column_sums::store(db, n, column_sums::sum(m, n, [&](long long row, long long column) {
                       return OutBf16::load(dy + row * n + column);
                     }));
}
