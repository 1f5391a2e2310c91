// SPDX-License-Identifier: MIT
// Numbers of e5m2 one by one, outside tensor cores.
#pragma once

#include "device/instructions.cuh"

namespace device {

// The bits of an e5m2 are the upper half of those of the same number in f16.
__device__ __forceinline__ float from_e5m2(Bits8 bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<Bits16>(bits << 8)));
  return x;
}

}  // namespace device
