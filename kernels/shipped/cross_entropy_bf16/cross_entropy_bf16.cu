// SPDX-License-Identifier: MIT
// cross_entropy_bf16: lse = log(sum of e^x) of each row, and loss = (1 - smoothing) * (lse -
// x[target]) + smoothing * (lse - mean of x); one block of threads a row, which is read twice.
#include "device/row_sums.cuh"

namespace rows {

__device__ __forceinline__ void cross_entropy(Source x, const int* target, float* loss, float* lse,
                                              long long m, int v, float smoothing,
                                              long long ignore_index) {
  const bool aligned = x.aligned();
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16* from = x.row(i);
    float largest = -__int_as_float(0x7f800000);
    for_each_columns(v, aligned, [&](Columns columns) {
      const Values in = load(from, columns);
      for_each_of(columns, [&](int j) { largest = fmaxf(largest, in.at[j]); });
    });
    largest = block_max(largest);

    float powers = 0, total = 0;
    for_each_columns(v, aligned, [&](Columns columns) {
      const Values in = load(from, columns);
      for_each_of(columns, [&](int j) {
        powers = __fadd_rn(powers, __expf(__fsub_rn(in.at[j], largest)));
        total = __fadd_rn(total, in.at[j]);
      });
    });
    powers = block_sum(powers);
    const float mean = block_mean(total, v);
    if (threadIdx.x != 0) continue;

    const float all = __fadd_rn(largest, __logf(powers));
    lse[i] = all;
    if (target[i] == ignore_index) {
      loss[i] = 0;
      continue;
    }
    const float hit = __fsub_rn(all, as_f32(from[target[i]]));
    const float flat = __fsub_rn(all, mean);
    loss[i] = smoothing == 0 ? hit
                             : __fadd_rn(__fmul_rn(__fsub_rn(1.0f, smoothing), hit),
                                         __fmul_rn(smoothing, flat));
  }
}

}  // namespace rows

extern "C" __global__ void __launch_bounds__(rows::kThreads)
    cross_entropy_bf16(const rows::Bf16* x, const int* target, float* loss, float* lse, long long m,
                       int v, long long ldx, float smoothing, long long ignore_index) {
  rows::cross_entropy({x, ldx}, target, loss, lse, m, v, smoothing, ignore_index);
}
