// SPDX-License-Identifier: MIT
// The launches of attention backward. Given delta, both passes compute S and dP again, a tile of 64
// queries by 64 keys at a time: one thread block takes 64 keys and walks over the queries that see
// them, head by head of those that share the keys; another takes 64 queries of a head and walks
// over the keys they see. What a block owns stays in shared memory. Of what it walks over there is
// one buffer for each of the two matrices; while one is multiplied, the other is filled:
//
//   keys       load     dO0   Q0               dO1   Q1      queries   load     V0   K0         V1
//              compute        dP0  S0  dV0  |  dK0   dP1               compute       dP0  S0 dQ0
#pragma once

#include "device/attention/output.cuh"
#include "device/attention_backward/formats.cuh"

namespace device {

// A row of queries for each warp of a block, of head blockIdx.y and batch element blockIdx.z.
struct WarpRow {
  int batch, head, row;
  bool exists;
  long long index;  // in LSE and delta

  __device__ __forceinline__ explicit WarpRow(const BackwardArguments& x)
      : batch(blockIdx.z), head(blockIdx.y) {
    row = static_cast<int>(blockIdx.x * (kAttentionThreads / 32) + threadIdx.x / 32);
    exists = row < x.length();
    index = (static_cast<long long>(batch) * x.heads + head) * x.length() + row;
  }

  // The lane's columns.
  template <typename Step>
  __device__ __forceinline__ static void each_column(int width, const Step& step) {
    for (int column = static_cast<int>(threadIdx.x) % 32; column < width; column += 32)
      step(column);
  }
};

// delta of the block's rows.
template <typename Formats>
__device__ __forceinline__ void row_deltas(const BackwardArguments& x) {
  const WarpRow row(x);
  if (!row.exists) return;
  const long long first = x.strides_o.at(row.batch, row.head, row.row);
  const Bits16* const o = static_cast<const Bits16*>(x.o) + first;
  float sum = 0.0f;
  row.each_column(x.width_v, [&](int column) {
    sum =
        __fadd_rn(sum, __fmul_rn(Formats::load(x.d_o, first + column), OutBf16::load(o + column)));
  });
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, distance));
  if (threadIdx.x % 32 == 0) x.delta[row.index] = Formats(x).delta(sum);
}

// The block's 64 rows of what it owns, and the two of them that this lane holds part of.
struct OwnRows {
  int warp_row;  // the warp's first row within the tile
  int row[2];    // the lane's two, within the sequence
  bool exists[2];
  KeyRange others[2];  // what they go with: the keys a query sees, the queries that see a key
  KeyRange tiles;      // the tiles that hold one any of the block's rows goes with

  // `range_of(row)`: what a row goes with; both ends rise from row to row.
  template <typename Range>
  __device__ __forceinline__ OwnRows(int first, int rows, const Range& range_of)
      : warp_row(static_cast<int>(threadIdx.x) / 32 * 16) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      row[i] = first + warp_row + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * i;
      exists[i] = row[i] < rows;
      others[i] = exists[i] ? range_of(row[i]) : KeyRange{0, 0};
    }
    const int last = min(first + kAttentionRows, rows) - 1;
    const int end = range_of(last).end;
    tiles.first = range_of(first).first / kAttentionRows;
    tiles.end = max(end / kAttentionRows + (end % kAttentionRows != 0), tiles.first);
  }
};

// A gradient times `factor`; `first` is where the sequence begins in the matrix. Element: of the
// product that x comes from.
template <int kWidth, typename Element>
__device__ __forceinline__ void store_gradient(Strip<kWidth>& x, float factor, const OwnRows& rows,
                                               int out, void* matrix, long long first,
                                               long long stride, int width) {
  each<kWidth>(x, [&](float& value) { value = __fmul_rn(value, factor); });
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (rows.exists[i])
      store_row_as<kWidth, Element>(out, x, i, matrix, first + rows.row[i] * stride, width);
  }
}

