// SPDX-License-Identifier: MIT
// Sums of the columns of a row-major matrix x [m, n] in f32: the gradient of a bias.
//
// A block of 8 warps takes 32 columns, one a lane. Warp w adds rows w * range ... in order, where
// range = ceil(m / 8); the eight parts are then joined in order, ((p0 + p1) + p2) + ... The order
// is a function of m alone, so the sums are the same bits on every run and every device.
#pragma once

namespace column_sums {

constexpr int kParts = 8, kColumns = 32;
constexpr int kThreads = kParts * kColumns;

// The sum of column blockIdx.x * 32 + threadIdx.x % 32, in every warp. `load(row, column)` gives an
// element as f32.
template <typename Load>
__device__ __forceinline__ float sum(long long m, long long n, Load load) {
  __shared__ float parts[kParts][kColumns];
  const int lane = threadIdx.x % kColumns, part = threadIdx.x / kColumns;
  const long long column = static_cast<long long>(blockIdx.x) * kColumns + lane;
  const long long range = (m + kParts - 1) / kParts;
  const long long last = min((part + 1) * range, m);

  float x = 0.0f;
  if (column < n)
    for (long long row = part * range; row < last; ++row) x = __fadd_rn(x, load(row, column));
  parts[part][lane] = x;
  __syncthreads();

  x = parts[0][lane];
#pragma unroll
  for (int other = 1; other < kParts; ++other) x = __fadd_rn(x, parts[other][lane]);
  return x;
}

// Stores what the first warp has.
__device__ __forceinline__ void store(float* to, long long n, float x) {
  const long long column = static_cast<long long>(blockIdx.x) * kColumns + threadIdx.x;
  if (threadIdx.x < kColumns && column < n) to[column] = x;
}

}  // namespace column_sums
