// SPDX-License-Identifier: MIT
// softmax_bf16_backward: dX = scale * Y * (dY - sum of Y dY) row by row, one block of threads a
// row.
#include "device/row_sums.cuh"

namespace rows {

template <typename Element>
__device__ __forceinline__ void softmax_backward(Source y, Source dy, Target<Element> dx,
                                                 long long m, int n, float scale) {
  const bool aligned = y.aligned() && dy.aligned() && dx.aligned();
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    float sum = 0;
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values p = load(y.row(i), columns), d = load(dy.row(i), columns);
      for_each_of(columns, [&](int j) { sum = fmaf(p.at[j], d.at[j], sum); });
    });
    const float projection = block_sum(sum);

    for_each_columns(n, aligned, [&](Columns columns) {
      const Values p = load(y.row(i), columns);
      Values d = load(dy.row(i), columns);
      for_each_of(columns, [&](int j) {
        d.at[j] = __fmul_rn(scale, __fmul_rn(p.at[j], __fsub_rn(d.at[j], projection)));
      });
      store(dx.row(i), columns, d);
    });
  }
}

}  // namespace rows

#define SOFTMAX_BACKWARD_ENTRY(name, Element)                                          \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                         \
      name(const rows::Bf16* y, const rows::Bf16* dy, Element* dx, long long m, int n, \
           long long ldy, long long lddy, long long lddx, float scale) {               \
    rows::softmax_backward<Element>({y, ldy}, {dy, lddy}, {dx, lddx}, m, n, scale);    \
  }

SOFTMAX_BACKWARD_ENTRY(softmax_bf16_backward_bf16, rows::Bf16)
SOFTMAX_BACKWARD_ENTRY(softmax_bf16_backward_f32, float)
