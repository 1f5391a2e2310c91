// SPDX-License-Identifier: MIT
// silu(x) = x / (1 + e^-x), as oracles/bounds/contract/swiglu.h promises it. Nothing needs a
// special case: for large x the power is 0 and silu(x) = x; below -88.7 it is infinite and silu(x)
// = -0; silu(inf) = inf, silu(-inf) = NaN.
#pragma once

#include "device/attention/softmax.cuh"

namespace device {

__device__ __forceinline__ float silu(float x) {
  const float power = exp2_approximate(__fmul_rn(-x, kLog2E));
  return __fdiv_rn(x, __fadd_rn(1.0f, power));
}

}  // namespace device
