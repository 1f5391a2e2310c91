// SPDX-License-Identifier: MIT
// Instructions in which every lane says which lanes of its warp take part: bar.warp.sync, shfl,
// vote and the like.
#pragma once

#include <bit>
#include <cstdint>

#include "harness/emulator/machine/lanes.h"

namespace plumbline::emulator {

// Runs action(members, lanes) for each member mask in `masks`, with the lanes of `mask` that have
// it. Nearly always there is one.
template <typename Action>
void each_member_mask(Warp& warp, std::uint32_t mask, Slot masks, const Action& action) {
  const auto members = lanes<std::uint32_t>(warp, masks);
  for (std::uint32_t left = mask; left != 0;) {
    const std::uint32_t wanted = members[std::countr_zero(left)];
    std::uint32_t group = 0;
    for (int i = 0; i < kLanes; ++i) group |= static_cast<std::uint32_t>(members[i] == wanted) << i;
    group &= left;
    left &= ~group;
    action(wanted, group);
  }
}

}  // namespace plumbline::emulator
