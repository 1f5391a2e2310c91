// SPDX-License-Identifier: MIT
// group_norm_bf16: Y = (X - mean) * rstd * gamma + beta, mean and rstd = rsqrt(variance + eps)
// being those of a group of channels of an image; one block of threads for each group, which is
// read three times. The positions of a channel are a row.
#include "device/row_sums.cuh"

namespace rows {

__device__ __forceinline__ void put(float* to, float x) { *to = x; }

__device__ __forceinline__ void put(Bf16* to, float x) { *to = as_bf16(x); }

// Calls body(channel, position) for this thread's elements of a group: every kThreads-th.
template <typename Body>
__device__ __forceinline__ void for_each_element(long long channels, long long positions,
                                                 Body body) {
  const long long more_channels = kThreads / positions, more_positions = kThreads % positions;
  long long channel = threadIdx.x / positions, position = threadIdx.x % positions;
  while (channel < channels) {
    body(channel, position);
    channel += more_channels;
    position += more_positions;
    if (position < positions) continue;
    position -= positions;
    ++channel;
  }
}

template <typename Element>
__device__ __forceinline__ void group_norm(Source x, const Bf16* gamma, const Bf16* beta,
                                           Target<Element> y, long long b, long long c, long long p,
                                           long long groups, float eps) {
  const long long channels = c / groups;
  const float count = static_cast<float>(channels * p);
  for (long long group = blockIdx.x; group < b * groups; group += gridDim.x) {
    const long long row = group * channels, first = group % groups * channels;
    float sum = 0;
    for_each_element(channels, p, [&](long long k, long long q) {
      sum = __fadd_rn(sum, as_f32(x.row(row + k)[q]));
    });
    const float mean = __fdiv_rn(block_sum(sum), count);

    float squares = 0;
    for_each_element(channels, p, [&](long long k, long long q) {
      const float away = __fsub_rn(as_f32(x.row(row + k)[q]), mean);
      squares = fmaf(away, away, squares);
    });
    const float variance = __fdiv_rn(block_sum(squares), count);
    const float rstd = rsqrt_approx(__fadd_rn(variance, eps));

    for_each_element(channels, p, [&](long long k, long long q) {
      const float away = __fsub_rn(as_f32(x.row(row + k)[q]), mean);
      const float scaled = __fmul_rn(__fmul_rn(away, rstd), as_f32(gamma[first + k]));
      put(y.row(row + k) + q, __fadd_rn(scaled, as_f32(beta[first + k])));
    });
  }
}

}  // namespace rows

#define GROUP_NORM_ENTRY(name, Element)                                                           \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                                    \
      name(const rows::Bf16* x, const rows::Bf16* gamma, const rows::Bf16* beta, Element* y,      \
           long long b, long long c, long long p, long long groups, long long ldx, long long ldy, \
           float eps) {                                                                           \
    rows::group_norm<Element>({x, ldx}, gamma, beta, {y, ldy}, b, c, p, groups, eps);             \
  }

GROUP_NORM_ENTRY(group_norm_bf16_bf16, rows::Bf16)
GROUP_NORM_ENTRY(group_norm_bf16_f32, float)
