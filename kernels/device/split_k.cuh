// SPDX-License-Identifier: MIT
// Split K: the sum over k is cut into parts, one thread block for each tile and part, so that a
// small D with a long k still fills the device. Kernels differ in how the parts come together
// (split_k_ordered.cuh, split_k_atomic.cuh); what they share is here.
//
// Part s covers k from s * range on, where range = ceil(k / splits) rounded up to whole steps of
// the main loop. Parts that begin beyond k are empty and take no part in the sum.
#pragma once

#include "device/block_tile.cuh"
#include "device/main_loop.cuh"

namespace device {

// Which part of k a thread block works on: parts in y of the grid, so that blocks of an earlier
// part come earlier.
template <typename A>
struct SplitK {
  int part, parts;  // not counting empty parts, but at least 1: k may be 0
  int first_k, count;

  __device__ __forceinline__ SplitK(int k, int splits) : part(static_cast<int>(blockIdx.y)) {
    constexpr unsigned kStep = TileLoader<A>::kTileK;
    const unsigned extent = static_cast<unsigned>(k);
    const unsigned range = ((extent + splits - 1) / splits + kStep - 1) / kStep * kStep;
    parts = range == 0 ? 1 : static_cast<int>((extent + range - 1) / range);
    first_k = part < parts ? static_cast<int>(part * range) : k;
    count = static_cast<int>(min(range, extent - first_k));
  }

  // A part without any k.
  __device__ __forceinline__ bool empty() const { return part >= parts; }
};

// This block's part of its tile.
template <typename A, typename B>
__device__ __forceinline__ void sum_part(Sums<A, B>& sums, const Operand<A>& a, const Operand<B>& b,
                                         const BlockTile& tile, const SplitK<A>& split) {
  accumulate(sums, a.from_k(split.first_k), b.from_k(split.first_k), tile.first_row,
             tile.first_column, split.count);
}

// ---- a matrix [m, n] of f32 partial sums --------------------------------------------------------

// step(x, element) with every value of a lane that exists, and its place in the matrix.
template <typename Element, typename Step>
__device__ __forceinline__ void with_partial(Fragments<float>& x, Element* matrix, int n,
                                             const Place& place, const Step& step) {
  Element* const first = matrix + place.row * n + place.column;
  each_value(x, [&](float& value, int row, int column) {
    if (row < place.rows && column < place.columns)
      step(value, first[static_cast<long long>(row) * n + column]);
  });
}

__device__ __forceinline__ void load_partial(Fragments<float>& x, const float* matrix, int n,
                                             const Place& place) {
  with_partial(x, matrix, n, place, [](float& value, const float& partial) { value = partial; });
}

// x = fl(partial + x)
__device__ __forceinline__ void add_partial(Fragments<float>& x, const float* matrix, int n,
                                            const Place& place) {
  with_partial(x, matrix, n, place,
               [](float& value, const float& partial) { value = __fadd_rn(partial, value); });
}

}  // namespace device
