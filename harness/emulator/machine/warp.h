// SPDX-License-Identifier: MIT
// A warp: 32 lanes that usually run together. Where lanes take different branches the warp splits
// into groups with a program counter each; the group at the lowest address runs, and groups that
// meet merge. After enough backward branches the turn passes to another group, so that a lane may
// spin on a lane of its own warp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "harness/device/finding.h"
#include "harness/emulator/decode/block_dependence.h"
#include "harness/emulator/decode/program.h"
#include "harness/emulator/machine/async_copies.h"
#include "harness/emulator/machine/async_products.h"
#include "harness/emulator/machine/bulk_copies.h"
#include "harness/emulator/machine/tensor_accesses.h"
#include "harness/emulator/machine/traffic.h"
#include "oracles/base/random.h"

namespace plumbline::emulator {

class Cta;
struct Allocation;

// What a group of lanes is waiting for.
enum class Wait : std::uint8_t {
  nothing,
  barrier,
  warp_sync,
  warp_barrier,
  whole_warp,
  mbarrier,
  warpgroup
};

struct Split {
  std::uint32_t pc = 0;    // next instruction
  std::uint32_t mask = 0;  // lanes
  Wait wait = Wait::nothing;
  bool had_its_turn = false;
  int barrier = 0;            // for Wait::barrier
  bool arrived = false;       // there: the warp has, all its lanes had come
  std::uint32_t members = 0;  // for Wait::warp_sync, Wait::warp_barrier and Wait::whole_warp
  std::uint64_t address = 0;  // for Wait::mbarrier: where it is, and the phase that has to end
  std::uint32_t phase = 0;    // for Wait::warpgroup: groups of wgmma
  const Inst* at = nullptr;   // the instruction that waits

  // Waits at the barrier for lanes of its own warp.
  bool comes_to(int id) const { return wait == Wait::barrier && barrier == id && !arrived; }
};

// The addresses of one access, lane by lane, and where they lie on the host.
struct Pointers {
  alignas(64) std::array<std::uint64_t, 32> address;  // offset included
  alignas(64) std::array<std::byte*, 32> host;
};

class Warp {
 public:
  // A warp keeps its register file from CTA to CTA; start() readies it for the next one.
  Warp(Cta& owner, int index, const Program& program);
  void start();

  // Runs until every lane has exited or waits, the time slice is used up, or the CTA has to stop.
  void run();

  std::byte* slot(Slot slot) const { return registers_ + std::size_t{slot} * 128; }

  std::uint32_t& predicate(PredicateUse use) { return predicates_[use & ~kNegated]; }

  std::uint32_t read(PredicateUse use) const {
    const std::uint32_t flip = 0u - (use >> 15);
    return predicates_[use & 0x7fff] ^ flip;
  }

  const Program& program() const { return *program_; }

  int index() const { return index_; }

  Cta& cta() const { return *cta_; }

  std::uint32_t live() const { return live_; }

  // The lanes that run now.
  std::uint32_t active() const { return active_; }

  bool diverged() const { return active_ != live_; }

  bool done() const { return live_ == 0; }

  bool runnable() const;

  // Whether run() stopped because the time slice was over.
  bool was_cut_short() const { return slice_ <= 0; }

  const std::vector<Split>& splits() const { return splits_; }

  // A fingerprint of registers, of where its lanes are and of what they wait for.
  std::uint64_t state() const;

  // --- for control flow ---
  void branch(const Inst& inst, std::uint32_t taken);
  void jump(const Inst& inst, std::uint32_t lanes, std::uint32_t target);
  // As jump(), for one of several groups that leave by one instruction: the next ones are still to
  // go.
  void jump_apart(const Inst& inst, std::uint32_t lanes, std::uint32_t target);
  void exit(std::uint32_t lanes);
  // The lanes stop here until release() or gather() lets them go on behind `inst`. What they wait
  // for is for the caller to fill in.
  Split& park(const Inst& inst, std::uint32_t lanes, Wait wait);
  // Waiting lanes go on. `resume` may write their results.
  void release(const std::function<bool(const Split&)>& chosen,
               const std::function<void(const Split&)>& resume);
  // True when all live lanes of `members` are at this instruction: the warp then runs it for all of
  // them together
  // (`mask` grows to hold them). Otherwise the lanes wait.
  bool gather(const Inst& inst, std::uint32_t members, std::uint32_t& mask,
              Wait wait = Wait::warp_sync);
  // The lanes that execute what needs the whole warp: all live ones, once those that are late have
  // come; 0 where `mask` waits for them. Where they cannot come, `mask` goes on, and that is for
  // the caller to report.
  std::uint32_t gather_late(const Inst& inst, std::uint32_t mask);
  // Nothing runs any more: lanes that wait for late ones go on without. False where none do.
  bool give_up_late();
  // bar.warp.sync: the lanes wait until all live lanes of `members` are at one, this or another,
  // and all go on from where they are.
  void meet(const Inst& inst, std::uint32_t members, std::uint32_t mask);
  // The lanes of `members` have waited for one another: what each did so far comes before what the
  // others do next.
  void note_meeting(std::uint32_t members);
  // Lets other warps run when the slice is over.
  void give_way();

