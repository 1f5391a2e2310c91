// SPDX-License-Identifier: MIT
// What the counters of a launch mean: their names in perf.json, the metrics of Nsight Compute that
// count the same on a chip, and which of them cost something when they grow. How each is computed
// from addresses is harness/emulator/machine/coalescing.h.
//
// They count PTX. A chip runs what ptxas makes of it, which may drop, merge or add instructions, so
// instruction counts are the PTX's own; accesses of global and shared memory, barriers and
// tensor-core products are carried over one by one in practice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "harness/device/traffic.h"

namespace plumbline {

struct CounterInfo {
  Counter counter;
  std::string_view key;    // in perf.json
  std::string_view words;  // "sectors of global memory"
  bool costs;              // a launch with more of it does more: --strict looks at it
  // The name in Nsight Compute (Profiling Guide: metrics, source counters); empty where it has
  // none. No test compares these counts with those of a chip.
  std::string_view metric;
};

// What kind of work an instruction is, by its spelling.
enum class InstructionClass : std::uint8_t { tensor, memory, floating, integer, control, other };
constexpr std::size_t kInstructionClasses = 6;

std::string_view name(InstructionClass kind);
InstructionClass class_of(std::string_view instruction);

std::span<const CounterInfo> counter_table();
std::optional<Counter> counter_by_key(std::string_view key);

}  // namespace plumbline
