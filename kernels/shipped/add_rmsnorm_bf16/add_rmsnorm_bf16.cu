// SPDX-License-Identifier: MIT
// add_rmsnorm_bf16: residual = bf16(X + residual) in place, and Y = residual * rstd * gamma with
// rstd = rsqrt(mean of residual^2 + eps), one block of threads a row. A thread reads the columns
// again that it wrote itself.
#include "device/row_sums.cuh"

namespace rows {

template <typename Element>
__device__ __forceinline__ void add_rmsnorm(Source x, Target<Bf16> residual, const Bf16* gamma,
                                            Target<Element> y, long long m, int n, float eps) {
  const Source weights{gamma, kVector};
  const bool aligned = x.aligned() && residual.aligned() && y.aligned() && weights.aligned();
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16* from = x.row(i);
    Bf16* stream = residual.row(i);
    float squares = 0;
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values in = load(from, columns);
      Values sums = load(stream, columns);
      for_each_of(columns, [&](int j) {
        sums.at[j] = as_f32(as_bf16(__fadd_rn(in.at[j], sums.at[j])));
        squares = fmaf(sums.at[j], sums.at[j], squares);
      });
      store(stream, columns, sums);
    });
    const float rstd = rsqrt_approx(__fadd_rn(block_mean(squares, n), eps));

    Element* to = y.row(i);
    for_each_columns(n, aligned, [&](Columns columns) {
      Values values = load(stream, columns);
      const Values weight = load(gamma, columns);
      for_each_of(columns, [&](int j) {
        values.at[j] = __fmul_rn(__fmul_rn(values.at[j], rstd), weight.at[j]);
      });
      store(to, columns, values);
    });
  }
}

}  // namespace rows

#define ADD_RMSNORM_ENTRY(name, Element)                                                   \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                             \
      name(const rows::Bf16* x, rows::Bf16* residual, const rows::Bf16* gamma, Element* y, \
           long long m, int n, long long ldx, long long ldr, long long ldy, float eps) {   \
    rows::add_rmsnorm<Element>({x, ldx}, {residual, ldr}, gamma, {y, ldy}, m, n, eps);     \
  }

ADD_RMSNORM_ENTRY(add_rmsnorm_bf16_bf16, rows::Bf16)
ADD_RMSNORM_ENTRY(add_rmsnorm_bf16_f32, float)
