// SPDX-License-Identifier: MIT
// cross_entropy_backward_bf16: dx = dloss * (e^(x - lse) - (1 - smoothing) * [target] - smoothing /
// v) of each row, or 0 where the target is ignored; one block of threads a row.
#include "device/row_columns.cuh"

namespace rows {

template <typename Element>
__device__ __forceinline__ void cross_entropy_backward(const float* dloss, Source x,
                                                       const int* target, const float* lse,
                                                       Target<Element> dx, long long m, int v,
                                                       float smoothing, long long ignore_index) {
  const bool aligned = x.aligned() && dx.aligned();
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16* from = x.row(i);
    Element* to = dx.row(i);
    const int wanted = target[i];
    const float incoming = wanted == ignore_index ? 0.0f : dloss[i], all = lse[i];
    const float of_target = __fmul_rn(incoming, __fsub_rn(1.0f, smoothing));
    const float of_each = __fdiv_rn(__fmul_rn(incoming, smoothing), static_cast<float>(v));
    for_each_columns(v, aligned, [&](Columns columns) {
      Values values = load(from, columns);
      for_each_of(columns, [&](int j) {
        const float share = __expf(__fsub_rn(values.at[j], all));
        float out = __fsub_rn(__fmul_rn(incoming, share), of_each);
        if (columns.first + j == wanted) out = __fsub_rn(out, of_target);
        values.at[j] = out;
      });
      store(to, columns, values);
    });
  }
}

}  // namespace rows

#define CROSS_ENTROPY_BACKWARD_ENTRY(name, Element)                                         \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                              \
      name(const float* dloss, const rows::Bf16* x, const int* target, const float* lse,    \
           Element* dx, long long m, int v, long long ldx, long long lddx, float smoothing, \
           long long ignore_index) {                                                        \
    rows::cross_entropy_backward<Element>(dloss, {x, ldx}, target, lse, {dx, lddx}, m, v,   \
                                          smoothing, ignore_index);                         \
  }

CROSS_ENTROPY_BACKWARD_ENTRY(cross_entropy_backward_bf16_bf16, rows::Bf16)
CROSS_ENTROPY_BACKWARD_ENTRY(cross_entropy_backward_bf16_f32, float)
