// SPDX-License-Identifier: MIT
// Instructions that the lanes of a warp have to execute together: what is said where some are
// missing.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "harness/emulator/warp.h"

namespace plumbline::emulator {

inline std::string lanes_are_missing(std::uint32_t mask, std::uint32_t wanted,
                                     std::string_view what) {
  return fmt::format("only lanes {:#010x} of {:#010x} execute {}, which needs all of them", mask,
                     wanted, what);
}

// Whether `mask` has all lanes of `wanted`; else a finding, and the launch stops.
inline bool has_all_lanes(Warp& warp, const Inst& inst, std::uint32_t mask, std::uint32_t wanted,
                          std::string_view what) {
  if (mask == wanted) return true;
  warp.fail(FindingKind::divergent_barrier, inst, std::countr_zero(wanted & ~mask),
            [&] { return lanes_are_missing(mask, wanted, what); });
  return false;
}

}  // namespace plumbline::emulator
