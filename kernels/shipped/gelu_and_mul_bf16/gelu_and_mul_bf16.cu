// SPDX-License-Identifier: MIT
// gelu_and_mul_bf16: Y = gelu(X[:, :n]) * X[:, n:], one block of threads a row.
#include "device/row_columns.cuh"

namespace rows {

// x (1 + erf(x / sqrt 2)) / 2
__device__ __forceinline__ float gelu(float x) {
  const float grown = __fadd_rn(1.0f, erff(__fmul_rn(x, 0.70710678118654752f)));
  return __fmul_rn(__fmul_rn(0.5f, x), grown);
}

template <typename Element>
__device__ __forceinline__ void gelu_and_mul(Source x, Target<Element> y, long long m, int n) {
  const bool aligned = x.aligned() && y.aligned() && n % kVector == 0;  // of the second half, too
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16* gate = x.row(i);
    const Bf16* up = gate + n;
    Element* to = y.row(i);
    for_each_columns(n, aligned, [&](Columns columns) {
      Values values = load(gate, columns);
      const Values factors = load(up, columns);
      for_each_of(columns,
                  [&](int j) { values.at[j] = __fmul_rn(gelu(values.at[j]), factors.at[j]); });
      store(to, columns, values);
    });
  }
}

}  // namespace rows

#define GELU_AND_MUL_ENTRY(name, Element)                                                       \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                                  \
      name(const rows::Bf16* x, Element* y, long long m, int n, long long ldx, long long ldy) { \
    rows::gelu_and_mul<Element>({x, ldx}, {y, ldy}, m, n);                                      \
  }

GELU_AND_MUL_ENTRY(gelu_and_mul_bf16_bf16, rows::Bf16)
GELU_AND_MUL_ENTRY(gelu_and_mul_bf16_f32, float)
