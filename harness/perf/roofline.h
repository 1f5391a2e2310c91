// SPDX-License-Identifier: MIT
// The ceiling that data sheets put on a kernel: what share of a chip's tensor-core peak it can
// reach at most, given the bytes that have to move, the products it makes and the multiprocessors
// its blocks can use. It says nothing about time, caches or stalls: a kernel may be far below.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/perf/chips.h"
#include "harness/perf/perf_record.h"

namespace plumbline {

enum class Bound : std::uint8_t { memory, tensor_cores, grid };

struct Ceiling {
  double intensity = 0;  // useful products by byte of memory
  double share = 0;      // of the peak
  Bound bound = Bound::memory;
  std::string peak;  // "16-bit"
};

// Nothing where the kernel makes no tensor-core product of a kind whose peak is known.
std::optional<Ceiling> ceiling(const PerfEntry& entry, const Chip& chip);

// The peak that a tensor-core instruction is held against, in 10^12 operations a second; 0: not
// known. `words`: which one it is.
double peak_of(const std::string& instruction, const TensorPeaks& peaks, std::string& words);

}  // namespace plumbline
