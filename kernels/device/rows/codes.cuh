// SPDX-License-Identifier: MIT
// The e4m3 codes of a row and their scale, max(amax / 448, 2^-126) and 1 for a row of zeros. Needs
// sm_89 or later for the conversion.
#pragma once

#include "device/row_columns.cuh"

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

}  // namespace rows
