// SPDX-License-Identifier: MIT
// AttentionProblem: one attention case as its oracle sees it, cut into heads. A head is one query
// head of one sequence; heads are independent of each other, and all mathematics is about one head.
//
//   s_ij = scale_ij * q_i . k_j, softcap * tanh(s_ij / softcap) if there is a cap, + bias_ij
//   p_ij = exp(s_ij) / l_i over the visible keys, l_i = sum of exp(s_ij) (+ exp(sink))
//   O_i  = sum_j p_ij v_scale_j v_j,   LSE_i = ln l_i, or log2 l_i
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "oracles/bounds/contract/attention.h"
#include "oracles/formats/tensor.h"
#include "oracles/reference/attention/mask.h"

namespace plumbline {

// Which logarithm LSE is; none: it is no output.
enum class LseKind : std::uint8_t { natural, base_2, none };

struct AttentionProblem {
  // [batch, heads, length, width]; sequences of varying length lie one after the other along
  // `length` of a single batch element. Tensors outlive the problem.
  const Tensor* q = nullptr;     // [batch, heads, queries, d]
  const Tensor* k = nullptr;     // [batch, kv_heads, keys, d]
  const Tensor* v = nullptr;     // [batch, kv_heads, keys, dv]
  const Tensor* bias = nullptr;  // [heads, queries, keys]; null: none. Not with varying lengths
  const Tensor* sink = nullptr;  // [heads]; null: none
  // What elements stand for, times themselves, f32; null: 1. [1] for all of the tensor. Or one per
  // head: [sequences, heads], for K and V [sequences, kv_heads]. Or, with scale_block > 0, one for
  // each such block of rows as they lie in the tensor, also across the ends of sequences: [batch,
  // heads, blocks], for K and V [batch, kv_heads, blocks]; V may go without.
  const Tensor* q_scale = nullptr;
  const Tensor* k_scale = nullptr;
  const Tensor* v_scale = nullptr;
  std::int64_t scale_block = 0;
  // [sequences + 1], s32: where each sequence begins; null: one sequence per batch element
  const Tensor* query_starts = nullptr;
  const Tensor* key_starts = nullptr;
  FormatId output = FormatId::bf16;
  LseKind lse = LseKind::natural;
  float scale = 1;
  float softcap = 0;  // 0: none
  AttentionMask mask;

  std::int64_t batch() const { return q->layout.shape[0]; }

  std::int64_t heads() const { return q->layout.shape[1]; }

  std::int64_t kv_heads() const { return k->layout.shape[1]; }

  std::int64_t d() const { return q->layout.shape[3]; }

  std::int64_t dv() const { return v->layout.shape[3]; }
};

// Where one head's rows lie.
struct HeadPlace {
  std::int64_t batch = 0, sequence = 0, head = 0, kv_head = 0;
  std::int64_t first_query = 0, queries = 0;  // rows of q, O and LSE
  std::int64_t first_key = 0, keys = 0;       // rows of k and v
};

// Every head of every sequence, empty ones too: by sequence, then head. Rows after the last
// sequence count as sequences of their own, one of queries without keys and one of keys without
// queries.
std::vector<HeadPlace> head_places(const AttentionProblem& problem);

// The scales of one head's Q, K and V; 1 where the problem has none of whole heads, and for rows
// after the last sequence.
struct HeadScales {
  float q = 1, k = 1, v = 1;
};

HeadScales head_scales(const AttentionProblem& problem, const HeadPlace& place);

// Of a scale tensor with one entry per block of rows, the entries of `rows` rows from `first` on.
// What lies outside of the tensor has the scale of the nearest block.
std::vector<float> block_scales(const AttentionProblem& problem, const Tensor& scales,
                                std::int64_t batch, std::int64_t head, std::int64_t first,
                                std::int64_t rows);

// What q . k is multiplied by, as the contract rounds it: all references take it as it is.
inline float scale_in_effect(float scale, const HeadScales& scales) {
  return scale * (scales.q * scales.k);
}

// One head's data, row-major and decoded exactly (all formats fit f32).
struct AttentionHead {
  std::int64_t queries = 0, keys = 0, d = 0, dv = 0;
  std::vector<float> q, k, v;  // [queries, d], [keys, d], [keys, dv]
  std::vector<float> bias;     // [queries, keys]; empty: none
  bool has_sink = false;
  float sink = 0;
  float scale = 1, softcap = 0;  // the scale in effect, but for those of blocks
  // Of every row, where they are of blocks; else empty.
  std::vector<float> q_scales, k_scales, v_scales;
  float v_scale = 1;                            // of all of V
  std::int64_t scale_block = 0, first_key = 0;  // rows of a block; where the tensor has key 0
  bool lse_in_base_2 = false;
  AttentionMask mask;

  bool scales_of_blocks() const { return !q_scales.empty(); }

  // What q_i . k_j is multiplied by.
  float scale_of(std::int64_t i, std::int64_t j) const {
    if (!scales_of_blocks()) return scale;
    return scale_in_effect(scale, {.q = q_scales[static_cast<std::size_t>(i)],
                                   .k = k_scales[static_cast<std::size_t>(j)]});
  }

  // What row j of V is multiplied by.
  float scale_of_value(std::int64_t j) const {
    return v_scales.empty() ? v_scale : v_scales[static_cast<std::size_t>(j)];
  }

  // Keys from `first` on, before `end`, whose products P . V a kernel adds before it scales them:
  // those whose rows of V lie in one block.
  std::int64_t end_of_values(std::int64_t first, std::int64_t end) const {
    if (v_scales.empty()) return end;
    return std::min(end, ((first_key + first) / scale_block + 1) * scale_block - first_key);
  }

  // A kernel keeps logits in natural units when something is done to them before the softmax, or
  // when they have no scale in common.
  bool natural_units() const {
    return softcap != 0 || !bias.empty() || has_sink || scales_of_blocks();
  }

  KeyRange visible(std::int64_t query) const { return mask.visible(query, queries, keys); }
};

AttentionHead attention_head(const AttentionProblem& problem, const HeadPlace& place);

}  // namespace plumbline
