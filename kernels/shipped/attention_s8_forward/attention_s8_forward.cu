// SPDX-License-Identifier: MIT
// attention_s8_forward: O = softmax(scale * Q * K^T) * V and the log-sum-exp of every row, with Q
// and K in 8-bit integers and a scale for every 64 of their rows, P and V in f16, as SageAttention
// has it (Zhang et al., arXiv 2410.02367). Without a sink and a softcap K is expected smoothed:
// without the mean of its rows, which O does not depend on then, and which LSE lacks.
//
// The arithmetic is that of the contract in attention_s8_forward.toml, with explicit roundings
// only (and the file is compiled with -fmad=false), so the PTX fixes every bit.
#include "device/attention/products_s8.cuh"

#include "device/attention/forward_block.cuh"

// Entry points attention_s8_forward_<padded width>; the parameters are listed, in this order, in
// attention_s8_forward.toml.
// clang-format off
#define ATTENTION_ENTRY(width)                                                                    \
  extern "C" __global__ void __launch_bounds__(device::kAttentionThreads)                         \
  attention_s8_forward_##width(                                                                   \
      const void* q, const void* k, const void* v, const float* bias, const float* sink,          \
      const float* q_scale, const float* k_scale, const int* query_starts, const int* key_starts, \
      void* o, float* lse, int batch, int heads, int group, int queries, int keys, int d,         \
      int width_v, int causal, int window_left, int window_right, float softcap, float scale,     \
      long long q_batch, long long q_head, long long q_row, long long k_batch, long long k_head,  \
      long long k_row, long long v_batch, long long v_head, long long v_row, long long o_batch,   \
      long long o_head, long long o_row, int out) {                                               \
    device::attention_forward<width, device::S8>(                                                 \
        {q, k, v, bias, sink, o, lse, {batch, queries, keys, query_starts, key_starts}, heads,    \
         group, d, width_v, causal, window_left, window_right, softcap, scale,                    \
         {q_batch, q_head, q_row}, {k_batch, k_head, k_row}, {v_batch, v_head, v_row},            \
         {o_batch, o_head, o_row}, out, nullptr, nullptr, nullptr, q_scale, k_scale});            \
  }
// clang-format on

ATTENTION_ENTRY(128)
ATTENTION_ENTRY(256)
