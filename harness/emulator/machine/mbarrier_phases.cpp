// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/mbarrier_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/emulator/machine/bulk_copy.h"
#include "harness/emulator/machine/cluster.h"
#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/lanes.h"

namespace plumbline::emulator {
namespace {

// What a wait puts into its predicate.
void answer(Warp& warp, const Split& split, bool complete) {
  blend(warp.predicate(split.at->p), complete ? kFullMask : 0, split.mask);
}

// What an asynchronous unit did for the warp in one CTA's shared memory.
Horizon own_accesses(Cta& cta, const Warp& warp) {
  const KnownCta own{cta.shared().clock().cta(), cta.shared().order().own(warp.index())};
  return std::make_shared<const std::vector<KnownCta>>(1, own);
}

// The same, as others may rely on it who wait at the mbarrier.
void add_own(Handover& handover, const Mbarrier& barrier, Cta& cta, const Warp& warp) {
  if (&cta == barrier.cta) return join(handover.own, cta.shared().order().own(warp.index()));
  handover.known = join(handover.known, own_accesses(cta, warp));
}

// Arrivals of the phase that commits have been issued for.
std::uint32_t commits_to_come(const Mbarrier& barrier) {
  return std::min(barrier.pending, static_cast<std::uint32_t>(barrier.commits.size()));
}

void too_many_arrivals(Warp& warp, const Inst& inst, int lane, const Mbarrier& barrier,
                       std::uint32_t count) {
  warp.fail(FindingKind::bad_operand, inst, lane, [&] {
    std::string what = fmt::format(
        "{} arrival{} at the mbarrier {:#x}, whose phase {} wants {} more of {}", count,
        count == 1 ? "" : "s", barrier.address, barrier.phase, barrier.pending, barrier.count);
    if (barrier.pending == 0) what += fmt::format(" and {} bytes", barrier.bytes);
    if (!barrier.commits.empty() && barrier.pending > 0)
      what += fmt::format(", {} of them by tcgen05.commit", commits_to_come(barrier));
    return what;
  });
}

void perform_if_awaited(Mbarrier& barrier) {
  for (const auto& warp : barrier.cta->warps()) {
    for (const Split& split : warp->splits()) {
      if (split.wait == Wait::mbarrier && split.address == barrier.address)
        return perform_loads(barrier);
    }
  }
}

}  // namespace

Mbarrier* mbarrier_at(Warp& warp, const Inst& inst, int lane, std::uint64_t address) {
  if (warp.counts_traffic()) count_exchange(warp);
  Cta* const cta = shared_memory_at(warp, inst, lane, address);
  if (cta == nullptr) return nullptr;
  Mbarrier* const barrier = cta->mbarriers().find(address);
  if (barrier == nullptr) {
    warp.fail(FindingKind::bad_operand, inst, lane, [&] {
      return fmt::format("there is no mbarrier at {:#x} of shared memory; mbarrier.init makes one",
                         address);
    });
    return nullptr;
  }
  const bool abroad = cta != &warp.cta();
  if ((abroad || barrier->made_by != warp.index()) && cta->shared().check() &&
      !warp.cta().shared().clock().knows(warp.index(), cta->shared().clock().cta(),
                                         barrier->made_by, barrier->made_at)) {
    warp.report(FindingKind::race, inst, lane, [&] {
      return fmt::format("uses the mbarrier {:#x} that warp {}{} made with no barrier between",
                         address, barrier->made_by, abroad ? " of another CTA" : "");
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

Arrivals::Arrivals(Warp& warp, const Inst& inst, bool relaxed)
    : warp_(warp), inst_(inst), relaxed_(relaxed), tick_(warp.cta().shared().order().tick()) {}

const Handover& Arrivals::to(const Mbarrier& barrier, int lane) {
  const bool at_home = barrier.cta == &warp_.cta();
  if (!at_home) barrier.cta->note_visit(warp_, inst_, lane, tick_);
  if (relaxed_) return nothing_;
  CtaClock& clock = warp_.cta().shared().clock();
  if (at_home) {
    if (!own_) own_ = clock.give(warp_.index());
    return *own_;
  }
  if (!abroad_) abroad_ = clock.give_abroad(warp_.index());
  return *abroad_;
}

bool take_arrivals(Warp& warp, const Inst& inst, int lane, Mbarrier& barrier, std::uint32_t count,
                   const Handover& known) {
  if (count < 1 || count > barrier.pending - commits_to_come(barrier)) {
    too_many_arrivals(warp, inst, lane, barrier, count);
    return false;
  }
  barrier.pending -= count;
  barrier.arrived.add(known);
  return true;
}

void end_phase_if_complete(Mbarrier& barrier) {
  if (!barrier.due()) return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.complete.add(barrier.arrived);
  barrier.arrived = {};
  barrier.cta->note_progress();
  for (const auto& warp : barrier.cta->warps()) {
    warp->release(
        [&](const Split& split) {
          return split.wait == Wait::mbarrier && split.address == barrier.address &&
                 split.phase < barrier.phase;
        },
        [&](const Split& split) {
          answer(*warp, split, true);
          if ((split.at->flags & kRelaxed) == 0) learn(*warp, barrier);
        });
  }
}

void perform_loads(Mbarrier& barrier) {
  Cta& cta = *barrier.cta;
  for (const BulkLoad& load : barrier.loads) {
    perform(load);
    barrier.bytes -= static_cast<std::int64_t>(load.bytes());
  }
  const bool loaded = !barrier.loads.empty();
  barrier.loads.clear();
  const std::uint32_t phase = barrier.phase;
  if (loaded) end_phase_if_complete(barrier);
  while (barrier.phase == phase && !barrier.commits.empty() && !cta.stopping()) {
    const TensorCommit commit = barrier.commits.front();
    barrier.commits.erase(barrier.commits.begin());
    Cta& issuer = commit.warp->cta();
    issuer.tensor_products().wait(commit.end, [](const TensorProduct& one) { perform(one); });
    // A warp that sees the phase end knows that the tiles were read, those of a pair in both CTAs.
    Handover known;
    for (Cta* const one : {&issuer, commit.pair ? issuer.peer() : nullptr}) {
      if (one == nullptr) continue;
      one->shared().order().next_tick();
      add_own(known, barrier, *one, *commit.warp);
    }
    if (barrier.pending == 0)
      return too_many_arrivals(*commit.warp, *commit.at, commit.lane, barrier, 1);
    --barrier.pending;
    barrier.arrived.add(known);
    end_phase_if_complete(barrier);
  }
}

void issue(BulkLoad load, Mbarrier& barrier) {
  // A warp that sees the phase end knows of the copy.
  Cta& to = destination(load);
  add_own(barrier.arrived, barrier, to, *load.warp);
  // And the issuing warp knows of what it has copied to another CTA.
  if (&to != &load.warp->cta())
    load.warp->cta().shared().clock().learn(load.warp->index(), own_accesses(to, *load.warp));
  barrier.loads.push_back(std::move(load));
  perform_if_awaited(barrier);
}

bool issue(const TensorCommit& commit, Mbarrier& barrier) {
  // The bytes that the phase still wants may come after the commit.
  if (barrier.pending == 0) {
    too_many_arrivals(*commit.warp, *commit.at, commit.lane, barrier, 1);
    return false;
  }
  barrier.commits.push_back(commit);
  perform_if_awaited(barrier);
  return true;
}

void learn(Warp& warp, const Mbarrier& barrier) {
  warp.cta().shared().clock().take(warp.index(), barrier.complete);
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
