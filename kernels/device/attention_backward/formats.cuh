// SPDX-License-Identifier: MIT
// What attention backward does differently for different formats of its matrices: which elements
// they have, the factors that go with these, and how weights are rounded before they meet a matrix.
// Here for bf16, which knows one factor, the scale; fp8.cuh has the other.
#pragma once

#include "device/attention_backward/weights.cuh"
#include "device/output_formats.cuh"

namespace device {

struct Bf16Gradients {
  using Element = Bf16;   // of Q, K and V
  using Gradient = Bf16;  // of dO

  float scores;      // what q . k is multiplied by,
  float dq, dk, dv;  // and the sums of the gradients

  __device__ __forceinline__ explicit Bf16Gradients(const BackwardArguments& x)
      : scores(x.scale), dq(x.scale), dk(x.scale), dv(1.0f) {}

  __device__ __forceinline__ static float load(const void* d_o, long long at) {
    return OutBf16::load(static_cast<const Bits16*>(d_o) + at);
  }

  // A row's sum of dO * O, and products dO . v, in their units.
  __device__ __forceinline__ float delta(float sum) const { return sum; }

  __device__ __forceinline__ void scale_dp(Strip<kAttentionRows>&) const {}

  // x += W * B, W a strip of probabilities or of dS that are rounded to bf16 first.
  template <int kWidth>
  __device__ __forceinline__ void add_weighted(Strip<kWidth>& x,
                                               const Strip<kAttentionRows>& weights, Bits32 b,
                                               int width) const {
    Bits32 rounded[4][4];
    round_strip(rounded, weights);
    multiply_strip<kWidth>(x, rounded, b, width);
  }

  template <int kWidth>
  __device__ __forceinline__ void add_p(Strip<kWidth>& x, const Strip<kAttentionRows>& p,
                                        Bits32 d_o, int width) const {
    add_weighted<kWidth>(x, p, d_o, width);
  }

  template <int kWidth>
  __device__ __forceinline__ void add_ds(Strip<kWidth>& x, const Strip<kAttentionRows>& ds,
                                         Bits32 q_or_k, int width) const {
    add_weighted<kWidth>(x, ds, q_or_k, width);
  }
};

}  // namespace device
