// SPDX-License-Identifier: MIT
// rotary_neox_bf16: turns pairs (c, rot / 2 + c) of the first rot elements of every head in place,
// one warp for each head of a token. A thread reads both elements of a pair, then writes both;
// elements from rot on are left alone.
#include "device/row_columns.cuh"

extern "C" __global__ void __launch_bounds__(rows::kThreads)
    rotary_neox_bf16(rows::Bf16* q, const float* cos_sin, const int* position, long long t,
                     long long heads, long long rot, long long ldq, long long ld_cos_sin) {
  const long long half = rot / 2, count = t * heads;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const long long stride = static_cast<long long>(gridDim.x) * rows::kWarps;
  for (long long i = static_cast<long long>(blockIdx.x) * rows::kWarps + warp; i < count;
       i += stride) {
    rows::Bf16* head = q + i * ldq;
    const float* cosines = cos_sin + position[i / heads] * ld_cos_sin;
    const float* sines = cosines + half;
    for (long long c = lane; c < half; c += 32) {
      const float a = rows::as_f32(head[c]), b = rows::as_f32(head[half + c]);
      head[c] = rows::as_bf16(__fsub_rn(__fmul_rn(a, cosines[c]), __fmul_rn(b, sines[c])));
      head[half + c] = rows::as_bf16(__fadd_rn(__fmul_rn(b, cosines[c]), __fmul_rn(a, sines[c])));
    }
  }
}
