// SPDX-License-Identifier: MIT
// Walking the columns of a row with one block of threads: eight neighbors at a time where the rows
// of all matrices are aligned to 16 bytes, else one. A lane always takes every kThreads-th group,
// so its sums have at most the length that the contracts of the row kernels say.
#pragma once

namespace rows {

constexpr int kThreads = 128, kWarps = kThreads / 32;
constexpr int kVector = 8;  // columns of a 16-byte load

using Bf16 = unsigned short;

// A matrix that is read.
struct Source {
  const Bf16* data;
  long long stride;

  __device__ __forceinline__ const Bf16* row(long long i) const { return data + i * stride; }

  __device__ __forceinline__ bool aligned() const {
    return reinterpret_cast<unsigned long long>(data) % 16 == 0 && stride % kVector == 0;
  }
};

// A matrix that is written, bf16 or f32.
template <typename Element>
struct Target {
  Element* data;
  long long stride;

  __device__ __forceinline__ Element* row(long long i) const { return data + i * stride; }

  __device__ __forceinline__ bool aligned() const {
    return reinterpret_cast<unsigned long long>(data) % 16 == 0 && stride % kVector == 0;
  }
};

__device__ __forceinline__ float as_f32(Bf16 x) {
  return __uint_as_float(static_cast<unsigned int>(x) << 16);
}

__device__ __forceinline__ Bf16 as_bf16(float x) {
  Bf16 out;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out) : "f"(x));
  return out;
}

__device__ __forceinline__ unsigned int as_bf16(float low, float high) {
  unsigned int out;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}

// Up to eight neighboring columns of a row.
struct Columns {
  int first, count;

  __device__ __forceinline__ bool whole() const { return count == kVector; }
};

// Calls body(columns) for this thread's columns of a row.
template <typename Body>
__device__ __forceinline__ void for_each_columns(int n, bool aligned, Body body) {
  if (aligned) {
    for (int first = threadIdx.x * kVector; first < n; first += kThreads * kVector)
      body(Columns{first, min(kVector, n - first)});
  } else {
    for (int column = threadIdx.x; column < n; column += kThreads) body(Columns{column, 1});
  }
}

// The columns as f32, zeros after the last.
struct Values {
  float at[kVector];
};

__device__ __forceinline__ Values load(const Bf16* row, Columns columns) {
  Values values;
  if (columns.whole()) {
    const uint4 packed = *reinterpret_cast<const uint4*>(row + columns.first);
    const unsigned int words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values.at[2 * i] = __uint_as_float(words[i] << 16);
      values.at[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
    return values;
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    values.at[i] = i < columns.count ? as_f32(row[columns.first + i]) : 0.0f;
  return values;
}

__device__ __forceinline__ void store(float* row, Columns columns, const Values& values) {
  if (columns.whole()) {
    float4* to = reinterpret_cast<float4*>(row + columns.first);
    to[0] = make_float4(values.at[0], values.at[1], values.at[2], values.at[3]);
    to[1] = make_float4(values.at[4], values.at[5], values.at[6], values.at[7]);
    return;
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    if (i < columns.count) row[columns.first + i] = values.at[i];
}

__device__ __forceinline__ void store(Bf16* row, Columns columns, const Values& values) {
  if (columns.whole()) {
    *reinterpret_cast<uint4*>(row + columns.first) =
        make_uint4(as_bf16(values.at[0], values.at[1]), as_bf16(values.at[2], values.at[3]),
                   as_bf16(values.at[4], values.at[5]), as_bf16(values.at[6], values.at[7]));
    return;
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    if (i < columns.count) row[columns.first + i] = as_bf16(values.at[i]);
}

// Calls body(i) for each of the columns.
template <typename Body>
__device__ __forceinline__ void for_each_of(Columns columns, Body body) {
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    if (i < columns.count) body(i);
}

}  // namespace rows
