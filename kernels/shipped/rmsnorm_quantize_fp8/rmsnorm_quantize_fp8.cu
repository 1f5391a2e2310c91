// SPDX-License-Identifier: MIT
// rmsnorm_quantize_fp8: Q = Y / scale as e4m3, where Y = X * rstd * gamma with rstd = rsqrt(mean of
// X^2 + eps), and scale = max(amax / 448, 2^-126) for each row of Y, 1 for a row of zeros. A block
// of threads a row, which is read three times; Y is never stored.
#include "device/row_sums.cuh"
#include "device/rows/codes.cuh"

namespace rows {

// A row of Y.
struct Normalized {
  const Bf16 *x, *gamma;
  float rstd;

  __device__ __forceinline__ Values load(Columns columns) const {
    Values values = rows::load(x, columns);
    const Values weight = rows::load(gamma, columns);
    for_each_of(columns, [&](int j) {
      values.at[j] = __fmul_rn(__fmul_rn(values.at[j], rstd), weight.at[j]);
    });
    return values;
  }
};

__device__ __forceinline__ void rmsnorm_quantize(Source x, const Bf16* gamma, Target<Code> q,
                                                 float* scale_of_row, long long m, int n,
                                                 float eps) {
  const Source weights{gamma, kVector};
  const bool aligned = x.aligned() && q.aligned() && weights.aligned();
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16* from = x.row(i);
    float squares = 0;
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values in = load(from, columns);
      for_each_of(columns, [&](int j) { squares = fmaf(in.at[j], in.at[j], squares); });
    });
    const Normalized y{from, gamma, rsqrt_approx(__fadd_rn(block_mean(squares, n), eps))};

    float largest = 0;
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values values = y.load(columns);
      for_each_of(columns, [&](int j) { largest = MaxOrNan()(largest, fabsf(values.at[j])); });
    });
    const float scale = scale_of(joined(largest, MaxOrNan()));
    if (threadIdx.x == 0) scale_of_row[i] = scale;

    Code* to = q.row(i);
    for_each_columns(n, aligned, [&](Columns columns) {
      Values values = y.load(columns);
      for_each_of(columns, [&](int j) { values.at[j] = __fdiv_rn(values.at[j], scale); });
      store_codes(to, columns, values);
    });
  }
}

}  // namespace rows

extern "C" __global__ void __launch_bounds__(rows::kThreads)
    rmsnorm_quantize_fp8(const rows::Bf16* x, const rows::Bf16* gamma, rows::Code* q, float* scale,
                         long long m, int n, long long ldx, long long ldq, float eps) {
  rows::rmsnorm_quantize({x, ldx}, gamma, {q, ldq}, scale, m, n, eps);
}
