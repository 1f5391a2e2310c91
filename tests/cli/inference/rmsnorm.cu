// SPDX-License-Identifier: MIT
// RMSNorm as vLLM and Hugging Face compute it: x rstd is rounded to bf16 before it meets gamma. The
// sum of squares is multiplied by 1 / n, which the host has computed; without -fmad=false nvcc adds
// eps by the same fma. A warp has a row, a lane every 32nd column of it.

__device__ float of_bf16(unsigned short bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}

__device__ unsigned short to_bf16(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

// X and Y [m, n] and gamma [n] in bf16; rstd [m] in f32, or null.
extern "C" __global__ void rmsnorm(const unsigned short* x, const unsigned short* gamma,
                                   unsigned short* y, float* rstd, int n, float inverse,
                                   float eps) {
  const long long first = static_cast<long long>(blockIdx.x) * n;
  float sum = 0;
  for (int j = threadIdx.x; j < n; j += 32) {
    const float value = of_bf16(x[first + j]);
    sum = __fmaf_rn(value, value, sum);
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  const float root = __fdiv_rn(1.0f, __fsqrt_rn(sum * inverse + eps));
  for (int j = threadIdx.x; j < n; j += 32) {
    const float normal = of_bf16(to_bf16(of_bf16(x[first + j]) * root));
    y[first + j] = to_bf16(normal * of_bf16(gamma[j]));
  }
  if (rstd != nullptr && threadIdx.x == 0) rstd[blockIdx.x] = root;
}
