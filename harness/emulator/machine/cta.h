// SPDX-License-Identifier: MIT
// A CTA: its warps, shared memory, barriers and findings. Its cluster runs the warps (cluster.h).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/emulator/machine/cta_races.h"
#include "harness/emulator/machine/finding_log.h"
#include "harness/emulator/machine/flags.h"
#include "harness/emulator/machine/launch.h"
#include "harness/emulator/machine/mbarriers.h"
#include "harness/emulator/machine/older_values.h"
#include "harness/emulator/machine/tensor_memory.h"
#include "harness/emulator/machine/tensor_products.h"
#include "harness/emulator/machine/traffic.h"
#include "harness/emulator/machine/warp.h"
#include "harness/emulator/memory/lazy_memory.h"
#include "harness/emulator/memory/shared_memory.h"

namespace plumbline::emulator {

// A write of shared memory that another warp wrote: a race if it changes something.
struct ContestedSharedWrite {
  int lane = 0;
  const std::byte* where = nullptr;
  std::size_t bytes = 0;
  std::array<std::byte, 32> before{};
  SharedProblem problem;
};

// What a worker lends to the CTAs it runs.
struct WorkerState {
  std::vector<std::uint64_t> counts;                // executions per instruction
  std::vector<std::uint64_t> repeats;               // of these, branches backward that were taken
  std::vector<const Allocation*> allocation_cache;  // per instruction
  std::uint64_t changes = 0;                        // of memory, by atomics
  // The last mma that a whole warp executed, and what it unpacked.
  const Inst* last_mma = nullptr;
  const Warp* last_mma_warp = nullptr;
  MmaWorkspace mma;
  std::vector<std::unique_ptr<const MmaPlan>> tensor_plans;  // of descriptors seen so far
  CtaRaces* races = nullptr;                                 // where they are looked for
  OlderValues older_values;                                  // of global memory
  OlderReads older_reads;
  // By instruction, what is a finding only where something depends on it: a shuffle from a lane
  // that takes no part (bad_operand), a load of local memory that nothing wrote.
  std::map<std::uint32_t, FindingKind> if_it_matters;
  std::vector<ContestedWrite> contested;
  std::vector<ContestedSharedWrite> contested_shared;
  std::unique_ptr<TrafficCounter> traffic;  // where it is counted
  // Where blocks are compared: whose outcomes are part of WarpTraffic::path, and what was chosen.
  std::vector<Comparing> comparing;
  std::vector<std::uint8_t> chosen;  // BlockWay::chosen
  // A cluster that has not begun, and now will not.
  std::function<std::optional<std::int64_t>()> take_cluster;
};

constexpr int kBarriers = 16;
constexpr int kClusterBarrier = kBarriers;  // Split::barrier of barrier.cluster

class Cluster;

class Cta {
 public:
  Cta(const Launch& launch, WorkerState& worker, Cluster& cluster, int rank);
  // Readies everything for CTA number `linear` of the grid.
  void start(std::int64_t linear);
  // All warps have exited.
  void finish();

  bool finished() const { return finished_; }

  Cluster& cluster() const { return *cluster_; }

  // Of more CTAs than this one.
  bool in_cluster() const { return launch_->ctas_of_a_cluster() > 1; }

  // In the cluster.
  int rank() const { return rank_; }

  // What the addresses of its shared memory begin with.
  std::uint64_t window() const { return shared_window(static_cast<std::uint64_t>(rank_)); }

  const Launch& launch() const { return *launch_; }

  WorkerState& worker() const { return *worker_; }

  SharedMemory& shared() { return shared_; }

  const SharedMemory& shared() const { return shared_; }

  Mbarriers& mbarriers() { return mbarriers_; }

  TensorMemory& tensor_memory() { return tensor_memory_; }

  TensorProducts& tensor_products() { return tensor_products_; }

  // Calls visit(product) for what is still to write to this CTA's tensor memory, be it issued by
  // the other CTA of a pair.
  template <typename Callback>
  void each_pending_product(Callback&& visit);

  // The other CTA of a pair (.cta_group::2); null where the cluster has none.
  Cta* peer() const;

  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }

  FindingLog& log() { return log_; }

  FlagStores& flag_stores() { return flag_stores_; }

  // Of its shared memory.
  OlderValues& older_values() { return older_values_; }

  // Where it is counted.
  CtaTraffic& traffic() { return traffic_; }

  std::int64_t linear() const { return linear_; }

  const std::array<std::int64_t, 3>& position() const { return position_; }

  bool stopping() const;
  void stop();

  // A thread of another CTA of the cluster uses this one's shared memory, at the tick of its own
  // CTA: the exit has to come later.
  void note_visit(const Warp& visitor, const Inst& inst, int lane, std::uint32_t tick);

  std::byte* local_memory(int warp) {
    return local_.data() + static_cast<std::size_t>(warp) * local_stride_;
  }

  // A byte for each of these, 1 where something wrote it; null where that is not watched.
  std::byte* written_local_memory(int warp) {
    if (!shared_.check()) return nullptr;
    return local_written_.data() + static_cast<std::size_t>(warp) * local_stride_;
  }

  // --- barriers ---
  // The warp's live lanes are all at barrier `id`. `warps` is how many warps it takes, 0 for all of
  // the CTA.
  void arrive(int id, int warp, int warps);
  // What bar.red gathers from lanes before they arrive.
  void contribute(int id, std::uint32_t lanes, std::uint32_t predicate);
  void lanes_exited(Warp& warp);

  // Something happened that a thread may wait for.
  void note_progress();

  std::uint32_t live_warps() const;
  // Lets lanes at instructions of a whole warp go on without those that cannot come.
  bool give_up_late_lanes();
  // What its lanes wait for; empty where they wait for nothing.
  std::string describe_waits(const Warp& warp);

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
  void release_barrier_if_complete(int id);
  void complete(int id);
  std::string what_for(const Split& split);
  // The CTA may end while others still use its shared memory.
  void report_visits();
  // Of tcgen05: products that no thread waited for, memory that no warp freed.
  void report_unfinished_tensor_work();

  struct Visit {
    const Inst* inst = nullptr;
    int rank = 0, warp = 0, lane = 0;
    std::uint32_t tick = 0;
  };

  const Launch* launch_;
  WorkerState* worker_;
  Cluster* cluster_;
  int rank_;
  SharedMemory shared_;
  Mbarriers mbarriers_;
  TensorMemory tensor_memory_;
  TensorProducts tensor_products_;
  FindingLog log_;
  FlagStores flag_stores_;
  OlderValues older_values_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::array<Barrier, kBarriers> barriers_{};
  std::map<std::pair<std::uint32_t, int>, Visit> visits_;  // by CTA and warp, the last one
  Horizon known_at_exit_;                                  // by warps that have exited
  CtaTraffic traffic_;
  LazyMemory local_, local_written_;
  std::size_t local_stride_ = 0;  // per warp
  std::int64_t linear_ = 0;
  std::array<std::int64_t, 3> position_{};
  bool finished_ = false;
};

}  // namespace plumbline::emulator
