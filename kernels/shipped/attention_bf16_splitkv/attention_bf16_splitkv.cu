// SPDX-License-Identifier: MIT
// attention_bf16_splitkv: O = softmax(scale * Q * K^T) * V and the log-sum-exp of every row, for
// few queries and many keys: the keys are cut into parts, each a block's of its own, and a second
// launch joins what the parts have (device/attention/parts.cuh).
//
// The arithmetic is that of the contract in attention_bf16_splitkv.toml, with explicit roundings
// only (and the file is compiled with -fmad=false), so the PTX fixes every bit.
#include "device/attention/parts.cuh"

// Entry points; the parameters are listed, in this order, in attention_bf16_splitkv.toml.
// clang-format off
#define PART_ENTRY(width)                                                                         \
  extern "C" __global__ void __launch_bounds__(device::kAttentionThreads)                         \
  attention_bf16_splitkv_##width(                                                                 \
      const void* q, const void* k, const void* v, const float* bias, const float* sink,          \
      const int* query_starts, const int* key_starts, float* workspace, int batch, int heads,     \
      int group, int queries, int keys, int d, int width_v, int causal, int window_left,          \
      int window_right, float softcap, float scale, long long q_batch, long long q_head,          \
      long long q_row, long long k_batch, long long k_head, long long k_row, long long v_batch,   \
      long long v_head, long long v_row, int splits) {                                            \
    device::attend_part<width>(                                                                   \
        {q, k, v, bias, sink, nullptr, nullptr,                                                   \
         {batch, queries, keys, query_starts, key_starts}, heads, group, d, width_v, causal,      \
         window_left, window_right, softcap, scale, {q_batch, q_head, q_row},                     \
         {k_batch, k_head, k_row}, {v_batch, v_head, v_row}, {}, 0}, workspace, splits);          \
  }
// clang-format on

PART_ENTRY(64)
PART_ENTRY(128)
PART_ENTRY(256)

extern "C" __global__ void __launch_bounds__(device::kAttentionThreads)
    attention_bf16_splitkv_join(const float* bias, const float* sink, const int* query_starts,
                                void* o, float* lse, float* workspace, int batch, int heads,
                                int queries, int width_v, float softcap, float scale,
                                long long o_batch, long long o_head, long long o_row, int splits,
                                int out) {
  device::ForwardArguments x{};
  x.bias = bias;
  x.sink = sink;
  x.o = o;
  x.lse = lse;
  x.sequences = {batch, queries, 0, query_starts, nullptr};
  x.heads = heads;
  x.width_v = width_v;
  x.softcap = softcap;
  x.scale = scale;
  x.strides_o = {o_batch, o_head, o_row};
  x.out = out;
  device::join_parts(x, workspace, splits);
}
