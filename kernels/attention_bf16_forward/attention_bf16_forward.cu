// SPDX-License-Identifier: MIT
// attention_bf16_forward: O = softmax(scale * Q * K^T) * V and the log-sum-exp of every row, on
// bf16 tensor cores, with an online softmax (device/attention_forward.cuh).
//
// The arithmetic is that of the contract in attention_bf16_forward.toml, with explicit roundings
// only (and the file is compiled with -fmad=false), so the PTX fixes every bit.
#include "device/attention_forward.cuh"
#include "device/attention_output.cuh"

namespace {

using namespace device;

// O is divided by the rows' sums and stored, and LSE beside it.
template <int kWidth>
__device__ __forceinline__ void finish(Strip<kWidth>& o, const SoftmaxRow (&softmax)[2],
                                       const Logits& logits, const OwnQueries& rows,
                                       const ForwardArguments& x) {
  const int head = blockIdx.y;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float sum = sum_of_row(softmax[i].sum);
    const bool empty = softmax[i].empty(sum);
    const float factor = __frcp_rn(sum);
    each_of_row<kWidth>(
        o, i, [&](float& value, int) { value = empty ? 0.0f : __fmul_rn(value, factor); });
    if (!rows.exists(i)) continue;

    const int query = rows.tile.first_query + rows.query[i];
    const long long offset = x.strides_o.at(rows.tile.batch, head, query);
    store_row_as<kWidth>(x.out, o, i, x.o, offset, x.width_v);
    if (threadIdx.x % 4 == 0)
      x.lse[(static_cast<long long>(rows.tile.batch) * x.heads + head) * x.length() + query] =
          softmax[i].log_sum_exp(sum, logits.scale_left);
  }
}

template <int kWidth>
__device__ __forceinline__ void attention(const ForwardArguments& x) {
  const OwnQueries rows(x);
  if (rows.tile.queries == 0) return;
  const Logits logits(x.scale, x.softcap, x.bias || x.sink);
  Strip<kWidth> o = {};
  SoftmaxRow softmax[2];
  attend<kWidth>(o, softmax, x, logits, rows, rows.key_tiles);
  if (x.sink) {
    float factors[2];
    softmax_sink(softmax, factors, x.sink[blockIdx.y], logits.exponent);
    rescale<kWidth>(o, factors);
  }
  finish<kWidth>(o, softmax, logits, rows, x);
}

}  // namespace

// Entry points attention_bf16_forward_<padded width>; the parameters are listed, in this order, in
// attention_bf16_forward.toml.
// clang-format off
#define ATTENTION_ENTRY(width)                                                                    \
  extern "C" __global__ void __launch_bounds__(kAttentionThreads) attention_bf16_forward_##width( \
      const void* q, const void* k, const void* v, const float* bias, const float* sink,          \
      const int* query_starts, const int* key_starts, void* o, float* lse, int batch, int heads,  \
      int group, int queries, int keys, int d, int width_v, int causal, int window_left,          \
      int window_right, float softcap, float scale, long long q_batch, long long q_head,          \
      long long q_row, long long k_batch, long long k_head, long long k_row, long long v_batch,   \
      long long v_head, long long v_row, long long o_batch, long long o_head, long long o_row,    \
      int out) {                                                                                  \
    attention<width>({q, k, v, bias, sink, o, lse,                                                \
                      {batch, queries, keys, query_starts, key_starts}, heads, group, d, width_v, \
                      causal, window_left, window_right, softcap, scale,                          \
                      {q_batch, q_head, q_row}, {k_batch, k_head, k_row},                         \
                      {v_batch, v_head, v_row}, {o_batch, o_head, o_row}, out});                  \
  }
// clang-format on

ATTENTION_ENTRY(64)
ATTENTION_ENTRY(128)
ATTENTION_ENTRY(256)
