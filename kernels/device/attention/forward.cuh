// SPDX-License-Identifier: MIT
// The main loop of attention forward: one thread block takes 64 queries of one head and walks over
// keys, 64 at a time; each of its 4 warps has 16 queries. Scores never leave the registers, Q stays
// in shared memory; there is one buffer for K and one for V, and while either is multiplied, the
// other is filled:
//
//   load     K0   V0   K1      V1  K2 ...
//   compute       QK0  PV0     QK1 PV1 ...
#pragma once

#include "device/attention/rows.cuh"
#include "device/attention/softmax.cuh"

namespace device {

// What an attention kernel is given.
struct ForwardArguments {
  const void *q, *k, *v;
  const float *bias, *sink;  // [heads, queries, keys], [heads]; or null
  void* o;
  float* lse;  // [batch, heads, queries]
  Sequences sequences;
  int heads, group;  // query heads, and how many share a head of K and V
  int d, width_v;
  int causal, window_left, window_right;
  float softcap, scale;
  MatrixStrides strides_q, strides_k, strides_v, strides_o;
  int out;  // kCode of O's format
  // [sequences, heads], for K and V [sequences, kv_heads]; null: 1
  const float *q_scale = nullptr, *k_scale = nullptr, *v_scale = nullptr;
  // One per 64 rows as they lie: [batch, heads, blocks], [batch, kv_heads, blocks]; null: 1
  const float *q_blocks = nullptr, *k_blocks = nullptr, *v_blocks = nullptr;

  // Rows of Q and O in one head: those of all packed sequences.
  __device__ __forceinline__ int length() const {
    return sequences.query_starts ? sequences.batch * sequences.queries : sequences.queries;
  }

  // Rows of O and elements of LSE, counted as these lie in memory.
  __device__ __forceinline__ long long all_rows() const {
    return static_cast<long long>(sequences.batch) * heads * sequences.queries;
  }

  __device__ __forceinline__ long long row(int batch, int head, int query) const {
    return (static_cast<long long>(batch) * heads + head) * length() + query;
  }
};

// The block's queries, and the two of them that this lane holds part of.
struct OwnQueries {
  QueryTile tile;
  int warp_row;         // the warp's first row within the tile
  int query[2];         // the lane's two, within the sequence
  KeyRange visible[2];  // the keys they see
  KeyRange key_tiles;   // the tiles of keys that hold one any of the block's queries sees

  __device__ __forceinline__ explicit OwnQueries(const ForwardArguments& x)
      : tile(x.sequences, blockIdx.x) {
    warp_row = static_cast<int>(threadIdx.x) / 32 * 16;
    const SequenceMask mask{x.causal, x.window_left, x.window_right, tile.queries, tile.keys};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      query[i] = tile.row + warp_row + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * i;
      visible[i] = exists(i) ? mask.visible(query[i]) : KeyRange{0, 0};
    }
    const int last = min(tile.queries - tile.row, kAttentionRows) - 1;
    const int first = mask.visible(tile.row).first, end = mask.visible(tile.row + last).end;
    key_tiles = {first / kAttentionRows, end / kAttentionRows + (end % kAttentionRows != 0)};
  }

  __device__ __forceinline__ bool exists(int i) const { return query[i] < tile.queries; }
};

// What the kernel with this element in Q and K has in P and V, and how its scores become logits.
template <typename Element>
struct AttentionProducts {
  using Value = Element;

  __device__ __forceinline__ static Logits logits(const ForwardArguments& x, const OwnQueries& rows,
                                                  float scale) {
    return Logits(scale, x.softcap, x.bias || x.sink);
  }
};

// How a tile's products with V come to O. Value: of P and V.
template <typename Value>
class ValueProducts {
 public:
  __device__ __forceinline__ ValueProducts(const ForwardArguments&, const QueryTile&) {}

  // o += P * V; V: the first `width` columns of `tile`, whose first row is that of `first_key`.
  template <int kWidth, typename Fragments>
  __device__ __forceinline__ void add(Strip<kWidth>& o, const Fragments& p, Bits32 tile, int width,
                                      int) const {
    multiply_strip<kWidth, Value>(o, p, tile, width);
  }
};

