// SPDX-License-Identifier: MIT
// softmax_bf16: Y = softmax(scale * X) row by row, one block of threads a row. The row is read
// three times, for its maximum, its sum and its outputs, rather than kept: rows may be of any
// length.
#include "device/row_sums.cuh"

namespace rows {

constexpr float kLog2E = 0x1.715476p+0f;

__device__ __forceinline__ float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// e to the power (scale * x - largest): 1 for the largest.
__device__ __forceinline__ float probability(float x, float scale, float largest) {
  const float difference = __fsub_rn(__fmul_rn(x, scale), largest);
  return ex2(__fmul_rn(difference, kLog2E));
}

template <typename Element>
__device__ __forceinline__ void softmax(Source x, Target<Element> y, long long m, int n,
                                        float scale) {
  const bool aligned = x.aligned() && y.aligned();
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16* from = x.row(i);
    float largest = -__int_as_float(0x7f800000);
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values in = load(from, columns);
      for_each_of(columns, [&](int j) { largest = fmaxf(largest, __fmul_rn(in.at[j], scale)); });
    });
    largest = block_max(largest);

    float sum = 0;
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values in = load(from, columns);
      for_each_of(columns,
                  [&](int j) { sum = __fadd_rn(sum, probability(in.at[j], scale, largest)); });
    });
    const float inverse = __frcp_rn(block_sum(sum));

    Element* to = y.row(i);
    for_each_columns(n, aligned, [&](Columns columns) {
      Values values = load(from, columns);
      for_each_of(columns, [&](int j) {
        values.at[j] = __fmul_rn(probability(values.at[j], scale, largest), inverse);
      });
      store(to, columns, values);
    });
  }
}

}  // namespace rows

#define SOFTMAX_ENTRY(name, Element)                                                          \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                                \
      name(const rows::Bf16* x, Element* y, long long m, int n, long long ldx, long long ldy, \
           float scale) {                                                                     \
    rows::softmax<Element>({x, ldx}, {y, ldy}, m, n, scale);                                  \
  }

SOFTMAX_ENTRY(softmax_bf16_bf16, rows::Bf16)
SOFTMAX_ENTRY(softmax_bf16_f32, float)
