// SPDX-License-Identifier: MIT
// Instructions that the lanes of a warp have to execute together: what is said where some are
// missing.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "harness/emulator/machine/warp.h"

namespace plumbline::emulator {

inline std::string lanes_are_missing(std::uint32_t mask, std::uint32_t wanted,
                                     std::string_view what) {
  return fmt::format("only lanes {:#010x} of {:#010x} execute {}, which needs all of them", mask,
                     wanted, what);
}

// Whether all lanes of `wanted` execute it, and `mask` is all of them. Else those that are there
// wait for others that are late; where these cannot come, a finding, and the launch stops.
inline bool has_all_lanes(Warp& warp, const Inst& inst, std::uint32_t& mask, std::uint32_t wanted,
                          std::string_view what) {
  if (mask != wanted) mask = warp.gather_late(inst, mask);
  if (mask == wanted) warp.note_meeting(wanted);
  if (mask == wanted || mask == 0) return mask != 0;
  warp.fail(FindingKind::divergent_barrier, inst, std::countr_zero(wanted & ~mask),
            [&] { return lanes_are_missing(mask, wanted, what); });
  return false;
}

}  // namespace plumbline::emulator
