// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/cta.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/emulator/machine/barrier.h"
#include "harness/emulator/machine/bulk_copy.h"
#include "harness/emulator/machine/cluster.h"
#include "harness/emulator/machine/mbarrier_phases.h"

namespace plumbline::emulator {
namespace {

std::int64_t rank_in_cluster(const std::array<std::int64_t, 3>& cluster,
                             const std::array<std::int64_t, 3>& cta) {
  return cta[0] % cluster[0] +
         cluster[0] * (cta[1] % cluster[1] + cluster[1] * (cta[2] % cluster[2]));
}

std::uint32_t special_value(Special special, const Launch& launch,
                            const std::array<std::int64_t, 3>& cta, int warp, int lane) {
  const std::int64_t thread = std::int64_t{32} * warp + lane;
  const std::array<std::int64_t, 3>&block = launch.block, &cluster = launch.cluster;
  const auto value = [&]() -> std::int64_t {
    switch (special) {
      case Special::tid_x:
        return thread % block[0];
      case Special::tid_y:
        return thread / block[0] % block[1];
      case Special::tid_z:
        return thread / (block[0] * block[1]);
      case Special::ntid_x:
        return block[0];
      case Special::ntid_y:
        return block[1];
      case Special::ntid_z:
        return block[2];
      case Special::ctaid_x:
        return cta[0];
      case Special::ctaid_y:
        return cta[1];
      case Special::ctaid_z:
        return cta[2];
      case Special::nctaid_x:
        return launch.grid[0];
      case Special::nctaid_y:
        return launch.grid[1];
      case Special::nctaid_z:
        return launch.grid[2];
      case Special::laneid:
        return lane;
      case Special::warpid:
        return warp;
      case Special::nwarpid:
        return (launch.threads_per_cta() + 31) / 32;
      case Special::lanemask_eq:
        return std::int64_t{1} << lane;
      case Special::lanemask_lt:
        return (std::int64_t{1} << lane) - 1;
      case Special::lanemask_le:
        return (std::int64_t{2} << lane) - 1;
      case Special::lanemask_ge:
        return 0xffffffff & ~((std::int64_t{1} << lane) - 1);
      case Special::lanemask_gt:
        return 0xffffffff & ~((std::int64_t{2} << lane) - 1);
      case Special::dynamic_smem_size:
        return launch.dynamic_shared_bytes;
      case Special::total_smem_size:
        return launch.program.static_shared_bytes + launch.dynamic_shared_bytes;
      case Special::clusterid_x:
        return cta[0] / cluster[0];
      case Special::clusterid_y:
        return cta[1] / cluster[1];
      case Special::clusterid_z:
        return cta[2] / cluster[2];
      case Special::nclusterid_x:
        return launch.grid[0] / cluster[0];
      case Special::nclusterid_y:
        return launch.grid[1] / cluster[1];
      case Special::nclusterid_z:
        return launch.grid[2] / cluster[2];
      case Special::cluster_ctaid_x:
        return cta[0] % cluster[0];
      case Special::cluster_ctaid_y:
        return cta[1] % cluster[1];
      case Special::cluster_ctaid_z:
        return cta[2] % cluster[2];
      case Special::cluster_nctaid_x:
        return cluster[0];
      case Special::cluster_nctaid_y:
        return cluster[1];
      case Special::cluster_nctaid_z:
        return cluster[2];
      case Special::cluster_ctarank:
        return rank_in_cluster(cluster, cta);
      case Special::cluster_nctarank:
        return launch.ctas_of_a_cluster();
      case Special::is_explicit_cluster:
        return launch.explicit_cluster ? 1 : 0;
      case Special::zero:
        return 0;
      case Special::one:
        return 1;
    }
    return 0;
  };
  return static_cast<std::uint32_t>(value());
}

}  // namespace

Cta::Cta(const Launch& launch, WorkerState& worker, Cluster& cluster, int rank)
    : launch_(&launch), worker_(&worker), cluster_(&cluster), rank_(rank) {
  shared_.configure(launch.program.static_shared_bytes, launch.program.dynamic_shared_offset(),
                    launch.dynamic_shared_bytes, launch.options.check_shadow);
  const auto warps = static_cast<int>((launch.threads_per_cta() + 31) / 32);
  local_stride_ = static_cast<std::size_t>(launch.program.local_bytes) * 32;
  local_.resize(local_stride_ * static_cast<std::size_t>(warps));
  if (shared_.check()) local_written_.resize(local_stride_ * static_cast<std::size_t>(warps));
  warps_.reserve(static_cast<std::size_t>(warps));
  for (int w = 0; w < warps; ++w)
    warps_.push_back(std::make_unique<Warp>(*this, w, launch.program));
}

void Cta::start(std::int64_t linear) {
  linear_ = linear;
  position_ = launch_->position(linear);
  finished_ = false;
  log_.clear();
  flag_stores_.clear();
  older_values_.clear();
  barriers_.fill(Barrier());
  mbarriers_.clear();
  tensor_memory_.start(launch_->shared_garbage, launch_->cta_order == 1);
  tensor_products_.clear();
  visits_.clear();
  known_at_exit_ = nullptr;
  shared_.start_cta(launch_->shared_garbage, static_cast<std::uint64_t>(rank_));
  for (const SharedByte& byte : launch_->traced) {
    // The byte may be that of another CTA of the cluster; trace() leaves out those.
    if (launch_->cluster_of(byte.cta) == launch_->cluster_of(position_))
      shared_.trace(byte.address);
  }
  shared_.clock().start(static_cast<std::uint32_t>(linear));
  local_.clear();
  local_written_.clear();
  if (worker_->traffic != nullptr) {
    traffic_.touched.clear();
    traffic_.passed_barrier = false;
  }
  for (const auto& warp : warps_) {
    warp->start();
    fill_special_registers(*warp);
  }
}

void Cta::fill_special_registers(Warp& warp) {
  for (const SpecialSlot& special : launch_->program.specials) {
    for (int lane = 0; lane < 32; ++lane) {
      const std::uint32_t value =
          special_value(special.special, *launch_, position_, warp.index(), lane);
      std::memcpy(warp.slot(special.slot) + 4 * lane, &value, sizeof value);
    }
  }
}

void Cta::finish() {
  finished_ = true;
  mbarriers_.each_load([](const BulkLoad& load) { report_unfinished(load); });
  report_unfinished_tensor_work();
  report_visits();
}

Cta* Cta::peer() const {
  const auto other = static_cast<std::size_t>(rank_ ^ 1);
  return other < cluster_->size() ? cluster_->ctas()[other].get() : nullptr;
}

bool Cta::stopping() const { return cluster_->stopping(); }

void Cta::stop() { cluster_->stop(); }

void Cta::note_progress() { cluster_->note_progress(); }

void Cta::note_visit(const Warp& visitor, const Inst& inst, int lane, std::uint32_t tick) {
  const std::uint32_t cta = visitor.cta().shared().clock().cta();
  visits_[{cta, visitor.index()}] = {&inst, visitor.cta().rank(), visitor.index(), lane, tick};
}

void Cta::report_visits() {
  if (!shared_.check()) return;
  for (const auto& [from, visit] : visits_) {
    if (holds(known_at_exit_, from.first, visit.warp, visit.tick)) continue;
    Warp& warp = *cluster_->ctas()[static_cast<std::size_t>(visit.rank)]
                      ->warps()[static_cast<std::size_t>(visit.warp)];
    warp.report(FindingKind::race, *visit.inst, visit.lane, [&] {
      return fmt::format(
          "uses the shared memory of CTA rank {} of the cluster, and nothing keeps that CTA from "
          "exiting before; a barrier.cluster, or a wait for this access, has to come before its "
          "end",
          rank_);
    });
  }
}

void Cta::report_unfinished_tensor_work() {
  each_pending_product([](const TensorProduct& product) {
    product.warp->report(FindingKind::missing_wait, *product.at, product.lane, [&] {
      return fmt::format("the CTA ends, and no thread has waited at an mbarrier for this {}",
                         product.what());
    });
  });
  const int columns = tensor_memory_.allocated();
  if (columns == 0) return;
  warps_.front()->report(FindingKind::bad_operand, launch_->program.code.back(), 0, [&] {
    return fmt::format(
        "the CTA ends with {} columns of tensor memory allocated; tcgen05.dealloc "
        "has to free them",
        columns);
  });
}

std::uint32_t Cta::live_warps() const {
  std::uint32_t live = 0;
  for (const auto& warp : warps_)
    live |= static_cast<std::uint32_t>(!warp->done()) << warp->index();
  return live;
}

void Cta::contribute(int id, std::uint32_t lanes, std::uint32_t predicate) {
  Barrier& barrier = barriers_[static_cast<std::size_t>(id)];
  barrier.count += static_cast<std::uint32_t>(std::popcount(predicate & lanes));
  barrier.all = barrier.all && (predicate & lanes) == lanes;
  barrier.any = barrier.any || (predicate & lanes) != 0;
}

void Cta::arrive(int id, int warp, int warps) {
  Barrier& barrier = barriers_[static_cast<std::size_t>(id)];
  barrier.expected = warps;
  ++barrier.arrivals;
  barrier.participants |= 1u << warp;
  release_barrier_if_complete(id);
}

// Completes the barrier when enough warps have come.
void Cta::release_barrier_if_complete(int id) {
  const Barrier& barrier = barriers_[static_cast<std::size_t>(id)];
  if (barrier.idle()) return;
  const bool enough = barrier.expected == 0 ? (live_warps() & ~barrier.participants) == 0
                                            : barrier.arrivals >= barrier.expected;
  if (enough) complete(id);
}

void Cta::complete(int id) {
  const Barrier barrier = barriers_[static_cast<std::size_t>(id)];
  barriers_[static_cast<std::size_t>(id)] = Barrier();
  const bool all = (live_warps() & ~barrier.participants) == 0;
  if (all) {
    shared_.order().full_barrier();
  } else {
    shared_.order().partial_barrier(barrier.participants);
  }
  if (launch_->communicates()) shared_.clock().barrier(barrier.participants);
  note_progress();
  const Inst* at = nullptr;  // where a warp waits
  for (const auto& warp : warps_) {
    if ((barrier.participants >> warp->index() & 1) == 0) continue;
    warp->release(
        [&](const Split& split) {
          return split.wait == Wait::barrier && split.barrier == id && split.arrived;
        },
        [&](const Split& split) {
          at = split.at;
          finish_reduction(*warp, *split.at, split.mask, {barrier.count, barrier.all, barrier.any});
        });
  }
  if (worker_->traffic != nullptr && all && at != nullptr) count_barrier(*this, *at);
}

void Cta::lanes_exited(Warp& warp) {
  for (int id = 0; id < kBarriers; ++id) arrive_if_complete(warp, id);
  if (!warp.done()) return;
  known_at_exit_ = join(known_at_exit_, shared_.clock().known(warp.index()));
  for (int id = 0; id < kBarriers; ++id) {
    if (barriers_[static_cast<std::size_t>(id)].expected == 0) release_barrier_if_complete(id);
  }
  cluster_->release_barrier_if_complete();
}

bool Cta::give_up_late_lanes() {
  bool any = false;
  for (const auto& warp : warps_) any = warp->give_up_late() || any;
  return any;
}

std::string Cta::what_for(const Split& split) {
  switch (split.wait) {
    case Wait::barrier:
      return split.barrier == kClusterBarrier ? "barrier.cluster"
                                              : fmt::format("barrier {}", split.barrier);
    case Wait::mbarrier:
      return describe_wait(*this, split);
    default:
      return fmt::format("other lanes of {:#010x}", split.members);
  }
}

std::string Cta::describe_waits(const Warp& warp) {
  std::string words;
  for (const Split& split : warp.splits()) {
    words +=
        fmt::format("{}warp {}{} waits for {} at line {}", words.empty() ? "" : ", ", warp.index(),
                    split.mask == warp.live() ? "" : fmt::format(" (lanes {:#010x})", split.mask),
                    what_for(split), launch_->program.origin[split.at->index]->line);
  }
  return words;
}

}  // namespace plumbline::emulator
