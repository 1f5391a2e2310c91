// SPDX-License-Identifier: MIT
// quantize_per_token_fp8: Q = X / scale as e4m3, with scale = max(amax / 448, 2^-126) for each row,
// 1 for a row of zeros; one block of threads a row. Needs sm_89 or later for the conversion.
#include "device/row_sums.cuh"
#include "device/rows/codes.cuh"

namespace rows {

__device__ __forceinline__ void quantize_per_token(Source x, Target<Code> q, float* scale_of_row,
                                                   long long m, int n) {
  const bool aligned = x.aligned() && q.aligned();
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16* from = x.row(i);
    float largest = 0;
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values in = load(from, columns);
      for_each_of(columns, [&](int j) { largest = MaxOrNan()(largest, fabsf(in.at[j])); });
    });
    const float scale = scale_of(joined(largest, MaxOrNan()));
    if (threadIdx.x == 0) scale_of_row[i] = scale;

    Code* to = q.row(i);
    for_each_columns(n, aligned, [&](Columns columns) {
      Values values = load(from, columns);
      for_each_of(columns, [&](int j) { values.at[j] = __fdiv_rn(values.at[j], scale); });
      store_codes(to, columns, values);
    });
  }
}

}  // namespace rows

extern "C" __global__ void __launch_bounds__(rows::kThreads)
    quantize_per_token_fp8(const rows::Bf16* x, rows::Code* q, float* scale, long long m, int n,
                           long long ldx, long long ldq) {
  rows::quantize_per_token({x, ldx}, {q, ldq}, scale, m, n);
}
