// SPDX-License-Identifier: MIT
// How phases of an mbarrier end: who performs the copies that it counts, who goes on, and what they
// may rely on then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/emulator/machine/mbarriers.h"
#include "harness/emulator/machine/warp.h"

namespace plumbline::emulator {

class Cta;

// Inst::flags of what arrives and waits: no knowledge passes.
constexpr std::uint32_t kRelaxed = 1;

// The object at an address of shared memory, which may be that of another CTA of the cluster, for a
// lane that is about to use it. Null after a finding that stops the launch: none was made there.
Mbarrier* mbarrier_at(Warp& warp, const Inst& inst, int lane, std::uint64_t address);

// Bytes are announced, or, negative, have come. False after a finding that stops the launch.
bool expect_bytes(Warp& warp, const Inst& inst, int lane, Mbarrier& barrier, std::int64_t bytes);

// What one instruction hands over when its lanes arrive, at mbarriers of their own CTA or of
// others.
class Arrivals {
 public:
  // Nothing is handed over by those that say .relaxed.
  Arrivals(Warp& warp, const Inst& inst, bool relaxed);

  const Handover& to(const Mbarrier& barrier, int lane);

 private:
  Warp& warp_;
  const Inst& inst_;
  bool relaxed_;
  std::uint32_t tick_;  // before it hands anything over
  std::optional<Handover> own_, abroad_;
  Handover nothing_;
};

// A lane arrives `count` times. That does not end the phase: end_phase_if_complete() follows. False
// after a finding that stops the launch.
bool take_arrivals(Warp& warp, const Inst& inst, int lane, Mbarrier& barrier, std::uint32_t count,
                   const Handover& known);

// Ends the phase if nothing is missing, and lets those go on that waited for it.
void end_phase_if_complete(Mbarrier& barrier);

// For a thread that asks for the open phase: performs its copies, and products and their commits as
// long as the phase lacks arrivals.
void perform_loads(Mbarrier& barrier);

// Issues a copy whose bytes the mbarrier counts, or a commit that will arrive there. Either is
// performed at once if a thread waits already.
void issue(BulkLoad load, Mbarrier& barrier);
bool issue(const TensorCommit& commit, Mbarrier& barrier);

// Lets the warp rely on what the warps knew that arrived in the complete phases.
void learn(Warp& warp, const Mbarrier& barrier);

// All waits fail, as if they had lasted too long. False when no thread waits.
bool expire_waits(Cta& cta);

// "mbarrier 0x400, whose phase 2 lacks 1 arrival and 4096 bytes"
std::string describe_wait(Cta& cta, const Split& split);

}  // namespace plumbline::emulator
