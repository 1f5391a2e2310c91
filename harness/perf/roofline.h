// SPDX-License-Identifier: MIT
// The ceiling that data sheets put on a kernel: how long it takes at least, and what share of a
// chip's tensor-core peak it can reach at most, given the bytes that have to move, the products it
// makes and the multiprocessors its blocks can use. It says nothing about caches or stalls: a
// kernel may be far below.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/perf/chips.h"
#include "harness/perf/perf_record.h"

namespace plumbline {

enum class Bound : std::uint8_t { memory, tensor_cores, grid };

struct Ceiling {
  double seconds = 0;    // at least
  double intensity = 0;  // useful products by byte of memory
  double share = 0;      // of the peak
  Bound bound = Bound::memory;
  std::string peak{};    // "16-bit"; empty: it makes no tensor-core products
  double peak_rate = 0;  // in 10^12 operations a second, two a product

  double rate() const { return share * peak_rate; }

  std::string least_time() const;  // "12.4 us"
};

// nullopt where the peak of its products is not known, or it moves no byte.
std::optional<Ceiling> ceiling(const PerfEntry& entry, const Chip& chip);

// "at most 3.03 % of the FP8 peak of an H100 SXM, bound by memory: 64 useful products for each
// byte; at least 12.4 us".
std::string ceiling_words(const Ceiling& top, const Chip& chip);

// "memory", "products", "grid".
std::string_view name(Bound bound);

// The peak that a tensor-core instruction is held against, in 10^12 operations a second; 0: not
// known. `words`: which one it is.
double peak_of(const std::string& instruction, const TensorPeaks& peaks, std::string& words);

}  // namespace plumbline