  // Passes a lane mask between the two halves of one instruction.
  std::uint32_t& scratch() { return scratch_; }

  Pointers& pointers() { return pointers_; }

  // A stream of random bits for one execution of an instruction: the same for one seed, whichever
  // worker runs the CTA.
  Random next_random() { return random_.fork(++draws_); }

  std::uint64_t next_clock() { return clock_ += 1000; }

  // The lanes that wait and are chosen.
  std::uint32_t waiting(const std::function<bool(const Split&)>& chosen) const;
  // The lanes that wait at the barrier for others of the warp.
  std::uint32_t coming_to(int barrier) const;
  // They have all come: from here on they wait for other warps.
  void note_arrival(int barrier);

  // Leaves the run loop after the current instruction.
  void interrupt() { attention_ = 0; }

  // --- findings ---
  using Words = std::function<std::string()>;
  // The finding, to be completed; null where it was only counted. `yields`: as in
  // FindingLog::Entry.
  Finding* report(FindingKind kind, const Inst& inst, int lane, const Words& words,
                  bool yields = false);
  // Reports, and stops the launch.
  void fail(FindingKind kind, const Inst& inst, int lane, const Words& words);
  // The same of lanes that run, at what they execute next.
  void fail_where_it_runs(FindingKind kind, const Words& words);
  // For aligned barriers, once all lanes wait: a finding when they came through different
  // instructions. Lanes that are only late (their group had not its turn yet) are no finding.
  void require_one_barrier(int barrier);

  AsyncCopies& copies() { return copies_; }

  AsyncProducts& products() { return products_; }

  BulkStores& bulk_stores() { return bulk_stores_; }

  TensorAccesses& tensor_accesses() { return tensor_accesses_; }

  // Whether a wait for an mbarrier still says too early that its phase is not complete: so many
  // times in the life of the warp.
  bool answers_early(const Inst& inst, int times) { return early_answers_[&inst]++ < times; }

  // Whether the launch counts what its instructions move (traffic.h).
  bool counts_traffic() const { return __builtin_expect(counted_ != nullptr, 0) != 0; }

  WarpTraffic& traffic() { return traffic_; }

  // Where a global access of this instruction found its allocation last time.
  const Allocation*& cached_allocation(const Inst& inst) { return allocation_cache_[inst.index]; }

 private:
  void add_to_path(std::uint64_t what) {
    traffic_.path = (traffic_.path ^ what) * 0x9e3779b97f4a7c15 + (traffic_.path >> 29);
  }

  // A slot's value, in all lanes.
  void fill(const std::vector<ConstantSlot>& constants, std::uint64_t plus);
  template <bool Counted>
  void execute();
  // An instruction that compares: its outcome is added to the path.
  void execute_comparing(const Inst& inst, std::uint32_t mask);
  bool attend();
  bool require_membership(const Inst& inst, std::uint32_t members, std::uint32_t mask);
  // Lanes that wait for lanes which have exited come to their instruction anew: it may need no
  // others now.
  void look_again(std::uint32_t exited);
  void come_anew(Split& split);
  void backward(const Inst& inst, std::uint32_t target);
  // Lanes that run go on elsewhere, in their turn.
  void split_off(std::uint32_t lanes, std::uint32_t pc);

  std::byte* registers_ = nullptr;
  std::uint32_t* predicates_ = nullptr;
  const Inst* code_ = nullptr;
  std::uint64_t* counts_ = nullptr;
  Counts* counted_ = nullptr;             // by instruction, where traffic is counted
  const Comparing* comparing_ = nullptr;  // WorkerState::comparing, where it is not empty
  const Allocation** allocation_cache_ = nullptr;
  std::uint32_t pc_ = 0;
  std::uint32_t active_ = 0;
  std::uint32_t attention_ = 0;  // attend() is called when pc reaches this
  std::uint32_t live_ = 0;
  int slice_ = 0;               // backward branches left before other warps run
  int turn_ = 0;                // backward branches left before another group runs
  std::uint64_t executed_ = 0;  // instructions in loops, for the budget
  std::uint32_t scratch_ = 0;
  std::uint64_t clock_ = 0;
  Random random_{0};
  std::uint64_t draws_ = 0;
  int index_ = 0;
  bool waits_for_late_ = true;
  Cta* cta_ = nullptr;
  const Program* program_ = nullptr;
  std::vector<Split> splits_;  // the groups that do not run now
  AsyncCopies copies_;
  AsyncProducts products_;
  BulkStores bulk_stores_;
  TensorAccesses tensor_accesses_;
  std::map<const Inst*, int> early_answers_;
  WarpTraffic traffic_;
  Pointers pointers_;
  std::vector<std::byte> register_storage_;
  std::vector<std::uint32_t> predicate_storage_;
};

}  // namespace plumbline::emulator
