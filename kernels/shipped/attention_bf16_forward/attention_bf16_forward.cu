// SPDX-License-Identifier: MIT
// attention_bf16_forward: O = softmax(scale * Q * K^T) * V and the log-sum-exp of every row, on
// bf16 tensor cores, with an online softmax (device/attention/forward_block.cuh).
//
// The arithmetic is that of the contract in attention_bf16_forward.toml, with explicit roundings
// only (and the file is compiled with -fmad=false), so the PTX fixes every bit.
#include "device/attention/forward_block.cuh"

// Entry points attention_bf16_forward_<padded width>; the parameters are listed, in this order, in
// attention_bf16_forward.toml.
// clang-format off
#define ATTENTION_ENTRY(width)                                                                    \
  extern "C" __global__ void __launch_bounds__(device::kAttentionThreads)                         \
  attention_bf16_forward_##width(                                                                 \
      const void* q, const void* k, const void* v, const float* bias, const float* sink,          \
      const int* query_starts, const int* key_starts, void* o, float* lse, int batch, int heads,  \
      int group, int queries, int keys, int d, int width_v, int causal, int window_left,          \
      int window_right, float softcap, float scale, long long q_batch, long long q_head,          \
      long long q_row, long long k_batch, long long k_head, long long k_row, long long v_batch,   \
      long long v_head, long long v_row, long long o_batch, long long o_head, long long o_row,    \
      int out) {                                                                                  \
    device::attention_forward<width>(                                                             \
        {q, k, v, bias, sink, o, lse, {batch, queries, keys, query_starts, key_starts}, heads,    \
         group, d, width_v, causal, window_left, window_right, softcap, scale,                    \
         {q_batch, q_head, q_row}, {k_batch, k_head, k_row}, {v_batch, v_head, v_row},            \
         {o_batch, o_head, o_row}, out});                                                         \
  }
// clang-format on

ATTENTION_ENTRY(64)
ATTENTION_ENTRY(128)
ATTENTION_ENTRY(256)
