// SPDX-License-Identifier: MIT
// Older values: what a strong store wrote over, for strong loads that nothing orders behind it. The
// memory model lets them find either value (PTX ISA 9.0, section 8); chips mostly show the new one.
// A launch with LaunchRequest::older_values gives them the old one, once for each store: a loop
// that polls goes on, and a kernel that needs an order it does not have shows it.
//
// In global memory the order is that of the clocks (cta_clock.h). In shared memory only the lanes
// of one warp are held against one another: they are in order once lanes have met.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "harness/emulator/machine/finding_log.h"
#include "harness/emulator/machine/warp.h"

namespace plumbline::emulator {

enum class Intent : std::uint8_t;

struct OlderValue {
  std::array<std::byte, 32> bytes{};
  int size = 0;
  std::uint32_t inst = 0;  // the store
  std::uint32_t cta = 0;   // its number in the grid
  std::array<std::int64_t, 3> position{};
  int warp = 0, lane = 0;
  std::uint32_t tick = 0, meetings = 0;  // of the store, as AccessOrder counts
  std::vector<std::uint32_t> found_by;   // CTAs; in shared memory, lanes
};

using OlderValues = std::unordered_map<std::uint64_t, OlderValue>;  // by address

// Loads that found an older value.
struct OlderReads {
  FindingLog log;
  std::set<std::uint32_t> polls;  // the loads that were made again

  std::vector<Finding> findings() const;
};

// A strong access, before it is performed: a store keeps what is there, and a load that may find an
// older value gets pointers to it. Returns the lanes that do.
std::uint32_t find_older_values(Warp& warp, const Inst& inst, std::uint32_t lanes, Space space,
                                int bytes, Intent intent);

}  // namespace plumbline::emulator
