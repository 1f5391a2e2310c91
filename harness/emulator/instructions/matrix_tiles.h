// SPDX-License-Identifier: MIT
// Tiles of shared memory that the descriptors of wgmma and tcgen05.mma describe (PTX ISA 9.0
// sections 9.7.15.5.1.2 and 9.7.16.4.1). For every type a step of k is 32 bytes: two chunks of 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/emulator/machine/async_products.h"
#include "harness/emulator/machine/bulk_copies.h"

namespace plumbline::emulator {

struct MatrixTile {
  std::uint64_t start, leading, stride;  // bytes
  int pattern;                           // bytes after which a swizzle repeats; 16: none
  bool transposed;                       // rows of 16 bytes along m or n, at one k; else along k

  // `window` is that of the CTA in whose shared memory it lies.
  MatrixTile(std::uint64_t window, std::uint64_t descriptor, int swizzle, bool by_the_other)
      : start(window + ((descriptor & 0x3fff) << 4)),
        leading((descriptor >> 16 & 0x3fff) << 4),
        stride((descriptor >> 32 & 0x3fff) << 4),
        pattern(swizzle),
        transposed(by_the_other) {}

  // The 16 bytes of chunk `chunk` at row `row`: of k at a row of m or n; transposed, of m or n at a
  // k.
  std::uint64_t address(int row, int chunk) const {
    const auto eighth = static_cast<std::uint64_t>(row / 8);
    const auto within = static_cast<std::uint64_t>(row % 8);
    const auto c = static_cast<std::uint64_t>(chunk), span = static_cast<std::uint64_t>(pattern);
    std::uint64_t offset = within * span;
    if (!transposed) {
      offset += eighth * stride + c * (pattern == 16 ? leading : 16);
    } else if (pattern == 16) {
      offset += c * stride + eighth * leading;
    } else {
      offset += c * 16 % span + c * 16 / span * leading + eighth * stride;
    }
    return swizzled(start + offset, span);
  }
};

// Negates elements: `signs` are the sign bits of a word.
inline void flip(LaneValues* registers, std::size_t count, std::uint32_t signs) {
  if (signs == 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::uint32_t& x : registers[i].lane) x ^= signs;
  }
}

}  // namespace plumbline::emulator
