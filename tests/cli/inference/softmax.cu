// SPDX-License-Identifier: MIT
// Softmax as nvcc compiles it with --use_fast_math: subnormal numbers are lost everywhere, and a
// quotient is div.approx. A warp has a row, a lane every 32nd column of it.

__device__ float of_bf16(unsigned short bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}

// X [m, n] in bf16, Y [m, n] in f32.
extern "C" __global__ void softmax(const unsigned short* x, float* y, int n, float scale) {
  const long long first = static_cast<long long>(blockIdx.x) * n;
  const auto logit = [&](int j) {
    return __fmul_rn(of_bf16(x[first + j]), scale);
  };  // not fused with what follows
  float most = __int_as_float(0xff800000);  // -inf
  for (int j = threadIdx.x; j < n; j += 32) most = fmaxf(most, logit(j));
  for (int distance = 16; distance > 0; distance /= 2)
    most = fmaxf(most, __shfl_xor_sync(~0u, most, distance));
  const auto p = [&](int j) { return exp2f((logit(j) - most) * 1.4426950408889634f); };
  float sum = 0;
  for (int j = threadIdx.x; j < n; j += 32) sum += p(j);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  for (int j = threadIdx.x; j < n; j += 32) y[first + j] = p(j) / sum;
}
