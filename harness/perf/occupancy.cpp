// SPDX-License-Identifier: MIT
#include "harness/perf/occupancy.h"

#include <array>

namespace plumbline {
namespace {

constexpr std::int64_t up_to_multiple(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::string_view name(Limiter limiter) {
  constexpr std::array<std::string_view, 5> kNames = {"registers", "shared memory", "tensor memory",
                                                      "warps", "blocks"};
  return kNames[static_cast<std::size_t>(limiter)];
}

Occupancy occupancy(const Multiprocessor& on, const BlockNeeds& block) {
  constexpr std::int64_t kRegisterUnit = 256, kParts = 4, kSharedUnit = 128, kReserved = 1024;
  constexpr std::int64_t kTensorColumns = 512;
  const std::int64_t warps = (block.threads + 31) / 32;
  Occupancy result{.blocks = on.blocks, .limiter = Limiter::blocks};
  const auto limit = [&](std::int64_t blocks, Limiter by) {
    if (blocks < result.blocks) result = {.blocks = blocks, .limiter = by};
  };
  limit(on.warps / warps, Limiter::warps);
  limit(on.shared_bytes / up_to_multiple(block.shared_bytes + kReserved, kSharedUnit),
        Limiter::shared_memory);
  if (block.tensor_columns > 0)
    limit(kTensorColumns / block.tensor_columns, Limiter::tensor_memory);
  if (block.registers > 0) {
    const std::int64_t of_a_warp = up_to_multiple(block.registers * 32, kRegisterUnit);
    limit(on.registers / kParts / of_a_warp * kParts / warps, Limiter::registers);
  }
  result.warps = result.blocks * warps;
  result.share = static_cast<double>(result.warps) / on.warps;
  return result;
}

Waves waves(std::int64_t blocks, std::int64_t multiprocessors, std::int64_t resident) {
  const std::int64_t at_once = multiprocessors * resident;
  if (at_once <= 0 || blocks <= 0) return {};
  const std::int64_t count = (blocks + at_once - 1) / at_once;
  return {count, static_cast<double>(blocks) / static_cast<double>(count * at_once)};
}

}  // namespace plumbline
