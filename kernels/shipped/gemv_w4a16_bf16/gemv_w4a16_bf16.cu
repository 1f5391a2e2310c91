// SPDX-License-Identifier: MIT
// gemv_w4a16_bf16: rows of bf16 times weights of 4 bits, (code - zero) * scale with a scale and a
// zero point for each group along k and each column. One block of threads for 32 columns of a row:
// a lane has a column, and a warp a quarter of the bytes along k.
#include "device/row_columns.cuh"

namespace rows {

using Code = unsigned char;

constexpr int kColumns = 32;  // of a block: one a lane

// Codes, scales and zero points of one column.
struct WeightColumn {
  const Code* codes;
  const Bf16* scale;
  const Code* zero;
  long long ld_codes, ld_scale, ld_zero;
  int half;  // bytes of a group

  // The sum of products with the weights of bytes [first, last).
  __device__ __forceinline__ float times(const Bf16* a, int first, int last) const {
    float sum = 0;
    for (int byte = first; byte < last;) {
      const int group = byte / half, end = min(last, (group + 1) * half);
      const float factor = as_f32(scale[group * ld_scale]);
      const int origin = zero[group * ld_zero];
      for (; byte < end; ++byte) {
        const int pair = codes[byte * ld_codes];
        const float low = __fmul_rn(static_cast<float>(pair % 16 - origin), factor);
        const float high = __fmul_rn(static_cast<float>(pair / 16 - origin), factor);
        sum = fmaf(as_f32(a[2 * byte]), low, sum);
        sum = fmaf(as_f32(a[2 * byte + 1]), high, sum);
      }
    }
    return sum;
  }
};

__device__ __forceinline__ void put(float* to, float x) { *to = x; }

__device__ __forceinline__ void put(Bf16* to, float x) { *to = as_bf16(x); }

// The column's sum of all bytes: a quarter from each warp.
template <typename Element>
__device__ __forceinline__ void gemv(const Bf16* a, const WeightColumn& weights, bool is_column,
                                     int bytes, Element* y) {
  __shared__ float of_warps[kWarps][kColumns];
  const int warp = threadIdx.x / kColumns, lane = threadIdx.x % kColumns;
  const int part = (bytes + kWarps - 1) / kWarps, first = min(bytes, warp * part);
  of_warps[warp][lane] = is_column ? weights.times(a, first, min(bytes, first + part)) : 0.0f;
  __syncthreads();
  if (warp != 0 || !is_column) return;
  float sum = of_warps[0][lane];
#pragma unroll
  for (int other = 1; other < kWarps; ++other) sum = __fadd_rn(sum, of_warps[other][lane]);
  put(y, sum);
}

}  // namespace rows

#define GEMV_ENTRY(name, Element)                                                             \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                                \
      name(const rows::Bf16* a, const rows::Code* codes, const rows::Bf16* scale,             \
           const rows::Code* zero, Element* y, int n, int groups, int half, long long lda,    \
           long long ld_codes, long long ld_scale, long long ld_zero, long long ldy) {        \
    const long long row = blockIdx.y,                                                         \
                    column = blockIdx.x * rows::kColumns + threadIdx.x % rows::kColumns;      \
    const rows::WeightColumn weights{codes + column, scale + column, zero + column, ld_codes, \
                                     ld_scale,       ld_zero,        half};                   \
    rows::gemv(a + row * lda, weights, column < n, groups * half, y + row * ldy + column);    \
  }

GEMV_ENTRY(gemv_w4a16_bf16_bf16, rows::Bf16)
GEMV_ENTRY(gemv_w4a16_bf16_f32, float)
