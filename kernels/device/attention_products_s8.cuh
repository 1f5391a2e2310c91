// SPDX-License-Identifier: MIT
// Attention with 8-bit integers in Q and K, and P and V in f16. Scores are exact. Every 64 rows of
// Q and of K, as they lie in the tensors, may have a scale: the two of a query and a key are a
// factor of their score alone, so logits are kept in natural units.
//
// Where sequences are packed, a tile of 64 keys begins anywhere and may lie in two blocks:
//
//   blocks   |        k        |        k + 1        |
//   tile            |                     |
//                   0 ... kBoundary   ... 64            columns of the tile
#pragma once

#include "device/attention_forward.cuh"

namespace device {

constexpr int kScaleRows = 64;  // of Q or K, that share a scale

__device__ __forceinline__ int scale_blocks(int rows) {
  return rows / kScaleRows + (rows % kScaleRows != 0);
}

class BlockLogits : public Logits {
 public:
  __device__ __forceinline__ BlockLogits(const ForwardArguments& x, const OwnQueries& rows,
                                         float scale)
      : Logits(scale, x.softcap, x.bias || x.sink || x.q_blocks), scale_(scale) {
    if (!x.q_blocks) return;
    const QueryTile& tile = rows.tile;
    const bool packed = x.sequences.query_starts != nullptr;
    const int key_rows = packed ? x.sequences.batch * x.sequences.keys : x.sequences.keys;
    const int head = blockIdx.y, kv_head = head / x.group, kv_heads = x.heads / x.group;
    const float* const of_head =
        x.q_blocks +
        (static_cast<long long>(tile.batch) * x.heads + head) * scale_blocks(x.length());
#pragma unroll
    for (int i = 0; i < 2; ++i)
      query_[i] = of_head[(tile.first_query + min(rows.query[i], tile.queries - 1)) / kScaleRows];
    last_block_ = scale_blocks(key_rows) - 1;
    keys_ =
        x.k_blocks + (static_cast<long long>(tile.batch) * kv_heads + kv_head) * (last_block_ + 1);
    first_row_ = tile.first_key;
  }

  __device__ __forceinline__ void scale(Strip<kAttentionRows>& x, int first_key) const {
    if (!keys_) {
      Logits::scale(x, first_key);
      return;
    }
    const int row = first_row_ + first_key, block = row / kScaleRows;
    const float first = keys_[block], second = keys_[min(block + 1, last_block_)];
    // Of the lane, counted from its first column.
    const int boundary = kScaleRows - row % kScaleRows - static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float low = factor(query_[i], first), high = factor(query_[i], second);
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
  float query_[2];               // scales of the lane's rows
  const float* keys_ = nullptr;  // of the head's blocks
  int first_row_, last_block_;   // of the sequence's keys
};

template <>
struct AttentionProducts<S8> {
  using Value = F16;

  __device__ __forceinline__ static BlockLogits logits(const ForwardArguments& x,
                                                       const OwnQueries& rows, float scale) {
    return BlockLogits(x, rows, scale);
  }
};

}  // namespace device
