// SPDX-License-Identifier: MIT
// silu_and_mul_backward_bf16: dX of Y = silu(X[:, :n]) * X[:, n:], one block of threads a row.
#include "device/row_columns.cuh"
#include "device/silu.cuh"

namespace rows {

__device__ __forceinline__ float sigmoid(float x) {
  return __fdiv_rn(1.0f, __fadd_rn(1.0f, device::exp2_approximate(__fmul_rn(-x, device::kLog2E))));
}

template <typename Element>
__device__ __forceinline__ void silu_and_mul_backward(Source dy, Source x, Target<Element> dx,
                                                      long long m, int n) {
  // Of the second halves, too.
  const bool aligned = dy.aligned() && x.aligned() && dx.aligned() && n % kVector == 0;
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16 *gate = x.row(i), *up = gate + n;
    Element* to = dx.row(i);
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values incoming = load(dy.row(i), columns), gates = load(gate, columns),
                   ups = load(up, columns);
      Values of_gate, of_up;
      for_each_of(columns, [&](int j) {
        const float g = gates.at[j], s = sigmoid(g);
        // silu'(g) = s + g s (1 - s)
        const float slope = __fmul_rn(s, __fadd_rn(1.0f, __fmul_rn(g, __fsub_rn(1.0f, s))));
        of_gate.at[j] = __fmul_rn(__fmul_rn(incoming.at[j], ups.at[j]), slope);
        of_up.at[j] = __fmul_rn(incoming.at[j], device::silu(g));
      });
      store(to, columns, of_gate);
      store(to + n, columns, of_up);
    });
  }
}

}  // namespace rows

#define SILU_AND_MUL_BACKWARD_ENTRY(name, Element)                                     \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                         \
      name(const rows::Bf16* dy, const rows::Bf16* x, Element* dx, long long m, int n, \
           long long lddy, long long ldx, long long lddx) {                            \
    rows::silu_and_mul_backward<Element>({dy, lddy}, {x, ldx}, {dx, lddx}, m, n);      \
  }

SILU_AND_MUL_BACKWARD_ENTRY(silu_and_mul_backward_bf16_bf16, rows::Bf16)
SILU_AND_MUL_BACKWARD_ENTRY(silu_and_mul_backward_bf16_f32, float)
