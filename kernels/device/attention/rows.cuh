// SPDX-License-Identifier: MIT
// Which queries a block of an attention kernel works on, where their sequence lies in the tensors,
// and which keys they see.
#pragma once

#include "device/attention/tile.cuh"

namespace device {

// Keys first ... end - 1 of a sequence; none when end <= first.
struct KeyRange {
  int first, end;

  __device__ __forceinline__ bool contains(int key) const { return first <= key && key < end; }

  // The same keys, counted from `origin`.
  __device__ __forceinline__ KeyRange relative_to(int origin) const {
    return {first - origin, end - origin};
  }
};

// The mask of one sequence. The corner of the scores that the causal diagonal ends in: its queries
// and keys are counted from the end (bottom right) or from the start (top left).
struct SequenceMask {
  int causal;                     // 0 none, 1 bottom right, 2 top left
  int window_left, window_right;  // keys to either side of a query's own; negative: all
  int queries, keys;              // of the sequence

  __device__ __forceinline__ KeyRange visible(int query) const {
    const long long own = query + (causal == 2 ? 0LL : static_cast<long long>(keys) - queries);
    long long first = 0, end = keys;
    if (causal != 0) end = min(end, own + 1);
    if (window_left >= 0) first = max(first, own - window_left);
    if (window_right >= 0) end = min(end, own + window_right + 1);
    return {static_cast<int>(min(first, static_cast<long long>(keys))),
            static_cast<int>(max(end, 0LL))};
  }
};

// The sequences of a problem: `batch` of one length each, or (where starts are given) packed one
// after the other in tensors of batch * queries and batch * keys rows.
struct Sequences {
  int batch, queries, keys;
  const int *query_starts, *key_starts;  // [batch + 1]; null: all of one length
};

// One sequence, and 64 of its queries.
struct QueryTile {
  int sequence = 0;                  // counted through; one past the last for the rows after it
  int batch = 0;                     // where the tensors have a dimension for it
  int first_query = 0, queries = 0;  // of the sequence: its place in the tensors, its length
  int first_key = 0, keys = 0;
  int row = 0;  // the tile's first query, within the sequence

  // The `tile`-th tile of all sequences, one after the other. Rows after the last packed sequence
  // count as one more, which has no keys. No queries: there is no such tile.
  __device__ __forceinline__ QueryTile(const Sequences& all, unsigned tile) {
    constexpr unsigned kRows = kAttentionRows;
    if (!all.query_starts) {
      const unsigned tiles = (static_cast<unsigned>(all.queries) + kRows - 1) / kRows;
      batch = sequence = static_cast<int>(tile / tiles);
      queries = all.queries;
      keys = all.keys;
      row = static_cast<int>(tile % tiles * kRows);
      return;
    }
    for (int i = 0; i <= all.batch; ++i) {
      const int first = all.query_starts[i];
      const int end = i < all.batch ? all.query_starts[i + 1] : all.batch * all.queries;
      const unsigned tiles = (static_cast<unsigned>(end - first) + kRows - 1) / kRows;
      if (tile < tiles) {
        sequence = i;
        first_query = first;
        queries = end - first;
        if (i < all.batch) {
          first_key = all.key_starts[i];
          keys = all.key_starts[i + 1] - first_key;
        }
        row = static_cast<int>(tile * kRows);
        return;
      }
      tile -= tiles;
    }
  }
};

// How a [batch, heads, rows, width] matrix lies in memory, in elements.
struct MatrixStrides {
  long long batch, head, row;

  __device__ __forceinline__ long long at(int batch_, int head_, int row_) const {
    return batch_ * batch + head_ * head + row_ * row;
  }
};

// A sequence's rows of one head.
template <typename Element = Bf16>
__device__ __forceinline__ HeadRows head_rows(const void* matrix, const MatrixStrides& strides,
                                              int batch, int head, int first, int rows, int width) {
  using Bits = typename Element::Bits;
  return {
      __cvta_generic_to_global(static_cast<const Bits*>(matrix) + strides.at(batch, head, first)),
      strides.row * Element::kBytes, rows, width * Element::kBytes};
}

}  // namespace device
