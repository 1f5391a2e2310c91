// SPDX-License-Identifier: MIT
// One thread block of attention forward, from its arguments to its rows of O and LSE.
#pragma once

#include "device/attention/forward.cuh"
#include "device/attention/output.cuh"

namespace device {

// What a head's scores and its O are multiplied by.
struct HeadFactors {
  float scores, values;

  // Rows after the last sequence have no scales, and need none.
  template <typename Element>
  __device__ __forceinline__ static HeadFactors of(const ForwardArguments& x, int sequence,
                                                   int head) {
    if (!x.q_scale || sequence >= x.sequences.batch) return {x.scale, kUnshift<Element>};
    const int kv_heads = x.heads / x.group;
    const long long at = static_cast<long long>(sequence) * x.heads + head;
    const long long kv_at = static_cast<long long>(sequence) * kv_heads + head / x.group;
    return {__fmul_rn(x.scale, __fmul_rn(x.q_scale[at], x.k_scale[kv_at])),
            __fmul_rn(x.v_scale[kv_at], kUnshift<Element>)};
  }
};

// O is divided by the rows' sums and stored, and LSE beside it. Value: of P and V.
template <int kWidth, typename Value>
__device__ __forceinline__ void finish(Strip<kWidth>& o, const SoftmaxRow (&softmax)[2],
                                       const Logits& logits, const OwnQueries& rows,
                                       const ForwardArguments& x, float values) {
  const int head = blockIdx.y;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float sum = sum_of_row(softmax[i].sum);
    const bool empty = softmax[i].empty(sum);
    const float factor = __fmul_rn(__frcp_rn(sum), values);
    each_of_row<kWidth>(
        o, i, [&](float& value, int) { value = empty ? 0.0f : __fmul_rn(value, factor); });
    if (!rows.exists(i)) continue;

    const int query = rows.tile.first_query + rows.query[i];
    const long long offset = x.strides_o.at(rows.tile.batch, head, query);
    store_row_as<kWidth, Value>(x.out, o, i, x.o, offset, x.width_v);
    if (threadIdx.x % 4 == 0)
      x.lse[x.row(rows.tile.batch, head, query)] = softmax[i].log_sum_exp(sum, logits.scale_left);
  }
}

// Element: of Q and K.
template <int kWidth, typename Element = Bf16>
__device__ __forceinline__ void attention_forward(const ForwardArguments& x) {
  using Products = AttentionProducts<Element>;
  using Value = typename Products::Value;
  const OwnQueries rows(x);
  if (rows.tile.queries == 0) return;
  const auto factors = HeadFactors::of<Value>(x, rows.tile.sequence, blockIdx.y);
  const auto logits = Products::logits(x, rows, factors.scores);
  Strip<kWidth> o = {};
  SoftmaxRow softmax[2];
  attend<kWidth, Element>(o, softmax, x, logits, rows, rows.key_tiles);
  if (x.sink) {
    float rescaling[2];
    softmax_sink(softmax, rescaling, x.sink[blockIdx.y], logits.exponent);
    rescale<kWidth>(o, rescaling);
  }
  finish<kWidth, Value>(o, softmax, logits, rows, x, factors.values);
}

}  // namespace device
