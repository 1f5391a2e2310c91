// SPDX-License-Identifier: MIT
// Attention backward with Q, K and V in e4m3 and dO in e5m2, one scale for each: P is rounded to
// e4m3, times 2^8, and dS to e5m2, times a scale of its own. All factors are those of
// oracles/bounds/contract/attention_backward.h, multiplied in its order.
#pragma once

#include "device/attention/products_e4m3.cuh"
#include "device/attention_backward/formats.cuh"
#include "device/e5m2.cuh"

namespace device {

template <>
__device__ __forceinline__ Bits32 rounded_pair<E5m2>(float low, float high) {
  Bits16 pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}

struct Fp8Gradients {
  using Element = E4m3;
  using Gradient = E5m2;

  float scores;
  float dq, dk, dv;

  __device__ __forceinline__ explicit Fp8Gradients(const BackwardArguments& x) {
    const float q_scale = one_or(x.q_scale), k_scale = one_or(x.k_scale);
    const float do_scale = one_or(x.do_scale);
    ds_scale_ = one_or(x.ds_scale);
    do_scale_ = do_scale;
    dp_scale_ = __fmul_rn(do_scale, one_or(x.v_scale));
    scores = __fmul_rn(x.scale, __fmul_rn(q_scale, k_scale));
    dq = __fdiv_rn(__fmul_rn(x.scale, k_scale), ds_scale_);
    dk = __fdiv_rn(__fmul_rn(x.scale, q_scale), ds_scale_);
    dv = __fmul_rn(do_scale, kUnshift<E4m3>);
  }

  __device__ __forceinline__ static float load(const void* d_o, long long at) {
    return from_e5m2(static_cast<const Bits8*>(d_o)[at]);
  }

  __device__ __forceinline__ float delta(float sum) const { return __fmul_rn(sum, do_scale_); }

  __device__ __forceinline__ void scale_dp(Strip<kAttentionRows>& dp) const {
    each(dp, [&](float& value) { value = __fmul_rn(value, dp_scale_); });
  }

  template <int kWidth>
  __device__ __forceinline__ void add_p(Strip<kWidth>& x, const Strip<kAttentionRows>& p,
                                        Bits32 d_o, int width) const {
    Bits32 rounded[2][4];
    round_strip<E4m3>(rounded, p);
    multiply_strip<kWidth, E4m3, Gradient>(x, rounded, d_o, width);
  }

  template <int kWidth>
  __device__ __forceinline__ void add_ds(Strip<kWidth>& x, const Strip<kAttentionRows>& ds,
                                         Bits32 q_or_k, int width) const {
    Bits32 rounded[2][4];
    round_strip<E5m2>(rounded, ds, ds_scale_);
    multiply_strip<kWidth, E5m2, Element>(x, rounded, q_or_k, width);
  }

 private:
  __device__ __forceinline__ static float one_or(const float* scale) {
    return scale ? *scale : 1.0f;
  }

  float do_scale_, dp_scale_, ds_scale_;
};

}  // namespace device
