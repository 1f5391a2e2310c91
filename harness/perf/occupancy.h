// SPDX-License-Identifier: MIT
// How many blocks of a launch a multiprocessor holds at once, and what keeps it from more.
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/perf/chips.h"

namespace plumbline {

enum class Limiter : std::uint8_t { registers, shared_memory, tensor_memory, warps, blocks };
std::string_view name(Limiter limiter);

struct Occupancy {
  std::int64_t blocks = 0;  // of a multiprocessor; 0: it cannot hold one
  std::int64_t warps = 0;
  double share = 0;  // of the warps that it has room for
  Limiter limiter = Limiter::blocks;
};

// The rules of CUDA's cuda_occupancy.h: registers are given to warps in units of 256, from a
// quarter of the multiprocessor's file each; shared memory in units of 128 bytes, of which the
// system takes 1 KiB a block. Tensor memory has 512 columns (PTX ISA 9.0, 9.7.16.1).
struct BlockNeeds {
  std::int64_t threads = 0;
  std::int64_t registers = 0;  // of a thread; 0: not known, and no limit
  std::int64_t shared_bytes = 0;
  std::int64_t tensor_columns = 0;
};

Occupancy occupancy(const Multiprocessor& on, const BlockNeeds& block);

// How often the multiprocessors fill up until all blocks have run, and how full they are in the
// mean, if blocks take the same time.
struct Waves {
  std::int64_t count = 0;
  double filled = 0;
};

Waves waves(std::int64_t blocks, std::int64_t multiprocessors, std::int64_t resident);

}  // namespace plumbline
