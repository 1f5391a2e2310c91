// SPDX-License-Identifier: MIT
// The online softmax of a warp's 16 rows, as oracles/bounds/contract/attention.h promises it: every
// operation is one rounding, named here, or one instruction of the special function unit.
//
// A lane holds 2 rows, and of their keys every fourth pair. Maxima are those of the row; sums are
// the lane's own until they are joined at the end.
#pragma once

#include "device/attention/products.cuh"

namespace device {

constexpr float kLog2E = 1.44269504088896340736f;
constexpr float kLn2 = 0.69314718055994530942f;

__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xff800000); }

__device__ __forceinline__ float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float log2_approximate(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 1 - 2 / (1 + e^2x)
__device__ __forceinline__ float tanh_approximate(float x) {
  const float power = exp2_approximate(__fmul_rn(x, 2 * kLog2E));
  return __fsub_rn(1.0f, __fdiv_rn(2.0f, __fadd_rn(1.0f, power)));
}

// From scores q . k to the logits z of the softmax, of which 2^(z * exponent) is taken. Scores that
// are only scaled stay as they are, and the exponent has the scale; else logits are in natural
// units.
struct Logits {
  float exponent;
  float scale_left;  // what a maximum lacks to be in natural units

  // `biased`: something will be added to the logits.
  __device__ __forceinline__ Logits(float scale, float softcap, bool biased) : softcap_(softcap) {
    natural_ = softcap != 0.0f || biased;
    factor_ = softcap != 0.0f ? __fdiv_rn(scale, softcap) : scale;
    exponent = natural_ ? kLog2E : __fmul_rn(scale, kLog2E);
    scale_left = natural_ ? 1.0f : scale;
  }

  // Scores of 64 keys from `first_key` on.
  __device__ __forceinline__ void scale(Strip<kAttentionRows>& x, int first_key) const {
    if (!natural_) return;
    each(x, [&](float& z) { z = __fmul_rn(z, factor_); });
    cap(x);
  }

 protected:
  // Of scores that are divided by the cap.
  __device__ __forceinline__ void cap(Strip<kAttentionRows>& x) const {
    if (softcap_ == 0.0f) return;
    each(x, [&](float& z) { z = __fmul_rn(softcap_, tanh_approximate(z)); });
  }

  float softcap_;

 private:
  float factor_;
  bool natural_;
};

__device__ __forceinline__ float maximum_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ float sum_of_row(float x) {
  x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

// One row: the largest logit so far, and this lane's sum of probabilities relative to it.
struct SoftmaxRow {
  float maximum = minus_infinity(), sum = 0.0f;

  // Lets `logit` into the maximum and rescales the sum. What else has been summed is to be
  // multiplied by the result.
  __device__ __forceinline__ float raise(float logit, float exponent) {
    const float before = maximum;
    maximum = fmaxf(maximum, logit);
    const float factor = exp2_approximate(__fmul_rn(__fsub_rn(before, base()), exponent));
    sum = __fmul_rn(sum, factor);
    return factor;
  }

  // What the maximum is subtracted as: finite even before any logit is.
  __device__ __forceinline__ float base() const {
    return maximum == minus_infinity() ? 0.0f : maximum;
  }

  // The difference comes first: fma(logit, exponent, -base * exponent) is one operation less, but
  // at the maximum it is what rounding took from base * exponent, and 2 to that is infinite where a
  // mask of -1e10 or below hides a tile of keys.
  __device__ __forceinline__ float probability(float logit, float exponent) const {
    return exp2_approximate(__fmul_rn(__fsub_rn(logit, base()), exponent));
  }

  // All logits were -inf, or there was none. (A NaN among them is in the sum.)
  __device__ __forceinline__ bool empty(float row_sum) const {
    return maximum == minus_infinity() && row_sum == 0.0f;
  }

  __device__ __forceinline__ float log_sum_exp(float row_sum, float scale_left) const {
    if (empty(row_sum)) return minus_infinity();
    return __fadd_rn(__fmul_rn(maximum, scale_left), __fmul_rn(log2_approximate(row_sum), kLn2));
  }
};

// Takes in a tile: logits (-inf for keys that are not visible) become probabilities. factors[i] is
// what the sums of row i so far must be multiplied by.
__device__ __forceinline__ void softmax_step(SoftmaxRow (&rows)[2], float (&factors)[2],
                                             Strip<kAttentionRows>& x, float exponent) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float largest = minus_infinity();
    each_of_row(x, i, [&](float& z, int) { largest = fmaxf(largest, z); });
    factors[i] = rows[i].raise(maximum_of_row(largest), exponent);
    float sum = 0.0f;
    each_of_row(x, i, [&](float& z, int) {
      z = rows[i].probability(z, exponent);
      sum = __fadd_rn(sum, z);
    });
    rows[i].sum = __fadd_rn(rows[i].sum, sum);
  }
}

// A tile of one key without a value: one lane counts it.
__device__ __forceinline__ void softmax_sink(SoftmaxRow (&rows)[2], float (&factors)[2], float sink,
                                             float exponent) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    factors[i] = rows[i].raise(sink, exponent);
    const float probability = rows[i].probability(sink, exponent);
    if (threadIdx.x % 4 == 0) rows[i].sum = __fadd_rn(rows[i].sum, probability);
  }
}

template <int n>
__device__ __forceinline__ void rescale(Strip<n>& x, const float (&factors)[2]) {
#pragma unroll
  for (int i = 0; i < 2; ++i)
    each_of_row<n>(x, i, [&](float& value, int) { value = __fmul_rn(value, factors[i]); });
}

}  // namespace device
