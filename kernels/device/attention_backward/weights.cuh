// SPDX-License-Identifier: MIT
// What the kernels of attention backward share: the arguments, what the forward pass left of a row
// of queries, and the two weights that a query and a key give each other,
//
//   p  = exp(logit - LSE)       of which dV takes its share of dO,
//   ds = p * (dO . v - delta)   of which dK takes its share of Q, and dQ of K.
//
// Every operation is one rounding, as oracles/bounds/contract/attention_backward.h promises it.
// Tiles are those of the forward pass: 64 queries and 64 keys, of which a warp takes 16 of the ones
// whose gradient it sums, and all of the others. Weights never leave the registers.
#pragma once

#include "device/attention/rows.cuh"
#include "device/attention/softmax.cuh"

namespace device {

struct BackwardArguments {
  const void *q, *k, *v, *o, *d_o;
  const float *lse, *bias;  // [batch, heads, queries]; [heads, queries, keys], or null
  void *dq, *dk, *dv;
  float* delta;  // [batch, heads, queries]
  Sequences sequences;
  int heads, group;  // query heads, and how many share a head of K and V
  int d, width_v;
  int causal, window_left, window_right;
  float softcap, scale;
  // dQ lies as Q does, dO as O; dK and dV as K and V where those are not shared by the batch.
  MatrixStrides strides_q, strides_k, strides_v, strides_o, strides_dk, strides_dv;
  int out;  // kCode of the gradients' format
  // What Q's, K's, V's and dO's elements stand for, times themselves, and what dS is multiplied by
  // before it is rounded; null: 1.
  const float *q_scale = nullptr, *k_scale = nullptr, *v_scale = nullptr;
  const float *do_scale = nullptr, *ds_scale = nullptr;

  // Rows of LSE and delta of one head.
  __device__ __forceinline__ int length() const {
    return sequences.query_starts ? sequences.batch * sequences.queries : sequences.queries;
  }

  template <typename Element>
  __device__ __forceinline__ HeadRows k_rows(const QueryTile& tile, int kv_head) const {
    return head_rows<Element>(k, strides_k, tile.batch, kv_head, tile.first_key, tile.keys, d);
  }

  template <typename Element>
  __device__ __forceinline__ HeadRows v_rows(const QueryTile& tile, int kv_head) const {
    return head_rows<Element>(v, strides_v, tile.batch, kv_head, tile.first_key, tile.keys,
                              width_v);
  }

  __device__ __forceinline__ SequenceMask mask(const QueryTile& tile) const {
    return {causal, window_left, window_right, tile.queries, tile.keys};
  }
};

// A sequence and 64 of its keys: `row` is the first of them.
__device__ __forceinline__ QueryTile key_tile(const Sequences& all, unsigned tile) {
  QueryTile place({all.batch, all.keys, all.queries, all.key_starts, all.query_starts}, tile);
  const QueryTile other = place;
  place.first_query = other.first_key;
  place.queries = other.keys;
  place.first_key = other.first_query;
  place.keys = other.queries;
  return place;
}

// The queries that see a key: SequenceMask::visible() the other way round.
__device__ __forceinline__ KeyRange queries_that_see(const SequenceMask& mask, int key) {
  const long long own =
      key - (mask.causal == 2 ? 0LL : static_cast<long long>(mask.keys) - mask.queries);
  long long first = 0, end = mask.queries;
  if (mask.causal != 0) first = max(first, own);
  if (mask.window_right >= 0) first = max(first, own - mask.window_right);
  if (mask.window_left >= 0) end = min(end, own + mask.window_left + 1);
  return {static_cast<int>(min(first, static_cast<long long>(mask.queries))),
          static_cast<int>(max(end, 0LL))};
}

// What a row of queries brings along.
struct QueryTerms {
  float lse, delta;
};

// One query head of a sequence.
struct QueryHead {
  HeadRows q, d_o;
  const float *lse, *delta, *bias;  // of the sequence's first query

