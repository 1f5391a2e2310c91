// SPDX-License-Identifier: MIT
// silu_and_mul_bf16: Y = silu(X[:, :n]) * X[:, n:], one block of threads a row.
#include "device/row_columns.cuh"
#include "device/silu.cuh"

namespace rows {

template <typename Element>
__device__ __forceinline__ void silu_and_mul(Source x, Target<Element> y, long long m, int n) {
  const bool aligned = x.aligned() && y.aligned() && n % kVector == 0;  // of the second half, too
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16* gate = x.row(i);
    const Bf16* up = gate + n;
    Element* to = y.row(i);
    for_each_columns(n, aligned, [&](Columns columns) {
      Values values = load(gate, columns);
      const Values factors = load(up, columns);
      for_each_of(columns, [&](int j) {
        values.at[j] = __fmul_rn(device::silu(values.at[j]), factors.at[j]);
      });
      store(to, columns, values);
    });
  }
}

}  // namespace rows

#define SILU_AND_MUL_ENTRY(name, Element)                                                       \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                                  \
      name(const rows::Bf16* x, Element* y, long long m, int n, long long ldx, long long ldy) { \
    rows::silu_and_mul<Element>({x, ldx}, {y, ldy}, m, n);                                      \
  }

SILU_AND_MUL_ENTRY(silu_and_mul_bf16_bf16, rows::Bf16)
SILU_AND_MUL_ENTRY(silu_and_mul_bf16_f32, float)
