// SPDX-License-Identifier: MIT
// One launch: what every CTA of it shares, and the workers that run the CTAs.
//
// CTAs of an ordinary kernel are independent: each worker takes the next one, or the next cluster,
// and runs it to its end. Where a kernel communicates through global memory (atomics, acquire or
// volatile loads), one worker runs all CTAs in an order that the launch chooses, several resident,
// turn by turn: results never depend on the number of threads, and a CTA may wait for another.
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
  std::array<std::int64_t, 3> cluster{1, 1, 1};
  bool explicit_cluster = false;  // the kernel or its launch asks for clusters, be it of one CTA
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
  bool older_values = false;
  bool count_traffic = false;
  bool count_representatives = false;

  bool given_up() const {
    return options.give_up != nullptr && options.give_up->load(std::memory_order_relaxed);
  }

  std::int64_t threads_per_cta() const { return block[0] * block[1] * block[2]; }

  std::int64_t ctas() const { return grid[0] * grid[1] * grid[2]; }

  std::int64_t ctas_of_a_cluster() const { return cluster[0] * cluster[1] * cluster[2]; }

  std::int64_t clusters() const { return ctas() / ctas_of_a_cluster(); }

  // CTAs wait for others, be it of their own cluster alone: clocks are kept of what one knows of
  // another.
  bool communicates() const { return program.communicates || ctas_of_a_cluster() > 1; }

  // Of a CTA in the grid, from its number.
  std::array<std::int64_t, 3> position(std::int64_t cta) const {
    return {cta % grid[0], cta / grid[0] % grid[1], cta / (grid[0] * grid[1])};
  }

  // The cluster of a CTA, by its place among the clusters.
  std::array<std::int64_t, 3> cluster_of(const std::array<std::int64_t, 3>& cta) const {
    return {cta[0] / cluster[0], cta[1] / cluster[1], cta[2] / cluster[2]};
  }

  // The number of a CTA, from that of its cluster and its rank there.
  std::int64_t cta_of_cluster(std::int64_t number, std::int64_t rank) const {
    const std::array<std::int64_t, 3>& c = cluster;
    const std::int64_t across = grid[0] / c[0], down = grid[1] / c[1];
    const std::int64_t x = number % across * c[0] + rank % c[0];
    const std::int64_t y = number / across % down * c[1] + rank / c[0] % c[1];
    const std::int64_t z = number / (across * down) * c[2] + rank / (c[0] * c[1]);
    return x + grid[0] * (y + grid[1] * z);
  }
};

// An Error when it was given up (EmulatorOptions::give_up).
Result<LaunchOutcome> run(const Launch& launch);

}  // namespace plumbline::emulator
