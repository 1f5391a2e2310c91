// SPDX-License-Identifier: MIT
// A CTA: its warps, shared memory, barriers and findings. It runs warps in turn until all have
// exited, a finding stops the launch, the launch is given up, or, in kernels that communicate,
// every warp only polls.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "harness/emulator/machine/cta_races.h"
#include "harness/emulator/machine/finding_log.h"
#include "harness/emulator/machine/launch.h"
#include "harness/emulator/machine/mbarriers.h"
#include "harness/emulator/machine/tensor_memory.h"
#include "harness/emulator/machine/tensor_products.h"
#include "harness/emulator/machine/traffic.h"
#include "harness/emulator/machine/warp.h"
#include "harness/emulator/memory/cta_clock.h"
#include "harness/emulator/memory/lazy_memory.h"
#include "harness/emulator/memory/shared_memory.h"
#include "oracles/models/mma_scaled.h"

namespace plumbline::emulator {

// A write of shared memory that another warp wrote: a race if it changes something.
struct ContestedSharedWrite {
  int lane = 0;
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  std::array<std::byte, 32> before{};
  SharedProblem problem;
};

// What a worker lends to the CTAs it runs.
struct WorkerState {
  std::vector<std::uint64_t> counts;                // executions per instruction
  std::vector<std::uint64_t> repeats;               // of these, branches backward that were taken
  std::vector<const Allocation*> allocation_cache;  // per instruction
  // The last mma that a whole warp executed, and what it unpacked.
  const Inst* last_mma = nullptr;
  const Warp* last_mma_warp = nullptr;
  MmaWorkspace mma;
  std::vector<std::unique_ptr<const MmaPlan>> tensor_plans;  // of descriptors seen so far
  std::map<const MmaPlan*, std::unique_ptr<const ScaledMma>> scaled_plans;  // with block scales
  CtaRaces* races = nullptr;  // where they are looked for
  std::vector<ContestedWrite> contested;
  std::vector<ContestedSharedWrite> contested_shared;
  std::unique_ptr<TrafficCounter> traffic;  // where it is counted
};

enum class Progress : std::uint8_t { finished, polling, stopped, given_up };

constexpr int kBarriers = 16;
constexpr int kClusterBarrier = kBarriers;  // barrier.cluster, of a cluster of one CTA

class Cta {
 public:
  Cta(const Launch& launch, WorkerState& worker);
  // Readies everything for CTA number `linear` of the grid.
  void start(std::int64_t linear);
  Progress run();

  const Launch& launch() const { return *launch_; }

  WorkerState& worker() const { return *worker_; }

  SharedMemory& shared() { return shared_; }

  // Of launches that communicate.
  CtaClock& clock() { return clock_; }

  Mbarriers& mbarriers() { return mbarriers_; }

  TensorMemory& tensor_memory() { return tensor_memory_; }

  TensorProducts& tensor_products() { return tensor_products_; }

  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }

  FindingLog& log() { return log_; }

  // Where it is counted.
  CtaTraffic& traffic() { return traffic_; }

  std::int64_t linear() const { return linear_; }

  const std::array<std::int64_t, 3>& position() const { return position_; }

  bool stopping() const { return stopping_; }

  void stop() { stopping_ = true; }

  std::byte* local_memory(int warp) {
    return local_.data() + static_cast<std::size_t>(warp) * local_stride_;
  }

  // --- barriers ---
  // The warp's live lanes are all at barrier `id`. `warps` is how many warps it takes, 0 for all of
  // the CTA.
  void arrive(int id, int warp, int warps);
  // What bar.red gathers from lanes before they arrive.
  void contribute(int id, std::uint32_t lanes, std::uint32_t predicate);
  void lanes_exited(Warp& warp);

  // The warp has arrived, and the barrier is not complete.
  bool expects_others(int id, int warp) const {
    return (barriers_[static_cast<std::size_t>(id)].participants >> warp & 1) != 0;
  }

  // Something happened that a thread may wait for.
  void note_progress() { expiries_ = 0; }

 private:
  struct Barrier {
    int arrivals = 0;
    int expected = 0;                // warps; 0 = all
    std::uint32_t participants = 0;  // warps that arrived
    std::uint32_t count = 0;         // bar.red.popc
    bool all = true, any = false;    // bar.red.and / or

    bool idle() const { return arrivals == 0; }
  };

  void fill_special_registers(Warp& warp);
  void settle(int id);
  void complete(int id);
  std::uint32_t live_warps() const;
  bool wait_longer();
  // Lets lanes at instructions of a whole warp go on without those that cannot come.
  bool give_up_late_lanes();
  std::string what_for(const Split& split);
  void report_deadlock();
  // Of tcgen05: products that nobody waited for, memory that nobody freed.
  void report_unfinished_tensor_work();

  const Launch* launch_;
  WorkerState* worker_;
  SharedMemory shared_;
  CtaClock clock_;
  Mbarriers mbarriers_;
  TensorMemory tensor_memory_;
  TensorProducts tensor_products_;
  int expiries_ = 0;  // of waits for mbarriers, since the last progress
  FindingLog log_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::array<Barrier, kBarriers + 1> barriers_{};
  CtaTraffic traffic_;
  LazyMemory local_;
  std::size_t local_stride_ = 0;  // per warp
  std::int64_t linear_ = 0;
  std::array<std::int64_t, 3> position_{};
  bool stopping_ = false;
};

}  // namespace plumbline::emulator
