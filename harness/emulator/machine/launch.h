// SPDX-License-Identifier: MIT
// One launch: what every CTA of it shares, and the workers that run the CTAs.
//
// CTAs of an ordinary kernel are independent: each worker takes the next one and runs it to its
// end. Where a kernel communicates through global memory (atomics, acquire or volatile loads), one
// worker runs all CTAs in an order that the launch chooses, several resident, turn by turn: results
// never depend on the number of threads, and a CTA may wait for another.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/device/device.h"
#include "harness/emulator/decode/emulator_options.h"
#include "harness/emulator/decode/program.h"
#include "harness/emulator/memory/global_memory.h"

namespace plumbline::emulator {

struct Launch {
  const Program& program;
  GlobalMemory& global;
  std::span<const std::byte> constants;  // the module's .const variables
  std::span<const std::byte> parameters;
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::array<std::int64_t, 3> block{1, 1, 1};
  std::int64_t dynamic_shared_bytes = 0;
  std::uint64_t cta_order = 0;
  std::uint64_t rounding_seed = 0;
  ApproximationErrors approximation{};
  std::uint8_t shared_garbage = 0xff;
  std::uint8_t register_garbage = 0;
  EmulatorOptions options;
  std::span<const MemoryRange> watched = {};
  std::span<const SharedByte> traced = {};
  bool one_worker = false;
  bool count_traffic = false;

  bool given_up() const {
    return options.give_up != nullptr && options.give_up->load(std::memory_order_relaxed);
  }

  std::int64_t threads_per_cta() const { return block[0] * block[1] * block[2]; }

  std::int64_t ctas() const { return grid[0] * grid[1] * grid[2]; }

  // Of a CTA in the grid, from its number.
  std::array<std::int64_t, 3> position(std::int64_t cta) const {
    return {cta % grid[0], cta / grid[0] % grid[1], cta / (grid[0] * grid[1])};
  }
};

// An Error when it was given up (EmulatorOptions::give_up).
Result<LaunchOutcome> run(const Launch& launch);

}  // namespace plumbline::emulator
