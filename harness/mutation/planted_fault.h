// SPDX-License-Identifier: MIT
// PlantedFault: one small fault in a PTX text, as the text that takes an instruction's place. All
// faults that a text offers are found first (only where code can be reached), then a sample of them
// is drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/base/result.h"

namespace plumbline {

struct PlantedFault {
  std::string id;           // six digits from place and texts: names the same fault tomorrow
  std::string_view kind;    // the operator's name
  int line = 0;             // in the PTX text, from 1
  std::string source;       // "main_loop.cuh:47"; empty without -lineinfo
  std::string source_path;  // of that file, as the compiler named it
  int source_line = 0;
  std::string before, after;
  std::size_t begin = 0, end = 0;  // what is replaced in the text
};

// Every fault any operator offers, in the order of the text. Errors: what the parser refuses.
Result<std::vector<PlantedFault>> possible_faults(std::string_view text, std::string_view file);

// The text with the fault in it; lines keep their numbers.
std::string plant(std::string_view text, const PlantedFault& fault);

// The fault as a unified diff of one line or a few, for `patch`.
std::string fault_diff(std::string_view text, const PlantedFault& fault, std::string_view file);

// At most `count` of those that `wanted` accepts. No operator comes to a source line twice before
// every operator came to all of its lines once (unrolled loops and templates repeat the same line a
// hundred times); within that, operators take turns. The same seed gives the same sample, and a
// larger count only adds to it.
std::vector<PlantedFault> sample_faults(const std::vector<PlantedFault>& faults, int count,
                                        std::uint64_t seed,
                                        const std::function<bool(const PlantedFault&)>& wanted);

}  // namespace plumbline
