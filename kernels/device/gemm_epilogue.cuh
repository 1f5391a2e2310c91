// SPDX-License-Identifier: MIT
// D = relu(alpha * (scale_a * scale_b * sum) + beta * C + bias), one rounded operation after the
// other, with everything chosen at run time: for kernels whose sums are finished by a launch, or a
// thread block, of their own.
#pragma once

#include "device/epilogue.cuh"

namespace device {

struct GemmEpilogue {
  Vector scale_a, scale_b;
  float alpha, beta;
  const void* c;
  long long ldc;
  Vector bias;
  int relu;
  void* d;
  long long ldd;
  int out;  // kCode of the format of C and D

  __device__ __forceinline__ void finish(Fragments<float>& x, const Place& place) const {
    scale(x, scale_a, place);
    scale(x, scale_b, place);
    each_value(x, [&](float& value, int, int) { value = __fmul_rn(alpha, value); });
    if (out == OutBf16::kCode) {
      add_c<OutBf16>(x, beta, c, ldc, place);
    } else {
      add_c<OutF32>(x, beta, c, ldc, place);
    }
    add_bias(x, bias, place);
    if (relu) apply_relu(x);
    store_as<OutBf16, OutF32>(out, x, d, 0, ldd, place);
  }
};

}  // namespace device
