// SPDX-License-Identifier: MIT
// attention_fp8_forward: O = softmax(scale * Q * K^T) * V and the log-sum-exp of every row, on e4m3
// tensor cores, with an online softmax (device/attention/forward_block.cuh) whose probabilities are
// rounded to e4m3 as well, and one scale for every head's Q, K and V, or for every 64 of their
// rows.
//
// The arithmetic is that of the contract in attention_fp8_forward.toml, with explicit roundings
// only (and the file is compiled with -fmad=false), so the PTX fixes every bit.
#include "device/attention/forward_e4m3.cuh"

#include "device/attention/forward_block.cuh"

// Entry points attention_fp8_forward_<padded width>; the parameters are listed, in this order, in
// attention_fp8_forward.toml.
// clang-format off
#define ATTENTION_ENTRY(width)                                                                    \
  extern "C" __global__ void __launch_bounds__(device::kAttentionThreads)                         \
  attention_fp8_forward_##width(                                                                  \
      const void* q, const void* k, const void* v, const float* bias, const float* sink,          \
      const float* q_scale, const float* k_scale, const float* v_scale,                           \
      const int* query_starts, const int* key_starts, void* o, float* lse, int batch, int heads,  \
      int group, int queries, int keys, int d, int width_v, int causal, int window_left,          \
      int window_right, float softcap, float scale, long long q_batch, long long q_head,          \
      long long q_row, long long k_batch, long long k_head, long long k_row, long long v_batch,   \
      long long v_head, long long v_row, long long o_batch, long long o_head, long long o_row,    \
      int blocks, int out) {                                                                      \
    const bool of_blocks = blocks != 0;                                                           \
    device::attention_forward<width, device::E4m3>(                                               \
        {q, k, v, bias, sink, o, lse, {batch, queries, keys, query_starts, key_starts}, heads,    \
         group, d, width_v, causal, window_left, window_right, softcap, scale,                    \
         {q_batch, q_head, q_row}, {k_batch, k_head, k_row}, {v_batch, v_head, v_row},            \
         {o_batch, o_head, o_row}, out,                                                           \
         of_blocks ? nullptr : q_scale, of_blocks ? nullptr : k_scale,                            \
         of_blocks ? nullptr : v_scale, of_blocks ? q_scale : nullptr,                            \
         of_blocks ? k_scale : nullptr, of_blocks ? v_scale : nullptr});                          \
  }
// clang-format on

ATTENTION_ENTRY(128)
ATTENTION_ENTRY(256)
