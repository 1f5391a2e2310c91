// SPDX-License-Identifier: MIT
// rmsnorm_bf16: Y = X * rstd * gamma with rstd = rsqrt(mean of X^2 + eps), one block of threads a
// row.
#include "device/row_sums.cuh"

namespace rows {

template <typename Element>
__device__ __forceinline__ void rmsnorm(Source x, const Bf16* gamma, Target<Element> y,
                                        float* rstd_of, long long m, int n, float eps) {
  const Source weights{gamma, kVector};
  const bool aligned = x.aligned() && y.aligned() && weights.aligned();
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16* from = x.row(i);
    float squares = 0;
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values in = load(from, columns);
      for_each_of(columns, [&](int j) { squares = fmaf(in.at[j], in.at[j], squares); });
    });
    const float rstd = rsqrt_approx(__fadd_rn(block_mean(squares, n), eps));
    if (threadIdx.x == 0) rstd_of[i] = rstd;

    Element* to = y.row(i);
    for_each_columns(n, aligned, [&](Columns columns) {
      Values values = load(from, columns);
      const Values weight = load(gamma, columns);
      for_each_of(columns, [&](int j) {
        values.at[j] = __fmul_rn(__fmul_rn(values.at[j], rstd), weight.at[j]);
      });
      store(to, columns, values);
    });
  }
}

}  // namespace rows

#define RMSNORM_ENTRY(name, Element)                                                           \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                                 \
      name(const rows::Bf16* x, const rows::Bf16* gamma, Element* y, float* rstd, long long m, \
           int n, long long ldx, long long ldy, float eps) {                                   \
    rows::rmsnorm<Element>({x, ldx}, gamma, {y, ldy}, rstd, m, n, eps);                        \
  }

RMSNORM_ENTRY(rmsnorm_bf16_bf16, rows::Bf16)
RMSNORM_ENTRY(rmsnorm_bf16_f32, float)
