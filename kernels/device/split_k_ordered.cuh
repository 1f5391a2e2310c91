// SPDX-License-Identifier: MIT
// Split K in two launches: the sums of part s go to workspace[s], a matrix [m, n]; then the parts
// of each tile are added in order, ((p0 + p1) + p2) + ... No atomics and no waiting, so the result
// is the same on every run; the price is a workspace of splits * m * n.
#pragma once

#include "device/split_k.cuh"

namespace device {

// First launch, a thread block for each tile and part.
template <typename A, typename B>
__device__ __forceinline__ void store_part(const Operand<A>& a, const Operand<B>& b,
                                           float* workspace, int k, int splits) {
  const int m = a.extent, n = b.extent;
  const BlockTile tile(m);
  const SplitK<A> split(k, splits);
  if (split.empty()) return;
  Sums<A, B> sums;
  sum_part(sums, a, b, tile, split);
  store<OutF32>(sums.x, workspace + static_cast<long long>(split.part) * m * n, n,
                tile.place(m, n));
}

// Second launch, a thread block for each tile.
template <typename A>
__device__ __forceinline__ void join_parts(Fragments<float>& x, const float* workspace, int m,
                                           int n, const SplitK<A>& split, const Place& place) {
  load_partial(x, workspace, n, place);
  for (int part = 1; part < split.parts; ++part)
    add_partial(x, workspace + static_cast<long long>(part) * m * n, n, place);
}

}  // namespace device
