// SPDX-License-Identifier: MIT
// The registers of one warp-wide product of matrices, m16n8 in size, as oracles/models/mma.h takes
// them; what mma.sync runs once, wmma.mma runs on each of its pieces.
#pragma once

#include <cstdint>

#include "harness/emulator/decode/program.h"
#include "harness/emulator/instructions/whole_warp.h"
#include "harness/emulator/machine/lanes.h"
#include "oracles/models/mma.h"

namespace plumbline::emulator {

// The lanes that execute it: all, or, after a finding, those that can. 0: they wait for others,
// which are late.
inline std::uint32_t whole_warp(Warp& warp, const Inst& inst, std::uint32_t mask) {
  mask = warp.gather_late(inst, mask);
  if (mask != 0 && mask != kFullMask) {
    warp.report(FindingKind::divergent_barrier, inst, std::countr_zero(~mask),
                [&] { return lanes_are_missing(mask, kFullMask, "a matrix instruction"); });
  }
  return mask;
}

// A register of the lanes that take part.
[[gnu::always_inline]] inline void put(std::byte* to, const void* from, std::uint32_t mask) {
  if (mask == kFullMask) {
    __builtin_memcpy(to, from, 4 * kLanes);
    return;
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) != 0)
      __builtin_memcpy(to + 4 * lane, static_cast<const std::byte*>(from) + 4 * lane, 4);
  }
}

// Fragment number `which` in one piece: its own slots where they lie side by side, else `copy`.
[[gnu::always_inline]] inline LaneRegister* collect(const Warp& warp, const MmaOperation& op,
                                                    std::size_t which, LaneRegister* copy) {
  if (op.in_place[which] != kSinkSlot)
    return reinterpret_cast<LaneRegister*>(warp.slot(op.in_place[which]));
  const MmaOperation::Fragment& fragment = op.fragments[which];
  const int count =
      fragment.count < MmaOperation::kMostRegisters ? fragment.count : MmaOperation::kMostRegisters;
  for (int i = 0; i < count; ++i) {
    __builtin_memcpy(copy[i], warp.slot(fragment.slot[static_cast<std::size_t>(i)]),
                     sizeof(LaneRegister));
  }
  return copy;
}

// m16n8, times k.
inline std::uint64_t macs_of_a_piece(const MmaOperation& op) {
  return std::uint64_t{16} * 8 * static_cast<std::uint64_t>(op.plan->kind().shape.k);
}

// What a product left in `copy`, into the registers of the lanes that take part.
[[gnu::always_inline]] inline void distribute(Warp& warp, const MmaOperation& op,
                                              std::uint32_t mask, const LaneRegister* copy) {
  const MmaOperation::Fragment& d = op.fragments[0];
  for (int i = 0; i < d.count; ++i) {
    put(warp.slot(d.slot[static_cast<std::size_t>(i)]), copy[i], mask);
  }
}

}  // namespace plumbline::emulator