// Scores of the tile of keys from `first_key` on become logits; -inf where a key is not visible.
template <typename AnyLogits>
__device__ __forceinline__ void make_logits(Strip<kAttentionRows>& x, const AnyLogits& logits,
                                            const OwnQueries& rows, int first_key,
                                            const float* bias) {
  constexpr int kLastColumn = kAttentionRows - 7;  // of a lane, counted from its first
  logits.scale(x, first_key);
  const int lane_key = first_key + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const KeyRange visible = rows.visible[i].relative_to(lane_key);
    if (bias) {
      const float* const row = bias + static_cast<long long>(rows.query[i]) * rows.tile.keys;
      each_of_row(x, i, [&](float& z, int column) {
        if (visible.contains(column)) z = __fadd_rn(z, row[lane_key + column]);
      });
    }
    if (visible.contains(0) && visible.contains(kLastColumn)) continue;
    each_of_row(x, i, [&](float& z, int column) {
      if (!visible.contains(column)) z = minus_infinity();
    });
  }
}

// The sums of the block's queries over tiles of keys: o = P * V and the softmax, relative to the
// maxima so far. `kWidth`: what d and width_v are padded to; Element: of Q and K.
template <int kWidth, typename Element = Bf16, typename AnyLogits>
__device__ __forceinline__ void attend(Strip<kWidth>& o, SoftmaxRow (&softmax)[2],
                                       const ForwardArguments& x, const AnyLogits& logits,
                                       const OwnQueries& rows, const KeyRange& key_tiles) {
  if (key_tiles.first >= key_tiles.end) return;
  using Value = typename AttentionProducts<Element>::Value;
  using Tile = AttentionTile<kWidth, Element>;
  using Loader = RowLoader<kWidth, Element>;
  const QueryTile& tile = rows.tile;
  const int head = blockIdx.y, kv_head = head / x.group;
  const Loader q(
      head_rows<Element>(x.q, x.strides_q, tile.batch, head, tile.first_query, tile.queries, x.d));
  const Loader k(
      head_rows<Element>(x.k, x.strides_k, tile.batch, kv_head, tile.first_key, tile.keys, x.d));
  const RowLoader<kWidth, Value> v(head_rows<Value>(x.v, x.strides_v, tile.batch, kv_head,
                                                    tile.first_key, tile.keys, x.width_v));
  const float* const bias =
      x.bias ? x.bias + static_cast<long long>(head) * tile.queries * tile.keys : nullptr;
  const Bits32 tile_q = attention_memory(), tile_k = tile_q + Tile::kBytes,
               tile_v = tile_k + Tile::kBytes;
  const ValueProducts<Value> values(x, tile);

  q.load(tile_q, tile.row);
  k.load(tile_k, key_tiles.first * kAttentionRows);
  cp_async_commit();
#pragma unroll 1
  for (int step = key_tiles.first; step < key_tiles.end; ++step) {
    // K is there for all warps, and all are done with the V before.
    cp_async_wait<0>();
    __syncthreads();
    v.load(tile_v, step * kAttentionRows);
    cp_async_commit();
    Strip<kAttentionRows> p;
    score_rows<kWidth, Element>(p, tile_q, rows.warp_row, tile_k, x.d);

    // V is there for all warps, and all are done with K.
    cp_async_wait<0>();
    __syncthreads();
    if (step + 1 < key_tiles.end) k.load(tile_k, (step + 1) * kAttentionRows);
    cp_async_commit();
    make_logits(p, logits, rows, step * kAttentionRows, bias);
    float factors[2];
    softmax_step(softmax, factors, p, logits.exponent);
    rescale<kWidth>(o, factors);
    Bits32 rounded[2 * Value::kBytes][4];
    round_strip<Value>(rounded, p);
    values.template add<kWidth>(o, rounded, tile_v, x.width_v, step * kAttentionRows);
  }
}

}  // namespace device
