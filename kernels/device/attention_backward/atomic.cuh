// SPDX-License-Identifier: MIT
// dQ without a pass of its own: the blocks of the pass over the keys have all weights at hand, and
// add what their 64 keys give to every query atomically, in any order. The sums are f32, in a
// workspace [batch, heads, queries, d] behind delta; the first launch clears it, the last one
// scales and rounds.
#pragma once

#include "device/attention_backward/backward.cuh"

namespace device {

// The sums of a row, counted as in LSE and delta.
__device__ __forceinline__ float* dq_sums(const BackwardArguments& x, long long row) {
  const long long rows = static_cast<long long>(x.sequences.batch) * x.heads * x.sequences.queries;
  return x.delta + rows + row * x.d;
}

// First launch, beside row_deltas().
__device__ __forceinline__ void clear_dq(const BackwardArguments& x) {
  const WarpRow row(x);
  if (!row.exists) return;
  row.each_column(x.d, [&](int column) { dq_sums(x, row.index)[column] = 0.0f; });
}

// Last launch.
__device__ __forceinline__ void finish_dq(const BackwardArguments& x) {
  const WarpRow row(x);
  if (!row.exists) return;
  const float* const sums = dq_sums(x, row.index);
  const long long first = x.strides_q.at(row.batch, row.head, row.row);
  row.each_column(x.d, [&](int column) {
    const float value = __fmul_rn(sums[column], x.scale);
    if (x.out == OutBf16::kCode) {
      OutBf16::store(static_cast<Bits16*>(x.dq) + first + column, value);
    } else {
      OutF32::store(static_cast<float*>(x.dq) + first + column, value);
    }
  });
}

// Turns a block's strips round: the fragments a of 64 keys by 64 queries (16 keys a warp) become
// those of 64 queries by 64 keys, by way of a tile in shared memory.
__device__ __forceinline__ void transpose_strips(Bits32 (&fragments)[4][4], Bits32 tile) {
  using Tile = AttentionTile<kAttentionRows>;
  const int first = static_cast<int>(threadIdx.x) / 32 * 16;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      store_shared(Tile::at(tile, first + lane / 4 + i % 2 * 8, 2 * k + i / 2) + lane % 4 * 4,
                   fragments[k][i]);
    }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    ldmatrix<true, 0>(fragments[k],
                      Tile::at(tile, 16 * k + lane / 16 * 8 + lane % 8, first / 8 + lane / 8 % 2));
  }
}

// What a block's keys give to 64 queries, from `first_query` on, of a head. It needs
// kAttentionRows * kAttentionRows * 2 bytes of shared memory behind the tiles of key_gradients().
template <int kWidth>
__device__ __forceinline__ void add_to_dq(const BackwardArguments& x, const QueryHead& head,
                                          int first_query, const Strip<kAttentionRows>& ds) {
  using Tile = AttentionTile<kWidth>;
  const Bits32 tile_k = attention_memory();
  Bits32 weights[4][4];
  round_strip(weights, ds);
  transpose_strips(weights, tile_k + 4 * Tile::kBytes);

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int query = first_query + static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  float* const sums = dq_sums(x, head.delta - x.delta);  // of the sequence's first query
#pragma unroll 1
  for (int n = 0; n < x.d; n += 16) {
    Strip<16> part = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      Bits32 keys[4];
      ldmatrix<true, 0>(keys, Tile::at(tile_k, 16 * k + lane % 16, n / 8 + lane / 16));
      Mma<Bf16, Bf16>::multiply(part[0], weights[k], keys[0], keys[1]);
      Mma<Bf16, Bf16>::multiply(part[1], weights[k], keys[2], keys[3]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (query + 8 * i >= head.q.rows) continue;
      float* const row = sums + static_cast<long long>(query + 8 * i) * x.d + n + lane % 4 * 2;
      each_of_row<16>(part, i, [&](float& value, int column) {
        if (n + column / 8 * 8 < x.d) atomicAdd(row + column, value);
      });
    }
  }
}

}  // namespace device
