// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/cta.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/emulator/machine/barrier.h"
#include "harness/emulator/machine/bulk_copy.h"
#include "harness/emulator/machine/mbarrier_phases.h"
#include "harness/emulator/machine/warpgroup_waits.h"

namespace plumbline::emulator {
namespace {

// Turns of all warps before a CTA of a communicating kernel makes room for another.
constexpr int kRoundsBeforeOthers = 4, kMostRounds = 100;

// How often waits for mbarriers fail, with nothing happening in between, before that is a deadlock.
// A warp may look at many of them in turn.
constexpr int kMostExpiries = 64;

std::uint32_t special_value(Special special, const Launch& launch,
                            const std::array<std::int64_t, 3>& cta, int warp, int lane) {
  const std::int64_t thread = std::int64_t{32} * warp + lane;
  const std::array<std::int64_t, 3>& block = launch.block;
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

Cta::Cta(const Launch& launch, WorkerState& worker) : launch_(&launch), worker_(&worker) {
  shared_.configure(launch.program.static_shared_bytes, launch.program.dynamic_shared_offset(),
                    launch.dynamic_shared_bytes, launch.options.check_shadow);
  const auto warps = static_cast<int>((launch.threads_per_cta() + 31) / 32);
  local_stride_ = static_cast<std::size_t>(launch.program.local_bytes) * 32;
  local_.resize(local_stride_ * static_cast<std::size_t>(warps));
  warps_.reserve(static_cast<std::size_t>(warps));
  for (int w = 0; w < warps; ++w)
    warps_.push_back(std::make_unique<Warp>(*this, w, launch.program));
}

void Cta::start(std::int64_t linear) {
  linear_ = linear;
  position_ = launch_->position(linear);
  stopping_ = false;
  log_.clear();
  barriers_.fill(Barrier());
  mbarriers_.clear();
  tensor_memory_.start(launch_->shared_garbage);
  tensor_products_.clear();
  expiries_ = 0;
  shared_.start_cta(launch_->shared_garbage);
  for (const SharedByte& byte : launch_->traced) {
    if (byte.cta == position_) shared_.trace(byte.address);
  }
  if (launch_->program.communicates) clock_.start(static_cast<std::uint32_t>(linear));
  local_.clear();
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

Progress Cta::run() {
  // Rounds in which a warp used up its time slice: loops without end in sight, perhaps waiting for
  // another CTA. Rounds that end because all warps wait at barriers are progress, up to a point: a
  // CTA can wait for another one with a barrier in its loop.
  for (int rounds = 0, long_rounds = 0;; ++rounds) {
    bool ran = false;
    bool cut_short = false;
    for (const auto& warp : warps_) {
      if (warp->done() || !warp->runnable()) continue;
      if (launch_->given_up()) return Progress::given_up;
      warp->run();
      ran = true;
      if (stopping_) return Progress::stopped;
      cut_short = cut_short || warp->was_cut_short();
    }
    if (live_warps() == 0) {
      mbarriers_.each_load([&](const BulkLoad& load) { report_unfinished(*this, load); });
      report_unfinished_tensor_work();
      return Progress::finished;
    }
    if (!ran) {
      if (give_up_warpgroups(*this) || wait_longer() || give_up_late_lanes()) continue;
      report_deadlock();
      return Progress::stopped;
    }
    long_rounds += cut_short ? 1 : 0;
    if (!launch_->program.communicates) continue;
    if (long_rounds >= kRoundsBeforeOthers || rounds >= kMostRounds) return Progress::polling;
  }
}

void Cta::report_unfinished_tensor_work() {
  for (const TensorProduct& product : tensor_products_.pending()) {
    warps_[static_cast<std::size_t>(product.warp)]->report(
        FindingKind::missing_wait, *product.at, product.lane, [&] {
          return fmt::format("the CTA ends, and no thread has waited at an mbarrier for this {}",
                             product.what());
        });
  }
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
  settle(id);
}

// Completes the barrier when enough warps have come.
void Cta::settle(int id) {
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
  if (launch_->program.communicates) clock_.barrier(barrier.participants, all);
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
  for (int id = 0; id <= kClusterBarrier; ++id) {
    if (barriers_[static_cast<std::size_t>(id)].expected == 0) settle(id);
  }
}

// Lets waits for mbarriers fail, for code that does something else then.
bool Cta::wait_longer() { return expiries_++ < kMostExpiries && expire_waits(*this); }

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

void Cta::report_deadlock() {
  std::string words = "no warp can run:";
  const Inst* first = nullptr;
  int first_warp = -1;
  int first_lane = -1;
  for (const auto& warp : warps_) {
    for (const Split& split : warp->splits()) {
      const Instruction* origin = launch_->program.origin[split.at->index];
      words += fmt::format(
          "{} warp {}{} waits for {} at line {}", first == nullptr ? "" : ",", warp->index(),
          split.mask == warp->live() ? "" : fmt::format(" (lanes {:#010x})", split.mask),
          what_for(split), origin->line);
      if (first == nullptr) {
        first = split.at;
        first_warp = warp->index();
        first_lane = std::countr_zero(split.mask);
      }
    }
  }
  log_.add(FindingKind::deadlock, launch_->program, first->index, position_, first_warp, first_lane,
           [&] { return words; });
}

}  // namespace plumbline::emulator
