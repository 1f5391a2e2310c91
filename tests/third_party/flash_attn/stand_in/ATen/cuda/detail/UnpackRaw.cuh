// SPDX-License-Identifier: MIT
// What philox_unpack.cuh needs of PyTorch. Kernels without dropout call it and drop what it
// returns.
#pragma once

#include <cstdint>
#include <tuple>

#include "ATen/cuda/CUDAGeneratorImpl.h"

namespace at::cuda::philox {

__host__ __device__ inline std::tuple<std::uint64_t, std::uint64_t> unpack(PhiloxCudaState state) {
  return {state.seed_.val, state.offset_.val};
}

}  // namespace at::cuda::philox
