// SPDX-License-Identifier: MIT
// The product P * V of attention on e4m3 tensor cores, whose instructions take 32 keys at a time,
// and its like in other formats of one byte.
//
// A lane's probabilities are those of two neighboring keys, an operand of 1-byte elements wants
// four; lanes exchange them, so that every sum still runs upwards over the keys. V must be turned,
// and ldmatrix turns units of two bytes: a lane gets two neighboring columns of two keys, and
// picks the bytes of either column. So a pair of 8 result columns holds every other one of 16:
//
//   x[2j][v], x[2j + 1][v] belong to column 16 * j + 4 * (lane % 4) + 2 * (v % 2), and the next
#pragma once

#include "device/attention/products.cuh"

namespace device {

// P is rounded times 2^8: 1 becomes 256, of 448 that the format has, and less is lost to 0.
constexpr float kE4m3Shift = 256.0f;

template <>
constexpr float kUnshift<E4m3> = 1.0f / kE4m3Shift;

template <>
struct Neighbors<E4m3> {
  __device__ __forceinline__ static int first_column() {
    return static_cast<int>(threadIdx.x) % 4 * 4;
  }

  __device__ __forceinline__ static int column(int j) { return j / 2 * 16 + j % 2 * 2; }

  template <int n>
  __device__ __forceinline__ static float2 pair(const Strip<n>& x, int i, int j) {
    return {x[j / 2 * 2][2 * i + j % 2], x[j / 2 * 2 + 1][2 * i + j % 2]};
  }
};

// Two neighbors in a format, nearest even; what is too large for it saturates.
template <typename Element>
__device__ Bits32 rounded_pair(float low, float high);

template <>
__device__ __forceinline__ Bits32 rounded_pair<E4m3>(float low, float high) {
  Bits16 pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}

// A strip times `factor` as two fragments a, rounded.
template <typename Element>
__device__ __forceinline__ void round_strip(Bits32 (&p)[2][4], const Strip<kAttentionRows>& x,
                                            float factor) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // Four keys of a row are two neighboring lanes' pairs: of the first 8 keys of 16 for the lanes 0
  // and 1 of four, of the last 8 for the others.
  const int from = lane / 4 * 4 + lane % 2 * 2;
  const Bits32 half = lane % 4 < 2 ? 0x5410 : 0x7632;
#pragma unroll
  for (int k = 0; k < 2; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* first = &x[4 * k + i / 2 * 2][i % 2 * 2];
      const float* last = &x[4 * k + i / 2 * 2 + 1][i % 2 * 2];
      const auto pair = [factor](const float* values) {
        return rounded_pair<Element>(__fmul_rn(values[0], factor), __fmul_rn(values[1], factor));
      };
      const Bits32 own = pair(first) | pair(last) << 16;
      const Bits32 left = __shfl_sync(0xffffffffu, own, from);
      const Bits32 right = __shfl_sync(0xffffffffu, own, from + 1);
      p[k][i] = __byte_perm(left, right, half);
    }
}

// Probabilities.
template <typename Value>
__device__ __forceinline__ void round_strip(Bits32 (&p)[2][4], const Strip<kAttentionRows>& x) {
  round_strip<Value>(p, x, kE4m3Shift);
}

// Where a lane reads 32 rows of a tile: of 16 keys one matrix of ldmatrix has the first two of
// every four, the next the last two; the third and fourth are those of the next 16.
template <typename Tile>
__device__ __forceinline__ Bits32 paired_rows(Bits32 tile) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return Tile::at(tile, lane / 16 * 16 + lane / 8 % 2 * 2 + lane % 8 / 2 * 4 + lane % 2, 0);
}

// The products of 32 keys, kKeys rows after `from`, with 16 columns from column n on: x of every
// other one of them, y of those between.
template <int kKeys, typename Tile, typename Rounded, typename Element>
__device__ __forceinline__ void multiply_columns(float (&x)[4], float (&y)[4], const Bits32 (&p)[4],
                                                 Bits32 from, int n) {
  Bits32 pairs[4];
  ldmatrix<true, kKeys * Tile::kRowBytes>(pairs, from ^ n);
  const auto multiply = [&](float (&sums)[4], Bits32 bytes) {
    Mma<Rounded, Element>::multiply(sums, p, __byte_perm(pairs[0], pairs[1], bytes),
                                    __byte_perm(pairs[2], pairs[3], bytes));
  };
  multiply(x, 0x6420);
  multiply(y, 0x7531);
}

// x += P * B: P is a strip of 64 columns; B the first `width` columns of tile `b`. The sums run
// over the tile's rows, upwards.
template <int kWidth, typename Rounded = E4m3, typename Element = E4m3>
__device__ __forceinline__ void multiply_strip(Strip<kWidth>& x, const Bits32 (&p)[2][4], Bits32 b,
                                               int width) {
  using Tile = AttentionTile<kWidth, Element>;
  const Bits32 from = paired_rows<Tile>(b);
  each_constant<2>([&](auto k) {
#pragma unroll
    for (int n = 0; n < kWidth; n += 16) {
      if (n >= width) break;
      multiply_columns<32 * k.value, Tile, Rounded, Element>(x[n / 8], x[n / 8 + 1], p[k.value],
                                                             from, n);
    }
  });
}

}  // namespace device
