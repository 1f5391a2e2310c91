// SPDX-License-Identifier: MIT
// quantize_per_token_fp8: Q = X / scale as e4m3, with scale = max(amax / 448, 2^-126) for each row,
// 1 for a row of zeros; one block of threads a row. Needs sm_89 or later for the conversion.
#include "device/row_sums.cuh"

namespace rows {

using Code = unsigned char;

constexpr float kLargestCode = 448.0f, kSmallestScale = 0x1p-126f;

// Of magnitudes, by their bits: NaN is above infinity.
struct MaxOrNan {
  __device__ __forceinline__ float operator()(float a, float b) const {
    return __uint_as_float(max(__float_as_uint(a), __float_as_uint(b)));
  }
};

// The low byte is that of `low`.
__device__ __forceinline__ unsigned short as_e4m3(float low, float high) {
  unsigned short out;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(out) : "f"(high), "f"(low));
  return out;
}

__device__ __forceinline__ void store_codes(Code* row, Columns columns, const Values& values) {
  if (columns.whole()) {
    unsigned int words[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
      words[i] = as_e4m3(values.at[4 * i], values.at[4 * i + 1]) |
                 static_cast<unsigned int>(as_e4m3(values.at[4 * i + 2], values.at[4 * i + 3]))
                     << 16;
    *reinterpret_cast<uint2*>(row + columns.first) = make_uint2(words[0], words[1]);
    return;
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    if (i < columns.count) row[columns.first + i] = static_cast<Code>(as_e4m3(values.at[i], 0.0f));
}

// NaN passes: it is not below the smallest scale.
__device__ __forceinline__ float scale_of(float amax) {
  if (amax == 0.0f) return 1.0f;
  const float scale = __fdiv_rn(amax, kLargestCode);
  return scale < kSmallestScale ? kSmallestScale : scale;
}

__device__ __forceinline__ void quantize_per_token(Source x, Target<Code> q, float* scale_of_row,
                                                   long long m, int n) {
  const bool aligned = x.aligned() && q.aligned();
  for (long long i = blockIdx.x; i < m; i += gridDim.x) {
    const Bf16* from = x.row(i);
    float largest = 0;
    for_each_columns(n, aligned, [&](Columns columns) {
      const Values in = load(from, columns);
      for_each_of(columns, [&](int j) { largest = MaxOrNan()(largest, fabsf(in.at[j])); });
    });
    const float scale = scale_of(joined(largest, MaxOrNan()));
    if (threadIdx.x == 0) scale_of_row[i] = scale;

    Code* to = q.row(i);
    for_each_columns(n, aligned, [&](Columns columns) {
      Values values = load(from, columns);
      for_each_of(columns, [&](int j) { values.at[j] = __fdiv_rn(values.at[j], scale); });
      store_codes(to, columns, values);
    });
  }
}

}  // namespace rows

extern "C" __global__ void __launch_bounds__(rows::kThreads)
    quantize_per_token_fp8(const rows::Bf16* x, rows::Code* q, float* scale, long long m, int n,
                           long long ldx, long long ldq) {
  rows::quantize_per_token({x, ldx}, {q, ldq}, scale, m, n);
}
