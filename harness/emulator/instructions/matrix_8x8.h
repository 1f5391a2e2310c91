// SPDX-License-Identifier: MIT
// An 8x8 matrix of 16-bit elements as matrix instructions move it: 8 rows of 16 bytes. One register
// of a warp holds one: row r in lanes 4r .. 4r+3, two elements each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumbline::emulator {

using Halves = std::uint16_t __attribute__((vector_size(16)));

// Element (i, j) to (j, i), 8x8 of 16 bits: three rounds of interleaving row i with row i + 4.
[[gnu::always_inline]] inline void transpose(const std::byte* from, std::byte* to) {
  Halves row[8], next[8];
  __builtin_memcpy(row, from, sizeof row);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      next[2 * i] = __builtin_shufflevector(row[i], row[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * i + 1] = __builtin_shufflevector(row[i], row[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; ++i) row[i] = next[i];
  }
  __builtin_memcpy(to, row, sizeof row);
}

}  // namespace plumbline::emulator
