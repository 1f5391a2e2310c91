// SPDX-License-Identifier: MIT
// Flags: what strong accesses (volatile, relaxed, acquire, release, atomic) of one CTA pass between
// its threads. A strong load that reads what another thread wrote, where nothing else orders the
// two, has read a flag; from then on its warp relies on all that the others did before. A strong
// load of anything else orders nothing.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "harness/emulator/decode/program.h"
#include "harness/emulator/machine/warp.h"

namespace plumbline::emulator {

enum class Intent : std::uint8_t;

struct FlagStore {
  int warp = 0, lane = 0;
  std::uint32_t tick = 0;
};

using FlagStores = std::unordered_map<std::uint64_t, FlagStore>;  // by word of shared memory

// Before a strong access is performed: whether one of the lanes reads a flag. Stores are kept.
bool reads_flag(Warp& warp, const Inst& inst, std::uint32_t lanes, Space space, int bytes,
                Intent intent);

}  // namespace plumbline::emulator
