// SPDX-License-Identifier: MIT
// Products of attention's tiles on tensor cores. A block has 4 warps; each takes 16 rows of the
// result, a "strip". What is said of P here is for formats of two bytes;
// products_e4m3.cuh has the other.
#pragma once

#include "device/attention/tile.cuh"
#include "device/operand_formats.cuh"

namespace device {

// What a lane holds of 16 rows and n columns: x[j][v] belongs to row lane / 4 + 8 * (v / 2) and
// column lane % 4 * 2 + 8 * j + v % 2.
template <int n>
using Strip = float[n / 8][4];

// step(x, column) for the values of the lane's row i (0 or 1); columns count from the lane's first.
template <int n = kAttentionRows, typename Step>
__device__ __forceinline__ void each_of_row(Strip<n>& x, int i, const Step& step) {
#pragma unroll
  for (int j = 0; j < n / 8; ++j)
#pragma unroll
    for (int v = 0; v < 2; ++v) step(x[j][2 * i + v], 8 * j + v);
}

template <int n = kAttentionRows, typename Step>
__device__ __forceinline__ void each(Strip<n>& x, const Step& step) {
#pragma unroll
  for (int i = 0; i < 2; ++i) each_of_row<n>(x, i, [&](float& value, int) { step(value); });
}

template <typename Element>
constexpr bool kIsF16 = false;
template <>
constexpr bool kIsF16<F16> = true;

// What P was multiplied by before it was rounded, taken back.
template <typename Element>
constexpr float kUnshift = 1.0f;

// The neighbors in a row of P * V that a lane holds: pair j of its row i (0 or 1), whose columns
// count from the lane's first.
template <typename Element>
struct Neighbors {
  __device__ __forceinline__ static int first_column() {
    return static_cast<int>(threadIdx.x) % 4 * 2;
  }

  __device__ __forceinline__ static int column(int j) { return 8 * j; }

  template <int n>
  __device__ __forceinline__ static float2 pair(const Strip<n>& x, int i, int j) {
    return {x[j][2 * i], x[j][2 * i + 1]};
  }
};

// step(Constant<0>()), step(Constant<1>()) ...: a loop whose counter can be an immediate.
template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};

template <int kCount, int kFirst = 0, typename Step>
__device__ __forceinline__ void each_constant(const Step& step) {
  if constexpr (kFirst < kCount) {
    step(Constant<kFirst>());
    each_constant<kCount, kFirst + 1>(step);
  }
}

// x += A * B^T: A is 16 rows of tile `a` from `first_row` on, B all rows of tile `b`, whose
// elements take as many bytes; the sums run over `width` columns, upwards.
template <int kWidth, typename Element = Bf16, typename Other = Element, typename Sum>
__device__ __forceinline__ void multiply_rows(Sum (&x)[kAttentionRows / 8][4], Bits32 a,
                                              int first_row, Bits32 b, int width) {
  using Tile = AttentionTile<kWidth, Element>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // Matrices of ldmatrix: rows low and high, then the same of the next 16 bytes; and for B the
  // other way round.
  const Bits32 from_a = Tile::at(a, first_row + lane % 16, lane / 16);
  const Bits32 from_b = Tile::at(b, lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll 4
  for (int k = 0; k < width * Element::kBytes; k += 32) {
    Bits32 left[4];
    ldmatrix<false, 0>(left, from_a ^ k);
    each_constant<kAttentionRows / 16>([&](auto n) {
      Bits32 right[4];
      ldmatrix<false, 16 * n.value * Tile::kRowBytes>(right, from_b ^ k);
      Mma<Element, Other>::multiply(x[2 * n.value], left, right[0], right[1]);
      Mma<Element, Other>::multiply(x[2 * n.value + 1], left, right[2], right[3]);
    });
  }
}

// Scores of 16 queries and 64 keys, by multiply_rows(): sums of 8-bit integers are exact, in s32
// and then in f32.
template <int kWidth, typename Element>
__device__ __forceinline__ void score_rows(Strip<kAttentionRows>& x, Bits32 q, int first_row,
                                           Bits32 k, int width) {
  typename Mma<Element, Element>::Sum sums[kAttentionRows / 8][4] = {};
  multiply_rows<kWidth, Element>(sums, q, first_row, k, width);
#pragma unroll
  for (int j = 0; j < kAttentionRows / 8; ++j)
#pragma unroll
    for (int v = 0; v < 4; ++v) x[j][v] = static_cast<float>(sums[j][v]);
}

// x += P * B: P is a strip of 64 columns, rounded to Value; B the first `width` columns of tile
// `b`. The sums run over the tile's rows, upwards.
template <int kWidth, typename Value = Bf16>
__device__ __forceinline__ void multiply_strip(Strip<kWidth>& x, const Bits32 (&p)[4][4], Bits32 b,
                                               int width) {
  using Tile = AttentionTile<kWidth, Value>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Bits32 from = Tile::at(b, lane % 16, lane / 16);
  each_constant<kAttentionRows / 16>([&](auto k) {
#pragma unroll
    for (int n = 0; n < kWidth; n += 16) {
      if (n >= width) break;
      Bits32 right[4];
      ldmatrix<true, 16 * k.value * Tile::kRowBytes>(right, from ^ 2 * n);
      Mma<Value, Value>::multiply(x[n / 8], p[k.value], right[0], right[1]);
      Mma<Value, Value>::multiply(x[n / 8 + 1], p[k.value], right[2], right[3]);
    }
  });
}

// Two neighbors, nearest even.
template <typename Value>
__device__ __forceinline__ Bits32 rounded_words(float low, float high) {
  Bits32 words;
  if constexpr (kIsF16<Value>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(words) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words) : "f"(high), "f"(low));
  }
  return words;
}

// A strip as four fragments a: sums lie in registers as operands do, two by two.
template <typename Value = Bf16>
__device__ __forceinline__ void round_strip(Bits32 (&p)[4][4], const Strip<kAttentionRows>& x) {
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* pair = &x[2 * k + i / 2][i % 2 * 2];
      p[k][i] = rounded_words<Value>(pair[0], pair[1]);
    }
}

}  // namespace device
