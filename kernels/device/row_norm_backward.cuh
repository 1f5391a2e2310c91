// SPDX-License-Identifier: MIT
// The gradients of RMSNorm and LayerNorm, which differ in the mean: dX row by row, one block of
// threads a row; dgamma and dbeta in two launches, so that their sums always have one order: first
// stripes of rows (rows p, p + stripes, ... for stripe p), one thread a column, then the stripes
// one after the other.
#pragma once

#include "device/row_sums.cuh"

namespace rows {

template <bool kCentered>
struct NormRows {
  Source x, dy;
  const Bf16* gamma;
  const float *mean, *rstd;  // no mean in RMSNorm
  long long m;
  int n;

  __device__ __forceinline__ float normal(float value, long long row) const {
    if constexpr (kCentered) value = __fsub_rn(value, mean[row]);
    return __fmul_rn(value, rstd[row]);
  }
};

template <bool kCentered, typename Element>
__device__ __forceinline__ void norm_dx(const NormRows<kCentered>& in, Target<Element> dx) {
  const Source weights{in.gamma, kVector};
  const bool aligned = in.x.aligned() && in.dy.aligned() && dx.aligned() && weights.aligned();
  for (long long i = blockIdx.x; i < in.m; i += gridDim.x) {
    float sum = 0, projected = 0;
    for_each_columns(in.n, aligned, [&](Columns columns) {
      const Values x = load(in.x.row(i), columns), dy = load(in.dy.row(i), columns),
                   gamma = load(in.gamma, columns);
      for_each_of(columns, [&](int j) {
        const float weighted = __fmul_rn(dy.at[j], gamma.at[j]);
        if constexpr (kCentered) sum = __fadd_rn(sum, weighted);
        projected = fmaf(weighted, in.normal(x.at[j], i), projected);
      });
    });
    const float mean = kCentered ? block_mean(sum, in.n) : 0.0f;
    const float projection = block_mean(projected, in.n);
    const float rstd = in.rstd[i];

    for_each_columns(in.n, aligned, [&](Columns columns) {
      const Values x = load(in.x.row(i), columns), gamma = load(in.gamma, columns);
      Values dy = load(in.dy.row(i), columns);
      for_each_of(columns, [&](int j) {
        float weighted = __fmul_rn(dy.at[j], gamma.at[j]);
        if constexpr (kCentered) weighted = __fsub_rn(weighted, mean);
        dy.at[j] = __fmul_rn(rstd, fmaf(-in.normal(x.at[j], i), projection, weighted));
      });
      store(dx.row(i), columns, dy);
    });
  }
}

// Block (b, p): 128 columns of stripe p of `stripes`. The sums of dbeta lie after all of dgamma.
template <bool kCentered>
__device__ __forceinline__ void norm_stripes(const NormRows<kCentered>& in, float* workspace,
                                             int stripes) {
  const int column = blockIdx.x * kThreads + threadIdx.x, stripe = blockIdx.y;
  if (column >= in.n) return;
  float gamma = 0, beta = 0;
  for (long long i = stripe; i < in.m; i += stripes) {
    const float dy = as_f32(in.dy.row(i)[column]);
    gamma = fmaf(dy, in.normal(as_f32(in.x.row(i)[column]), i), gamma);
    if constexpr (kCentered) beta = __fadd_rn(beta, dy);
  }
  const long long at = static_cast<long long>(stripe) * in.n + column;
  workspace[at] = gamma;
  if constexpr (kCentered) workspace[static_cast<long long>(stripes) * in.n + at] = beta;
}

// One thread a column.
__device__ __forceinline__ void join_stripes(const float* workspace, float* out, int n,
                                             int stripes) {
  const int column = blockIdx.x * kThreads + threadIdx.x;
  if (column >= n) return;
  float sum = 0;
  for (int stripe = 0; stripe < stripes; ++stripe)
    sum = __fadd_rn(sum, workspace[static_cast<long long>(stripe) * n + column]);
  out[column] = sum;
}

}  // namespace rows
