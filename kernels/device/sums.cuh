// SPDX-License-Identifier: MIT
// What the main loop adds to: one accumulator per output, k increasing, one mma at a time. Kernels
// that do more while k runs (scales per block of k, sums of the operands) bring a type of their own
// with the same member `multiply`.
#pragma once

#include "device/operand_formats.cuh"
#include "device/tile.cuh"

namespace device {

// One slice of k (32 bytes: the depth of one mma) for the warp's 64x32 part: 16 mma.
template <typename A, typename B>
__device__ __forceinline__ void multiply_slice(Fragments<typename Mma<A, B>::Sum>& sum,
                                               const Bits32 (&a)[4][4], const Bits32 (&b)[2][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      Mma<A, B>::multiply(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }
}

template <typename A, typename B>
struct Sums {
  Fragments<typename Mma<A, B>::Sum> x = {};

  // `slice` counts the slices of k from 0; the last step of the main loop may go beyond k, where
  // operands are zero.
  __device__ __forceinline__ void multiply(const Bits32 (&a)[4][4], const Bits32 (&b)[2][4],
                                           int slice) {
    multiply_slice<A, B>(x, a, b);
  }
};

}  // namespace device
