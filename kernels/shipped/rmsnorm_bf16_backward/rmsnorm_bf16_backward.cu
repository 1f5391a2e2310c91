// SPDX-License-Identifier: MIT
// rmsnorm_bf16_backward: dX and dgamma of RMSNorm, from the rstd of the forward pass.
#include "device/row_norm_backward.cuh"

using rows::Bf16;
using rows::kThreads;
using Rows = rows::NormRows<false>;

#define RMSNORM_DX_ENTRY(name, Element)                                                      \
  extern "C" __global__ void __launch_bounds__(kThreads)                                     \
      name(const Bf16* x, const Bf16* gamma, const float* rstd, const Bf16* dy, Element* dx, \
           long long m, int n, long long ldx, long long lddy, long long lddx) {              \
    const Rows in{{x, ldx}, {dy, lddy}, gamma, nullptr, rstd, m, n};                         \
    rows::norm_dx<false, Element>(in, {dx, lddx});                                           \
  }

RMSNORM_DX_ENTRY(rmsnorm_bf16_backward_dx_bf16, Bf16)
RMSNORM_DX_ENTRY(rmsnorm_bf16_backward_dx_f32, float)

extern "C" __global__ void __launch_bounds__(kThreads)
    rmsnorm_bf16_backward_stripes(const Bf16* x, const float* rstd, const Bf16* dy,
                                  float* workspace, long long m, int n, long long ldx,
                                  long long lddy, int stripes) {
  const Rows in{{x, ldx}, {dy, lddy}, nullptr, nullptr, rstd, m, n};
  rows::norm_stripes(in, workspace, stripes);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rmsnorm_bf16_backward_join(const float* workspace, float* dgamma, int n, int stripes) {
  rows::join_stripes(workspace, dgamma, n, stripes);
}
