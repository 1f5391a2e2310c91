// SPDX-License-Identifier: MIT
// layernorm_bf16_backward: dX, dgamma and dbeta of LayerNorm, from the mean and rstd of the forward
// pass.
#include "device/row_norm_backward.cuh"

using rows::Bf16;
using rows::kThreads;
using Rows = rows::NormRows<true>;

#define LAYERNORM_DX_ENTRY(name, Element)                                                          \
  extern "C" __global__ void __launch_bounds__(kThreads)                                           \
      name(const Bf16* x, const Bf16* gamma, const float* mean, const float* rstd, const Bf16* dy, \
           Element* dx, long long m, int n, long long ldx, long long lddy, long long lddx) {       \
    const Rows in{{x, ldx}, {dy, lddy}, gamma, mean, rstd, m, n};                                  \
    rows::norm_dx<true, Element>(in, {dx, lddx});                                                  \
  }

LAYERNORM_DX_ENTRY(layernorm_bf16_backward_dx_bf16, Bf16)
LAYERNORM_DX_ENTRY(layernorm_bf16_backward_dx_f32, float)

extern "C" __global__ void __launch_bounds__(kThreads)
    layernorm_bf16_backward_stripes(const Bf16* x, const float* mean, const float* rstd,
                                    const Bf16* dy, float* workspace, long long m, int n,
                                    long long ldx, long long lddy, int stripes) {
  const Rows in{{x, ldx}, {dy, lddy}, nullptr, mean, rstd, m, n};
  rows::norm_stripes(in, workspace, stripes);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    layernorm_bf16_backward_join(const float* workspace, float* dgamma, float* dbeta, int n,
                                 int stripes) {
  rows::join_stripes(workspace, dgamma, n, stripes);
  rows::join_stripes(workspace + static_cast<long long>(stripes) * n, dbeta, n, stripes);
}
