// SPDX-License-Identifier: MIT
// Two matrices of one shape as a single operand B: a tile of 128 columns has 64 of either, eight by
// eight in turn. So the sums of both that belong to one place of the result meet in one lane, next
// to each other: with x the Fragments of the main loop, x[i][2 * j][v] is the first product where
// x[i][2 * j + 1][v] is the second. Stages, readers and the main loop know nothing of it.
//
//   tile column    0 ... 7     8 ... 15    16 ... 23    24 ... 31    ...
//   is             first 0-7   second 0-7  first 8-15   second 8-15
#pragma once

#include "device/main_loop.cuh"

namespace device {

constexpr int kPairedTileN = kTileN / 2;

struct PairedBf16 : TwoBytes {};

// As the primary template. `extent`: columns of each matrix.
template <>
struct Operand<PairedBf16> {
  Address first, second;
  long long leading;
  int extent;
  bool along_k;

  __device__ __forceinline__ Operand(const void* first_, const void* second_, long long leading_,
                                     int extent_, bool along_k_)
      : first(__cvta_generic_to_global(first_)),
        second(__cvta_generic_to_global(second_)),
        leading(leading_),
        extent(extent_),
        along_k(along_k_) {}

  __device__ __forceinline__ Line line(int i) const {
    return {i / 8 % 2 == 0 ? first : second, i / 16 * 8 + i % 8};
  }

  __device__ __forceinline__ Address address_bits() const { return first | second; }
};

// combined[i][j][v] = combine(first product, second product), the lane's values of a tile with 64
// columns.
template <typename Combine>
__device__ __forceinline__ void combine_pairs(const Fragments<float>& x, float (&combined)[4][2][4],
                                              const Combine& combine) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int v = 0; v < 4; ++v) combined[i][j][v] = combine(x[i][2 * j][v], x[i][2 * j + 1][v]);
}

// Where they lie in the result [m, n], given the tile's first column there.
__device__ __forceinline__ Place paired_place(int first_row, int first_column, int m, int n) {
  // A warp has 16 columns of the result where it has 32 of the tile.
  const WarpPart part(threadIdx.x);
  return Place(first_row, first_column - part.first_column / 2, m, n);
}

}  // namespace device
