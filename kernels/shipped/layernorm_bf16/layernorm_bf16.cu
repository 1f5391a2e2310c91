// SPDX-License-Identifier: MIT
// layernorm_bf16: Y = (X - mean) * rstd * gamma + beta with rstd = 1 / sqrt(mean of (X - mean)^2 +
// eps), one block of threads a row. The variance takes a pass of its own: the mean of squares less
// the square of the mean would lose everything where the mean is large.
#include "device/row_sums.cuh"

namespace rows {

template <typename Element>
__device__ __forceinline__ void layernorm(Source x, const Bf16* gamma, const Bf16* beta,
                                          Target<Element> y, float* mean_of, float* rstd_of,
                                          long long m, int n, float eps) {
  const Source weights{gamma, kVector}, offsets{beta, kVector};
  const bool aligned = x.aligned() && y.aligned() && weights.aligned() && offsets.aligned();
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16* from = x.row(i);
    float sum = 0;
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values in = load(from, columns);
      for_each_of(columns, [&](int j) { sum = __fadd_rn(sum, in.at[j]); });
    });
    const float mean = block_mean(sum, n);

    float squares = 0;
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values in = load(from, columns);
      for_each_of(columns, [&](int j) {
        const float centered = __fsub_rn(in.at[j], mean);
        squares = fmaf(centered, centered, squares);
      });
    });
    const float rstd = __frcp_rn(__fsqrt_rn(__fadd_rn(block_mean(squares, n), eps)));
    if (threadIdx.x == 0) {
      mean_of[i] = mean;
      rstd_of[i] = rstd;
    }

    Element* to = y.row(i);
    for_each_columns(n, aligned, [&](Columns columns) {
      Values values = load(from, columns);
      const Values weight = load(gamma, columns), offset = load(beta, columns);
      for_each_of(columns, [&](int j) {
        const float normal = __fmul_rn(__fsub_rn(values.at[j], mean), rstd);
        values.at[j] = fmaf(normal, weight.at[j], offset.at[j]);
      });
      store(to, columns, values);
    });
  }
}

}  // namespace rows

#define LAYERNORM_ENTRY(name, Element)                                                         \
  extern "C" __global__ void __launch_bounds__(rows::kThreads) name(                           \
      const rows::Bf16* x, const rows::Bf16* gamma, const rows::Bf16* beta, Element* y,        \
      float* mean, float* rstd, long long m, int n, long long ldx, long long ldy, float eps) { \
    rows::layernorm<Element>({x, ldx}, gamma, beta, {y, ldy}, mean, rstd, m, n, eps);          \
  }

LAYERNORM_ENTRY(layernorm_bf16_bf16, rows::Bf16)
LAYERNORM_ENTRY(layernorm_bf16_f32, float)
