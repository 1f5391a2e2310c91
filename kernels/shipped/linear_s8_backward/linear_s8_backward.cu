// SPDX-License-Identifier: MIT
// linear_s8_backward: dx = dy * w, dw = dy^T * x, db = column sums of dy, with dy and x in bf16 and
// w in s8 with a scale per output feature. dx multiplies the weights as bf16(fl(w * scale)); dw and
// db do not need them. dx and dw are stored as bf16 or f32, db as f32. One launch for each
// gradient.
#include "device/linear_backward.cuh"
#include "device/weights/s8_as_bf16.cuh"

using namespace device;

extern "C" __global__ void __launch_bounds__(kThreads)
    linear_s8_backward_dx(const void* dy, const void* w, const float* scale_w, void* dx, int m,
                          int n, int k, int out) {
  Sums<Bf16, Bf16> sums;
  gradient(sums, rows_of_a<Bf16>(dy, m, n), Operand<S8AsBf16>(w, scale_w, k), n, nullptr, nullptr,
           dx, out);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    linear_s8_backward_dw(const void* dy, const void* x, void* dw, int m, int n, int k, int out) {
  Sums<Bf16, Bf16> sums;
  gradient(sums, columns_of_a<Bf16>(dy, n), rows_of_b<Bf16>(x, k), m, nullptr, nullptr, dw, out);
}

extern "C" __global__ void __launch_bounds__(column_sums::kThreads)
    linear_s8_backward_db(const Bits16* dy, float* db, int m, int n) {
  column_sums::store(db, n, column_sums::sum(m, n, [&](long long row, long long column) {
                       return OutBf16::load(dy + row * n + column);
                     }));
}
