// SPDX-License-Identifier: MIT
// Scales of blocks of rows in attention forward: every 64 rows of Q, K and V, as they lie in the
// tensors, may have one. Those of a query and a key are a factor of their score alone, so logits
// are kept in natural units.
//
// Where sequences are packed, a tile of 64 keys begins anywhere and may lie in two blocks:
//
//   blocks   |        k        |        k + 1        |
//   tile            |                     |
//                   0 ... boundary    ... 64            columns of the tile
#pragma once

#include "device/attention/forward.cuh"

namespace device {

constexpr int kScaleRows = 64;  // of Q, K or V, that share a scale

__device__ __forceinline__ int scale_blocks(int rows) {
  return rows / kScaleRows + (rows % kScaleRows != 0);
}

// The scales of a tile of keys, in K or in V: `first` before the boundary, then `second`.
struct TileScales {
  float first, second;
  int boundary;
};

// Of the head's blocks of K or V.
class KeyScales {
 public:
  // `scales`: [batch, kv_heads, blocks]; null: there are none.
  __device__ __forceinline__ KeyScales(const float* scales, const ForwardArguments& x,
                                       const QueryTile& tile)
      : scales_(scales), first_row_(tile.first_key) {
    const bool packed = x.sequences.query_starts != nullptr;
    const int key_rows = packed ? x.sequences.batch * x.sequences.keys : x.sequences.keys;
    const int head = blockIdx.y, kv_head = head / x.group, kv_heads = x.heads / x.group;
    last_block_ = scale_blocks(key_rows) - 1;
    if (scales)
      scales_ += (static_cast<long long>(tile.batch) * kv_heads + kv_head) * (last_block_ + 1);
  }

  __device__ __forceinline__ bool any() const { return scales_ != nullptr; }

  // Of 64 keys from `first_key` on, which counts from the sequence's first.
  __device__ __forceinline__ TileScales of_tile(int first_key) const {
    const int row = first_row_ + first_key, block = row / kScaleRows;
    return {scales_[block], scales_[min(block + 1, last_block_)], kScaleRows - row % kScaleRows};
  }

 private:
  const float* scales_;
  int first_row_, last_block_;  // of the sequence's keys; of the tensor
};

class BlockLogits : public Logits {
 public:
  __device__ __forceinline__ BlockLogits(const ForwardArguments& x, const OwnQueries& rows,
                                         float scale)
      : Logits(scale, x.softcap, x.bias || x.sink || x.q_blocks),
        scale_(scale),
        keys_(x.k_blocks, x, rows.tile) {
    if (!x.q_blocks) return;
    const QueryTile& tile = rows.tile;
    const int head = blockIdx.y;
    const float* const of_head =
        x.q_blocks +
        (static_cast<long long>(tile.batch) * x.heads + head) * scale_blocks(x.length());
#pragma unroll
    for (int i = 0; i < 2; ++i)
      query_[i] = of_head[(tile.first_query + min(rows.query[i], tile.queries - 1)) / kScaleRows];
  }

  __device__ __forceinline__ void scale(Strip<kAttentionRows>& x, int first_key) const {
    if (!keys_.any()) {
      Logits::scale(x, first_key);
      return;
    }
    const TileScales keys = keys_.of_tile(first_key);
    // Of the lane, counted from its first column.
    const int boundary = keys.boundary - static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float low = factor(query_[i], keys.first), high = factor(query_[i], keys.second);
      each_of_row(x, i,
                  [&](float& z, int column) { z = __fmul_rn(z, column < boundary ? low : high); });
    }
    cap(x);
  }

 private:
  __device__ __forceinline__ float factor(float q, float k) const {
    const float in_effect = __fmul_rn(scale_, __fmul_rn(q, k));
    return softcap_ != 0.0f ? __fdiv_rn(in_effect, softcap_) : in_effect;
  }

  float scale_;
  float query_[2];  // scales of the lane's rows
  KeyScales keys_;
};

}  // namespace device
