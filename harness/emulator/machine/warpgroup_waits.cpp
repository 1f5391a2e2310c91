// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/warpgroup_waits.h"

#include <algorithm>
#include <memory>
#include <span>

#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/lanes.h"

namespace plumbline::emulator {
namespace {

constexpr std::size_t kWarps = 4;  // of a warpgroup

using Warps = std::span<const std::unique_ptr<Warp>>;

Warps warpgroup_of(const Warp& warp) {
  const Warps all = warp.cta().warps();
  const std::size_t first = static_cast<std::size_t>(warp.index()) / kWarps * kWarps;
  return all.subspan(first, std::min(kWarps, all.size() - first));
}

bool all_have_computed(Warps warps, std::uint32_t groups) {
  return std::all_of(warps.begin(), warps.end(), [&](const auto& warp) {
    return warp->done() || warp->products().complete() >= groups;
  });
}

// That the tiles were read, whichever of the warps read them.
void learn(Warp& warp, Warps warps) {
  Knowledge known{};
  for (const auto& other : warps)
    known[static_cast<std::size_t>(other->index())] = other->products().read_until();
  warp.cta().shared().order().acquire(warp.index(), known);
}

}  // namespace

void meet_warpgroup(Warp& warp, const Inst& inst) {
  const Warps warps = warpgroup_of(warp);
  const std::uint32_t groups = warp.products().complete();
  warp.products().note_read(warp.cta().shared().order().next_tick());
  if (all_have_computed(warps, groups)) {
    learn(warp, warps);
  } else {
    warp.park(inst, kFullMask, Wait::warpgroup).phase = groups;
  }
  for (const auto& other : warps) {
    other->release(
        [&](const Split& split) {
          return split.wait == Wait::warpgroup && all_have_computed(warps, split.phase);
        },
        [&](const Split&) { learn(*other, warps); });
  }
}

bool give_up_warpgroups(Cta& cta) {
  bool any = false;
  for (const auto& warp : cta.warps()) {
    warp->release([](const Split& split) { return split.wait == Wait::warpgroup; },
                  [&](const Split&) { any = true; });
  }
  return any;
}

}  // namespace plumbline::emulator