// dK and dV of 64 keys of one head of K and V, or one of the two. `use(head, first_query, ds)` is
// called by all threads with the ds of every tile, whose rows are keys, and columns queries.
template <int kWidth, bool kOfK, bool kOfV, typename Formats, typename Use>
__device__ __forceinline__ void key_gradients(const BackwardArguments& x, const Use& use) {
  using Element = typename Formats::Element;
  using Gradient = typename Formats::Gradient;
  using Tile = AttentionTile<kWidth, Element>;
  using Loader = RowLoader<kWidth, Element>;
  using GradientLoader = RowLoader<kWidth, Gradient>;
  const QueryTile tile = key_tile(x.sequences, blockIdx.x);
  if (tile.keys == 0) return;
  const int kv_head = blockIdx.y;
  const SequenceMask mask = x.mask(tile);
  const OwnRows keys(tile.row, tile.keys, [&](int key) { return queries_that_see(mask, key); });
  const int tiles = keys.tiles.end - keys.tiles.first, steps = tiles * x.group;
  const auto head_of = [&](int step) {
    return QueryHead::of<Formats>(x, tile, kv_head * x.group + step / tiles);
  };
  const auto first_query_of = [&](int step) {
    return (keys.tiles.first + step % tiles) * kAttentionRows;
  };
  const Bits32 tile_k = attention_memory(), tile_v = tile_k + Tile::kBytes,
               tile_q = tile_v + Tile::kBytes, tile_do = tile_q + Tile::kBytes;

  const Formats formats(x);
  const Weights weights(x, formats.scores);
  Strip<kWidth> dk = {}, dv = {};
  if (steps > 0) {
    Loader(x.k_rows<Element>(tile, kv_head)).load(tile_k, tile.row);
    if (kOfK) Loader(x.v_rows<Element>(tile, kv_head)).load(tile_v, tile.row);
    GradientLoader(head_of(0).d_o).load(tile_do, first_query_of(0));
    cp_async_commit();
  }
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const QueryHead head = head_of(step);
    const int first_query = first_query_of(step);
    // dO is there for all warps, and all are done with the Q before.
    cp_async_wait<0>();
    __syncthreads();
    Loader(head.q).load(tile_q, first_query);
    cp_async_commit();
    Strip<kAttentionRows> s = {}, dp = {};
    if (kOfK) {
      multiply_rows<kWidth, Element, Gradient>(dp, tile_v, keys.warp_row, tile_do, x.width_v);
      formats.scale_dp(dp);
    }

    // Q is there for all warps.
    cp_async_wait<0>();
    __syncthreads();
    multiply_rows<kWidth, Element>(s, tile_k, keys.warp_row, tile_q, x.d);
    const int lane_query = first_query + static_cast<int>(threadIdx.x) % 4 * 2;
    weights.apply(
        s, dp, keys.others, lane_query, [&](int, int query) { return head.terms(query); },
        [&](int i, int query) { return head.bias_at(query, keys.row[i], tile.keys); });
    if (kOfV) formats.template add_p<kWidth>(dv, s, tile_do, x.width_v);

    // All are done with dO.
    __syncthreads();
    if (step + 1 < steps)
      GradientLoader(head_of(step + 1).d_o).load(tile_do, first_query_of(step + 1));
    cp_async_commit();
    if (kOfK) formats.template add_ds<kWidth>(dk, dp, tile_q, x.d);
    use(head, first_query, dp);
  }
  if (kOfK) {
    store_gradient<kWidth, Element>(dk, formats.dk, keys, x.out, x.dk,
                                    x.strides_dk.at(tile.batch, kv_head, tile.first_key),
                                    x.strides_dk.row, x.d);
  }
  if (kOfV) {
    store_gradient<kWidth, Element>(dv, formats.dv, keys, x.out, x.dv,
                                    x.strides_dv.at(tile.batch, kv_head, tile.first_key),
                                    x.strides_dv.row, x.width_v);
  }
}

template <int kWidth, bool kOfK, bool kOfV, typename Formats>
__device__ __forceinline__ void key_gradients(const BackwardArguments& x) {
  key_gradients<kWidth, kOfK, kOfV, Formats>(x, [](auto&...) {});
}

// dQ of 64 queries of one head.
template <int kWidth, typename Formats>
__device__ __forceinline__ void query_gradients(const BackwardArguments& x) {
  using Element = typename Formats::Element;
  using Gradient = typename Formats::Gradient;
  using Tile = AttentionTile<kWidth, Element>;
  using Loader = RowLoader<kWidth, Element>;
  const QueryTile tile(x.sequences, blockIdx.x);
  if (tile.queries == 0) return;
  const int kv_head = static_cast<int>(blockIdx.y) / x.group;
  const QueryHead head = QueryHead::of<Formats>(x, tile, blockIdx.y);
  const Loader k(x.k_rows<Element>(tile, kv_head)), v(x.v_rows<Element>(tile, kv_head));
  const SequenceMask mask = x.mask(tile);
  const OwnRows queries(tile.row, tile.queries, [&](int query) { return mask.visible(query); });
  const QueryTerms terms[2] = {head.terms(queries.row[0]), head.terms(queries.row[1])};
  const Bits32 tile_q = attention_memory(), tile_do = tile_q + Tile::kBytes,
               tile_k = tile_do + Tile::kBytes, tile_v = tile_k + Tile::kBytes;

  const Formats formats(x);
  const Weights weights(x, formats.scores);
  Strip<kWidth> dq = {};
  if (queries.tiles.first < queries.tiles.end) {
    Loader(head.q).load(tile_q, tile.row);
    RowLoader<kWidth, Gradient>(head.d_o).load(tile_do, tile.row);
    v.load(tile_v, queries.tiles.first * kAttentionRows);
    cp_async_commit();
  }
#pragma unroll 1
  for (int step = queries.tiles.first; step < queries.tiles.end; ++step) {
    // V is there for all warps, and all are done with the K before.
    cp_async_wait<0>();
    __syncthreads();
    k.load(tile_k, step * kAttentionRows);
    cp_async_commit();
    Strip<kAttentionRows> s = {}, dp = {};
    multiply_rows<kWidth, Gradient, Element>(dp, tile_do, queries.warp_row, tile_v, x.width_v);
    formats.scale_dp(dp);

    // K is there for all warps, and all are done with V.
    cp_async_wait<0>();
    __syncthreads();
    if (step + 1 < queries.tiles.end) v.load(tile_v, (step + 1) * kAttentionRows);
    cp_async_commit();
    multiply_rows<kWidth, Element>(s, tile_q, queries.warp_row, tile_k, x.d);
    const int lane_key = step * kAttentionRows + static_cast<int>(threadIdx.x) % 4 * 2;
    weights.apply(
        s, dp, queries.others, lane_key, [&](int i, int) { return terms[i]; },
        [&](int i, int key) { return head.bias_at(queries.row[i], key, tile.keys); });
    formats.template add_ds<kWidth>(dq, dp, tile_k, x.d);
  }
  store_gradient<kWidth, Element>(dq, formats.dq, queries, x.out, x.dq,
                                  x.strides_q.at(tile.batch, blockIdx.y, tile.first_query),
                                  x.strides_q.row, x.d);
}

}  // namespace device
