// SPDX-License-Identifier: MIT
// The closed formulas of a warp's accesses: how many sectors of global memory and how many
// wavefronts of shared memory one instruction needs, from its addresses alone.
//
// Global memory moves in sectors of 32 bytes: "the concurrent accesses of the threads of a warp
// will coalesce into a number of transactions equal to the number of 32-byte transactions necessary
// to service all of the threads" (CUDA C++ Best Practices Guide, 10.2.1, coalesced access).
//
// Shared memory has 32 banks of 4 bytes; successive words lie in successive banks, and each bank
// gives one word a cycle (CUDA C++ Programming Guide, 5.x: shared memory). Lanes that use the same
// word do not conflict. Accesses of 8 bytes are made by half warps and those of 16 bytes by quarter
// warps, one phase after the other (the guide says so of 64-bit and 128-bit requests for compute
// capability 2.x; that later chips do the same is what the layouts of ldmatrix and of 16-byte tiles
// rely on). Chips merge more where lanes of several phases use the same few words: others have seen
// Nsight Compute count two wavefronts for a 16-byte broadcast that is four here. So wavefronts of
// broadcasts are an upper bound.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace plumbline::emulator {

constexpr std::uint64_t kSectorBytes = 32;
constexpr int kBanks = 32;
constexpr int kBankBytes = 4;

using LaneAddresses = std::array<std::uint64_t, 32>;

// The distinct values of address / unit over the lanes, in increasing order, in `out`: how many.
int distinct(const LaneAddresses& addresses, std::uint32_t lanes, std::uint64_t unit,
             LaneAddresses& out);

// 32-byte sectors that hold `bytes` bytes, if they lie together.
constexpr std::uint64_t least_sectors(std::uint64_t bytes) {
  return (bytes + kSectorBytes - 1) / kSectorBytes;
}

struct Wavefronts {
  int needed = 0;
  int least = 0;  // the phases with an active lane: one each when no bank is used twice
};

// Of an access of `bytes` (1, 2, 4, 8, 16) by each lane, aligned to its size. A row of 8x8 matrix
// for ldmatrix and stmatrix is such an access of 16 bytes: a matrix is a phase.
Wavefronts wavefronts(const LaneAddresses& addresses, std::uint32_t lanes, int bytes);

// Local memory is laid out so that the same word of the 32 lanes lies side by side: CUDA C++
// Programming Guide, local memory: "organized such that consecutive 32-bit words are accessed by
// consecutive thread IDs". The sectors that an access touches.
int local_sectors(const LaneAddresses& addresses, std::uint32_t lanes, int bytes);

}  // namespace plumbline::emulator
