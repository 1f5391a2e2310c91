// SPDX-License-Identifier: MIT
// What flash.h needs of PyTorch: the state of its random numbers, with the layout that PyTorch
// gives it, because it is a member of the kernels' parameters. No kernel here draws any.
#pragma once

#include <cstdint>

namespace at {

struct PhiloxCudaState {
  union Payload {
    std::uint64_t val;
    std::int64_t* ptr;
  };

  Payload seed_{};
  Payload offset_{};
  std::uint32_t offset_intragraph_ = 0;
  bool captured_ = false;
};

}  // namespace at
