// SPDX-License-Identifier: MIT
// The chips that launches are held against: what a multiprocessor of each compute capability holds,
// and what the vendor's data sheets say of a chip. Data alone; a figure
// that is not published is nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "oracles/base/result.h"

namespace plumbline {

// What a multiprocessor holds: CUDA C++ Programming Guide 13.0, "Technical Specifications per
// Compute Capability"; the units of allocation are those of CUDA's cuda_occupancy.h.
struct Multiprocessor {
  int sm;  // 90: compute capability 9.0
  int warps, blocks;
  std::int64_t registers, shared_bytes;
};

// Null where it is not known here.
const Multiprocessor* multiprocessor(int sm);

// A peak in 10^12 operations a second, dense, two a product; 0: not known.
struct TensorPeaks {
  double bits16;  // f16 and bf16, f32 accumulators
  double tf32;
  double fp8;  // f32 accumulators; FP6 has the same
  double int8;
  double f64;
  double fp4;  // with scales of blocks
};

struct Chip {
  std::string_view name;  // "H100 SXM"
  int sm;
  int multiprocessors;
  double bandwidth;  // of DRAM, in 10^9 bytes a second
  TensorPeaks tensor;
  double f32;  // outside of tensor cores, in 10^12 operations a second
  std::string_view source;
};

std::span<const Chip> chips();

// The chip that stands for a compute capability unless another one is named: null where none does.
const Chip* usual_chip(int sm);

// "an H100 SXM".
std::string one_of(const Chip& chip);

// By its name, in upper or lower case. An Error names the nearest one.
Result<const Chip*> find_chip(std::string_view name);

}  // namespace plumbline
