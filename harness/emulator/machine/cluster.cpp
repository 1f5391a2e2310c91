// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "harness/emulator/machine/mbarrier_phases.h"
#include "harness/emulator/machine/warpgroup_waits.h"

namespace plumbline::emulator {
namespace {

// Turns of all warps before a cluster of a communicating kernel makes room for another.
constexpr int kRoundsBeforeOthers = 4, kMostRounds = 100;

// How often waits for mbarriers fail, with nothing happening in between, before that is a deadlock.
// A warp may look at many of them in turn.
constexpr int kMostExpiries = 64;

}  // namespace

Cluster::Cluster(const Launch& launch, WorkerState& worker) : launch_(&launch) {
  const auto size = static_cast<std::size_t>(launch.ctas_of_a_cluster());
  arrived_.resize(size);
  for (std::size_t rank = 0; rank < size; ++rank)
    ctas_.push_back(std::make_unique<Cta>(launch, worker, *this, static_cast<int>(rank)));
}

void Cluster::start(std::int64_t number) {
  stopping_ = false;
  requests_ = 0;
  expiries_ = 0;
  std::ranges::fill(arrived_, 0u);
  given_.assign(size(), {});
  complete_.assign(size(), {});
  for (std::size_t rank = 0; rank < size(); ++rank)
    ctas_[rank]->start(launch_->cta_of_cluster(number, static_cast<std::int64_t>(rank)));
}

Progress Cluster::run() {
  // Rounds in which a warp used up its time slice: loops without end in sight, perhaps waiting for
  // another CTA. Rounds that end because all warps wait at barriers are progress, up to a point: a
  // CTA can wait for another one with a barrier in its loop.
  for (int rounds = 0, long_rounds = 0;; ++rounds) {
    bool ran = false, cut_short = false, live = false;
    for (std::size_t i = 0; i < size(); ++i) {
      // No rank is first by right.
      Cta& cta = *ctas_[launch_->cta_order == 0 ? i : size() - 1 - i];
      if (cta.finished()) continue;
      for (const auto& warp : cta.warps()) {
        if (warp->done() || !warp->runnable()) continue;
        if (launch_->given_up()) return Progress::given_up;
        warp->run();
        ran = true;
        if (stopping()) return Progress::stopped;
        cut_short = cut_short || warp->was_cut_short();
      }
      if (cta.live_warps() == 0) cta.finish();
      live = live || !cta.finished();
    }
    if (!live) return Progress::finished;
    if (!ran) {
      const auto any = [&](const auto& gives_up) {
        return std::ranges::count_if(ctas_, [&](const auto& cta) { return gives_up(*cta); }) > 0;
      };
      if (any([](Cta& cta) { return give_up_warpgroups(cta); }) || wait_longer() ||
          any([](Cta& cta) { return cta.give_up_late_lanes(); }))
        continue;
      report_deadlock();
      return Progress::stopped;
    }
    long_rounds += cut_short ? 1 : 0;
    if (!launch_->program.communicates) continue;
    if (long_rounds >= kRoundsBeforeOthers || rounds >= kMostRounds) return Progress::polling;
  }
}

// Lets waits for mbarriers fail, for code that does something else then.
bool Cluster::wait_longer() {
  if (expiries_++ >= kMostExpiries) return false;
  bool any = false;
  for (const auto& cta : ctas_) any = expire_waits(*cta) || any;
  return any;
}

void Cluster::report_deadlock() {
  std::string words;
  const Warp* first = nullptr;
  for (const auto& cta : ctas_) {
    for (const auto& warp : cta->warps()) {
      if (first == nullptr && !warp->splits().empty()) first = warp.get();
      const std::string waits = cta->describe_waits(*warp);
      if (waits.empty()) continue;
      words += words.empty() ? " " : ", ";
      if (size() > 1) words += fmt::format("CTA rank {} ", cta->rank());
      words += waits;
    }
  }
  const Split& split = first->splits().front();
  Cta& cta = first->cta();
  cta.log().add(FindingKind::deadlock, launch_->program, split.at->index, cta.position(),
                first->index(), std::countr_zero(split.mask),
                [&] { return "no warp can run:" + words; });
}

void Cluster::arrive(Warp& warp) {
  CtaClock& clock = warp.cta().shared().clock();
  const auto rank = static_cast<std::size_t>(warp.cta().rank());
  arrived_[rank] |= 1u << warp.index();
  given_[rank].add(clock.give(warp.index()));
  if (size() > 1) {
    const Handover abroad = clock.give_abroad(warp.index());
    for (std::size_t other = 0; other < size(); ++other) {
      if (other != rank) given_[other].add(abroad);
    }
  }
  release_barrier_if_complete();
}

bool Cluster::expects_others(const Warp& warp) const {
  return (arrived_[static_cast<std::size_t>(warp.cta().rank())] >> warp.index() & 1) != 0;
}

void Cluster::learn(Warp& warp) const {
  warp.cta().shared().clock().take(warp.index(),
                                   complete_[static_cast<std::size_t>(warp.cta().rank())]);
}

void Cluster::release_barrier_if_complete() {
  if (std::ranges::all_of(arrived_, [](std::uint32_t warps) { return warps == 0; })) return;
  for (std::size_t rank = 0; rank < size(); ++rank) {
    if ((ctas_[rank]->live_warps() & ~arrived_[rank]) != 0) return;
  }
  std::ranges::fill(arrived_, 0u);
  complete_ = std::exchange(given_, std::vector<Handover>(size()));
  note_progress();
  for (const auto& cta : ctas_) {
    const Inst* at = nullptr;  // where a warp waits
    for (const auto& warp : cta->warps()) {
      warp->release(
          [](const Split& split) {
            return split.wait == Wait::barrier && split.barrier == kClusterBarrier;
          },
          [&](const Split& split) {
            at = split.at;
            learn(*warp);
          });
    }
    if (cta->worker().traffic != nullptr && at != nullptr) count_barrier(*cta, *at);
  }
}

std::optional<std::int64_t> Cluster::take_cluster() {
  if (launch_->cta_order != 0 && ++requests_ % 2 == 0) return std::nullopt;
  return ctas_.front()->worker().take_cluster();
}

void Cluster::learn_all(Warp& warp) {
  std::vector<KnownCta> all;
  for (const auto& cta : ctas_) {
    if (cta.get() == &warp.cta()) continue;
    KnownCta known{cta->shared().clock().cta(), {}};
    known.before.fill(cta->shared().order().next_tick());
    all.push_back(known);
  }
  std::ranges::sort(all, {}, &KnownCta::cta);
  warp.cta().shared().clock().learn(warp.index(),
                                    std::make_shared<const std::vector<KnownCta>>(std::move(all)));
}

Cta* shared_memory_at(Warp& warp, const Inst& inst, int lane, std::uint64_t address) {
  Cta& own = warp.cta();
  const std::uint64_t rank = rank_of(address);
  if (rank == static_cast<std::uint64_t>(own.rank())) return &own;
  const auto& ctas = own.cluster().ctas();
  if (rank >= ctas.size()) {
    warp.fail(FindingKind::out_of_bounds, inst, lane, [&] {
      if (ctas.size() == 1)
        return fmt::format("accesses shared memory at {:#x}; {}", address, own.shared().extent());
      return fmt::format("accesses shared memory of CTA rank {} of a cluster of {} ({:#x})", rank,
                         ctas.size(), address);
    });
    return nullptr;
  }
  Cta& other = *ctas[rank];
  if (other.finished()) {
    warp.fail(FindingKind::out_of_bounds, inst, lane, [&] {
      return fmt::format(
          "accesses shared memory of CTA rank {} of the cluster, which has exited ({:#x})", rank,
          address);
    });
    return nullptr;
  }
  if (own.shared().check() && !own.shared().clock().has_met(warp.index(), other.shared().clock())) {
    warp.report(FindingKind::race, inst, lane, [&] {
      return fmt::format(
          "accesses shared memory of CTA rank {} of the cluster ({:#x}) with nothing that says "
          "that this CTA has begun; a barrier.cluster has to come first",
          rank, address);
    });
  }
  return &other;
}

}  // namespace plumbline::emulator
