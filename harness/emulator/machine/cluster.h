// SPDX-License-Identifier: MIT
// A cluster: CTAs that run at the same time, meet at barrier.cluster and use each other's shared
// memory (PTX ISA 9.0 section 2.2.2). A launch without clusters has clusters of one CTA.
//
// It runs the warps of its CTAs in turn until all have exited, a finding stops the launch, the
// launch is given up, or, in kernels that communicate, every warp only polls.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/emulator/machine/cta.h"

namespace plumbline::emulator {

enum class Progress : std::uint8_t { finished, polling, stopped, given_up };

class Cluster {
 public:
  Cluster(const Launch& launch, WorkerState& worker);
  // Readies everything for cluster number `number` of the grid.
  void start(std::int64_t number);
  Progress run();

  // By rank.
  const std::vector<std::unique_ptr<Cta>>& ctas() const { return ctas_; }

  std::size_t size() const { return ctas_.size(); }

  bool stopping() const { return stopping_; }

  void stop() { stopping_ = true; }

  // Something happened that a thread may wait for.
  void note_progress() { expiries_ = 0; }

  // --- barrier.cluster ---
  void arrive(Warp& warp);
  // The warp has arrived, and the barrier is not complete.
  bool expects_others(const Warp& warp) const;
  // It is complete: the warp may rely on what others knew when they arrived.
  void learn(Warp& warp) const;
  // Completes the barrier when all warps that have not exited have come.
  void release_barrier_if_complete();

  // clusterlaunchcontrol.try_cancel: the number of a cluster that has not begun; nullopt where the
  // request is refused.
  std::optional<std::int64_t> take_cluster();

  // A strong access of shared memory: the warp may rely on all that was done before.
  void learn_all(Warp& warp);

 private:
  bool wait_longer();
  void report_deadlock();

  const Launch* launch_;
  std::vector<std::unique_ptr<Cta>> ctas_;
  // Of the barrier: warps that arrived, and what they gave to each CTA, in this phase and in the
  // last one.
  std::vector<std::uint32_t> arrived_;
  std::vector<Handover> given_, complete_;
  int requests_ = 0;  // take_cluster()
  int expiries_ = 0;  // of waits for mbarriers, since the last progress
  bool stopping_ = false;
};

template <typename Callback>
void Cta::each_pending_product(Callback&& visit) {
  for (Cta* const issuer : {this, peer()}) {
    if (issuer == nullptr) continue;
    for (const TensorProduct& product : issuer->tensor_products_.pending()) {
      if (product.cta == this) visit(product);
    }
  }
}

// The CTA of the cluster in whose shared memory the address lies, for a lane that is about to use
// it. Null after a finding that stops the launch.
Cta* shared_memory_at(Warp& warp, const Inst& inst, int lane, std::uint64_t address);

}  // namespace plumbline::emulator