  // Formats: of the matrices' elements (formats.cuh).
  template <typename Formats>
  __device__ __forceinline__ static QueryHead of(const BackwardArguments& x, const QueryTile& tile,
                                                 int head) {
    const long long row =
        (static_cast<long long>(tile.batch) * x.heads + head) * x.length() + tile.first_query;
    return {head_rows<typename Formats::Element>(x.q, x.strides_q, tile.batch, head,
                                                 tile.first_query, tile.queries, x.d),
            head_rows<typename Formats::Gradient>(x.d_o, x.strides_o, tile.batch, head,
                                                  tile.first_query, tile.queries, x.width_v),
            x.lse + row, x.delta + row,
            x.bias ? x.bias + static_cast<long long>(head) * tile.queries * tile.keys : nullptr};
  }

  // Of a query, or of the last one if there are fewer.
  __device__ __forceinline__ QueryTerms terms(int query) const {
    const int row = min(query, q.rows - 1);
    return {lse[row], delta[row]};
  }

  // Where the bias of a query and a key of the sequence lies; null without a bias.
  __device__ __forceinline__ const float* bias_at(int query, int key, int keys) const {
    return bias ? bias + static_cast<long long>(query) * keys + key : nullptr;
  }
};

class Weights {
 public:
  // `scale`: what q . k is multiplied by.
  __device__ __forceinline__ Weights(const BackwardArguments& x, float scale)
      : biased_(x.bias != nullptr),
        softcap_(x.softcap),
        factor_(softcap_ != 0.0f ? __fdiv_rn(scale, softcap_) : scale) {}

  // q . k becomes p, and dO . v becomes ds, for the lane's two rows and its columns of a tile.
  // visible[i]: which columns of the tile row i goes with. `terms(i, column)` are those of their
  // query, `biases(i, column)` is where their bias lies, or null.
  template <typename Terms, typename Biases>
  __device__ __forceinline__ void apply(Strip<kAttentionRows>& s, Strip<kAttentionRows>& dp,
                                        const KeyRange (&visible)[2], int first_column,
                                        const Terms& terms, const Biases& biases) const {
    if (softcap_ != 0.0f) {
      apply<kCapped>(s, dp, visible, first_column, terms, biases);
    } else if (biased_) {
      apply<kBiased>(s, dp, visible, first_column, terms, biases);
    } else {
      apply<kPlain>(s, dp, visible, first_column, terms, biases);
    }
  }

 private:
  // Scores times the scale; with a bias, if there is one; with a softcap too.
  enum Logits { kPlain, kBiased, kCapped };

  template <Logits kLogits, typename Terms, typename Biases>
  __device__ __forceinline__ void apply(Strip<kAttentionRows>& s, Strip<kAttentionRows>& dp,
                                        const KeyRange (&visible)[2], int first_column,
                                        const Terms& terms, const Biases& biases) const {
    const KeyRange columns[2] = {visible[0].relative_to(first_column),
                                 visible[1].relative_to(first_column)};
#pragma unroll
    for (int j = 0; j < kAttentionRows / 8; ++j)
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const int i = v / 2, column = 8 * j + v % 2;
        const bool sees = columns[i].contains(column);
        const float* const bias =
            kLogits != kPlain && sees ? biases(i, first_column + column) : nullptr;
        weigh<kLogits>(s[j][v], dp[j][v], sees, terms(i, first_column + column), bias);
      }
  }

  template <Logits kLogits>
  __device__ __forceinline__ void weigh(float& s, float& dp, bool sees, const QueryTerms& row,
                                        const float* bias) const {
    float z = __fmul_rn(s, factor_), slope;
    if constexpr (kLogits == kCapped) {
      const float t = tanh_approximate(z);
      z = __fmul_rn(softcap_, t);
      slope = __fsub_rn(1.0f, __fmul_rn(t, t));
    }
    if constexpr (kLogits != kPlain) z = __fadd_rn(z, bias ? *bias : 0.0f);
    // The difference comes first: of a row that a bias of -1e10 hides whole, z * kLog2E is known to
    // some hundreds only.
    const float p = exp2_approximate(__fmul_rn(__fsub_rn(z, row.lse), kLog2E));
    float ds = __fmul_rn(p, __fsub_rn(dp, row.delta));
    if constexpr (kLogits == kCapped) ds = __fmul_rn(ds, slope);
    // A row that saw no key has an infinite LSE.
    const bool counts = sees && !isinf(row.lse);
    s = counts ? p : 0.0f;
    dp = counts ? ds : 0.0f;
  }

  bool biased_;
  float softcap_, factor_;
};

}  // namespace device
