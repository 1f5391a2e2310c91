// SPDX-License-Identifier: MIT
// Attention with 8-bit integers in Q and K, and P and V in f16. Scores are exact; blocks of Q and K
// may have scales.
#pragma once

#include "device/attention/block_scales.cuh"

namespace device {

template <>
struct AttentionProducts<S8> {
  using Value = F16;

  __device__ __forceinline__ static BlockLogits logits(const ForwardArguments& x,
                                                       const OwnQueries& rows, float scale) {
    return BlockLogits(x, rows, scale);
  }
};

}  // namespace device
