// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/mbarrier_phases.h"

#include <fmt/format.h>

#include "harness/emulator/machine/bulk_copy.h"
#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/lanes.h"

namespace plumbline::emulator {
namespace {

// What a wait puts into its predicate.
void answer(Warp& warp, const Split& split, bool complete) {
  blend(warp.predicate(split.at->p), complete ? kFullMask : 0, split.mask);
}

}  // namespace

Mbarrier* mbarrier_at(Warp& warp, const Inst& inst, int lane, std::uint64_t address) {
  Cta& cta = warp.cta();
  if (warp.counts_traffic()) count_exchange(warp);
  Mbarrier* const barrier = cta.mbarriers().find(address);
  if (barrier == nullptr) {
    warp.fail(FindingKind::bad_operand, inst, lane, [&] {
      return fmt::format("there is no mbarrier at {:#x} of shared memory; mbarrier.init makes one",
                         address);
    });
    return nullptr;
  }
  const bool own = barrier->made_by == warp.index();
  if (!own && cta.shared().check() &&
      !cta.shared().order().ordered(warp.index(), barrier->made_by, barrier->made_at)) {
    warp.report(FindingKind::race, inst, lane, [&] {
      return fmt::format("uses the mbarrier {:#x} that warp {} made with no barrier between",
                         address, barrier->made_by);
    });
  }
  return barrier;
}

bool expect_bytes(Warp& warp, const Inst& inst, int lane, Mbarrier& barrier, std::int64_t bytes) {
  const std::int64_t sum = barrier.bytes + bytes;
  if (sum >= -kMostBytes && sum <= kMostBytes) {
    barrier.bytes = sum;
    return true;
  }
  warp.fail(FindingKind::bad_operand, inst, lane, [&] {
    return fmt::format("an mbarrier that counts {} bytes; {} are the most", sum, kMostBytes);
  });
  return false;
}

Handover released(Warp& warp) {
  Cta& cta = warp.cta();
  Handover known;
  known.shared = cta.shared().order().release(warp.index());
  if (warp.program().communicates) cta.clock().give(warp.index(), known.global);
  return known;
}

bool take_arrivals(Warp& warp, const Inst& inst, int lane, std::uint64_t address, Mbarrier& barrier,
                   std::uint32_t count, const Handover& known) {
  if (count < 1 || count > barrier.pending) {
    warp.fail(FindingKind::bad_operand, inst, lane, [&] {
      return fmt::format("{} arrivals at the mbarrier {:#x}, whose phase {} wants {} more of {}{}",
                         count, address, barrier.phase, barrier.pending, barrier.count,
                         barrier.pending == 0 ? fmt::format(" and {} bytes", barrier.bytes) : "");
    });
    return false;
  }
  barrier.pending -= count;
  barrier.arrived.add(known);
  return true;
}

void settle(Cta& cta, std::uint64_t address, Mbarrier& barrier) {
  if (!barrier.due()) return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.complete.add(barrier.arrived);
  barrier.arrived = {};
  cta.note_progress();
  for (const auto& warp : cta.warps()) {
    warp->release(
        [&](const Split& split) {
          return split.wait == Wait::mbarrier && split.address == address &&
                 split.phase < barrier.phase;
        },
        [&](const Split& split) {
          answer(*warp, split, true);
          if ((split.at->flags & kRelaxed) == 0) learn(*warp, barrier);
        });
  }
}

void perform_loads(Cta& cta, std::uint64_t address, Mbarrier& barrier) {
  for (const BulkLoad& load : barrier.loads) {
    perform(cta, load);
    barrier.bytes -= static_cast<std::int64_t>(load.bytes());
  }
  const bool loaded = !barrier.loads.empty();
  barrier.loads.clear();
  const std::uint32_t phase = barrier.phase;
  if (loaded) settle(cta, address, barrier);
  while (barrier.phase == phase && !barrier.commits.empty() && !cta.stopping()) {
    const TensorCommit commit = barrier.commits.front();
    barrier.commits.erase(barrier.commits.begin());
    cta.tensor_products().wait(commit.end,
                               [&](const TensorProduct& product) { perform(cta, product); });
    Warp& warp = *cta.warps()[static_cast<std::size_t>(commit.warp)];
    // Whoever sees the phase end knows that the tiles were read.
    cta.shared().order().next_tick();
    Handover known;
    known.shared = cta.shared().order().own(commit.warp);
    if (!take_arrivals(warp, *commit.at, commit.lane, address, barrier, 1, known)) return;
    settle(cta, address, barrier);
  }
}

void load_issued(Cta& cta, std::uint64_t address, Mbarrier& barrier) {
  for (const auto& warp : cta.warps()) {
    for (const Split& split : warp->splits()) {
      if (split.wait == Wait::mbarrier && split.address == address)
        return perform_loads(cta, address, barrier);
    }
  }
}

void learn(Warp& warp, const Mbarrier& barrier) {
  Cta& cta = warp.cta();
  cta.shared().order().acquire(warp.index(), barrier.complete.shared);
  if (warp.program().communicates) cta.clock().take(warp.index(), barrier.complete.global);
}

bool expire_waits(Cta& cta) {
  bool any = false;
  for (const auto& warp : cta.warps()) {
    warp->release([](const Split& split) { return split.wait == Wait::mbarrier; },
                  [&](const Split& split) {
                    answer(*warp, split, false);
                    any = true;
                  });
  }
  return any;
}

std::string describe_wait(Cta& cta, const Split& split) {
  const Mbarrier* const barrier = cta.mbarriers().find(split.address);
  if (barrier == nullptr) return fmt::format("the mbarrier that was at {:#x}", split.address);
  return fmt::format("mbarrier {:#x}, whose phase {} lacks {} of {} arrivals and {} bytes",
                     split.address, barrier->phase, barrier->pending, barrier->count,
                     barrier->bytes);
}

}  // namespace plumbline::emulator
