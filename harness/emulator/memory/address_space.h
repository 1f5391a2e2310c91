// SPDX-License-Identifier: MIT
// The emulator's own 64-bit address map. Nothing here is a host pointer: every access is
// translated, and an address that no window or allocation holds is a finding.
//
//   0x0000'01..  shared window   (shared memory; .shared addresses are offsets into it)
//   0x0000'02..  local window    (one lane's local memory)
//   0x0000'03..  param window    (the kernel's parameter block, read-only)
//   0x0000'04..  const window    (the module's .const variables, read-only)
//   0x0000'7000'0000'0000 and up: global allocations; module .global variables from
//   0x0000'6000'0000'0000
//
// Shared and local offsets do not start at 0, so that a null pointer is never a valid address. In a
// cluster the offset of shared memory has the rank of its CTA from bit 24 on, the thread's own
// included, as on chips: ptxas adds %cluster_ctaid << 24 to 0x400, and kernels for pairs of CTAs
// clear bit 24 to mean the even one.
#pragma once

#include <cstdint>

#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator {

constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 40;
constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 40;
constexpr std::uint64_t kParamWindow = std::uint64_t{3} << 40;
constexpr std::uint64_t kConstantWindow = std::uint64_t{4} << 40;
constexpr std::uint64_t kModuleBase = 0x0000'6000'0000'0000;
constexpr std::uint64_t kGlobalBase = 0x0000'7000'0000'0000;

constexpr std::uint64_t kSharedStart = 1024;
constexpr std::uint64_t kLocalStart = 64;

constexpr int kRankShift = 24;

// What is added to the offsets of a CTA's shared memory.
constexpr std::uint64_t shared_window(std::uint64_t rank) { return rank << kRankShift; }

constexpr std::uint64_t rank_of(std::uint64_t shared_address) {
  return shared_address >> kRankShift & 0xff;
}

// The space a generic address points into.
constexpr Space space_of(std::uint64_t generic) {
  switch (generic >> 40) {
    case 1:
      return Space::shared;
    case 2:
      return Space::local;
    case 3:
      return Space::param;
    case 4:
      return Space::constant;
    default:
      return Space::global;
  }
}

constexpr std::uint64_t window_of(Space space) {
  switch (space) {
    case Space::shared:
      return kSharedWindow;
    case Space::local:
      return kLocalWindow;
    case Space::param:
      return kParamWindow;
    case Space::constant:
      return kConstantWindow;
    default:
      return 0;
  }
}

const char* name(Space space);

}  // namespace plumbline::emulator
