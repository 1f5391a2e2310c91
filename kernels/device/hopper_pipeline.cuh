// SPDX-License-Identifier: MIT
// How a block of three warpgroups computes 128x128 tiles of D on Hopper. Two of them multiply, 64
// rows each; one thread of the third asks for bulk copies (bulk_pipeline.cuh). A stage is left by
// each of the 8 warps that multiply.
#pragma once

#include "device/bulk_pipeline.cuh"
#include "device/warpgroup.cuh"

namespace device {

constexpr int kMultiplying = 2;  // warpgroups; the one after them copies
constexpr int kHopperThreads = (kMultiplying + 1) * kWarpgroupThreads;

// Of 168 registers a thread, which 384 threads can have, to what each side needs.
constexpr int kCopyingRegisters = 40, kMultiplyingRegisters = 232;

// The ring in the block's shared memory, by all threads before anything else.
__device__ __forceinline__ Ring hopper_ring(const void* shared_memory) {
  const Ring ring{static_cast<Bits32>(__cvta_generic_to_shared(shared_memory))};
  if (threadIdx.x == 0) {
    ring.init(kMultiplying * kWarpgroupThreads / 32);
    publish_mbarriers();
  }
  __syncthreads();
  return ring;
}

}  // namespace device
