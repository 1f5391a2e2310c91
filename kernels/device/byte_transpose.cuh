// SPDX-License-Identifier: MIT
// Four words as a 4x4 matrix of bytes, transposed in registers.
#pragma once

#include "device/instructions.cuh"

namespace device {

// Byte j of word i becomes byte i of word j.
__device__ __forceinline__ void transpose_bytes(Bits32 (&w)[4]) {
  // Interleave words 0 and 1, and 2 and 3; then gather the halves.
  const Bits32 low01 = __byte_perm(w[0], w[1], 0x5140), high01 = __byte_perm(w[0], w[1], 0x7362);
  const Bits32 low23 = __byte_perm(w[2], w[3], 0x5140), high23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low01, low23, 0x5410);
  w[1] = __byte_perm(low01, low23, 0x7632);
  w[2] = __byte_perm(high01, high23, 0x5410);
  w[3] = __byte_perm(high01, high23, 0x7632);
}

}  // namespace device
