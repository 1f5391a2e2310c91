// SPDX-License-Identifier: MIT
// The closed formulas of a warp's accesses: how many sectors of global memory and how many
// wavefronts of shared memory one instruction needs, from its addresses alone.
//
// Global memory moves in sectors of 32 bytes: a request needs as many as its lanes touch (CUDA C++
// Best Practices Guide, coalesced access to global memory).
//
// Shared memory has 32 banks of 4 bytes, and words that follow each other lie in banks that do; a
// bank gives one word at a time, to any number of lanes (CUDA C++ Programming Guide, shared memory
// of compute capability 5.x and later). Accesses of 8 bytes are made by half warps and those of 16
// bytes by quarter warps, one phase after the other. The guide says so of compute capability 2.x;
// that later chips do the same is what the layouts of ldmatrix and of padded and swizzled tiles
// rely on. Chips merge more where lanes of several phases use the same few words: others have seen
// Nsight Compute count two wavefronts for a 16-byte broadcast that is four here. So wavefronts of
// broadcasts are an upper bound.
#pragma once

#include <array>
#include <cstdint>

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

// The sectors that an access of local memory touches. The same word of the 32 lanes lies side by
// side there (CUDA C++ Programming Guide, local memory).
int local_sectors(const LaneAddresses& addresses, std::uint32_t lanes, int bytes);

}  // namespace plumbline::emulator
