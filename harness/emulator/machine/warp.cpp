// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/warp.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "harness/emulator/machine/cta.h"
#include "oracles/base/hash.h"

namespace plumbline::emulator {
namespace {

constexpr std::uint32_t kNever = ~std::uint32_t{0};
// Backward branches before another warp runs, and before another group of a split warp runs.
constexpr int kSlice = 1024;
constexpr int kTurn = 128;

std::byte* align(std::byte* bytes) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(bytes) + 63) &
                                      ~std::uintptr_t{63});
}

}  // namespace

Warp::Warp(Cta& owner, int index, const Program& program)
    : code_(program.code.data()),
      counts_(owner.worker().counts.data()),
      counted_(owner.worker().traffic != nullptr ? owner.worker().traffic->counts.data() : nullptr),
      comparing_(owner.worker().comparing.empty() ? nullptr : owner.worker().comparing.data()),
      allocation_cache_(owner.worker().allocation_cache.data()),
      index_(index),
      cta_(&owner),
      program_(&program),
      register_storage_(std::size_t{program.slots} * 128 + 64),
      predicate_storage_(static_cast<std::size_t>(program.predicates)) {
  registers_ = align(register_storage_.data());
  predicates_ = predicate_storage_.data();
  fill(program.constants, 0);
}

void Warp::fill(const std::vector<ConstantSlot>& constants, std::uint64_t plus) {
  for (const ConstantSlot& constant : constants) {
    const std::uint64_t value = constant.value + plus;
    const std::size_t bytes = constant.wide ? 8 : 4;
    for (std::size_t lane = 0; lane < 32; ++lane)
      std::memcpy(slot(constant.slot) + bytes * lane, &value, bytes);
  }
}

void Warp::start() {
  const std::uint8_t garbage = cta_->launch().register_garbage;
  std::memset(slot(0), garbage, std::size_t{kFirstRegisterSlot + program_->register_slots} * 128);
  std::fill(predicate_storage_.begin(), predicate_storage_.end(), garbage * 0x01010101u);
  predicates_[kAlways] = ~std::uint32_t{0};
  fill(program_->shared_addresses, cta_->window());
  const std::int64_t threads = cta_->launch().threads_per_cta() - std::int64_t{32} * index_;
  live_ = threads >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << threads) - 1;
  active_ = live_;
  pc_ = 0;
  executed_ = 0;
  waits_for_late_ = true;
  random_ = Random(cta_->launch().rounding_seed)
                .fork(static_cast<std::uint64_t>(cta_->linear()))
                .fork(static_cast<std::uint64_t>(index_));
  draws_ = 0;
  clock_ = 0;
  splits_.clear();
  copies_.clear();
  products_.clear();
  bulk_stores_.clear();
  tensor_accesses_.clear();
  early_answers_.clear();
  traffic_ = WarpTraffic();
}

bool Warp::runnable() const {
  if (active_ != 0) return true;
  return std::any_of(splits_.begin(), splits_.end(),
                     [](const Split& split) { return split.wait == Wait::nothing; });
}

void Warp::run() {
  slice_ = kSlice;
  if (!attend()) return;
  counts_traffic() ? execute<true>() : execute<false>();
}

template <bool Counted>
void Warp::execute() {
  for (;;) {
    const std::uint32_t at = pc_++;
    const Inst& inst = code_[at];
    ++counts_[at];
    const std::uint32_t mask = active_ & read(inst.guard);
    if constexpr (Counted) {
      counted_[at][Counter::thread_instructions] += static_cast<std::uint64_t>(std::popcount(mask));
      add_to_path(std::uint64_t{at} << 32 | mask);
    }
    if (Counted && comparing_ != nullptr && comparing_[at] != Comparing::no) {
      execute_comparing(inst, mask);
    } else if (mask != 0) {
      inst.execute(*this, inst, mask);
    }
    if (pc_ >= attention_ && !attend()) return;
  }
}

void Warp::execute_comparing(const Inst& inst, std::uint32_t mask) {
  if (mask == 0) return;
  const Comparing kind = comparing_[inst.index];
  const std::size_t bytes = kind == Comparing::choice64 ? 8 : 4;
  std::array<std::byte, 256> first{};
  std::memcpy(first.data(), slot(inst.a), 32 * bytes);
  inst.execute(*this, inst, mask);
  std::uint32_t outcome = 0;
  if (kind == Comparing::comparison) {
    outcome = scratch_;
  } else {
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const std::size_t at = bytes * lane;
      const bool took = std::memcmp(slot(inst.d) + at, first.data() + at, bytes) == 0;
      outcome |= std::uint32_t{took} << lane;
    }
  }
  outcome &= mask;
  add_to_path(outcome);
  std::uint8_t& choice = cta_->worker().chosen[inst.index];
  if (outcome != 0) choice |= kTookFirst;
  if (outcome != mask) choice |= kTookSecond;
}

// Chooses the group that runs next. False when the warp cannot or should not go on now.
bool Warp::attend() {
  if (cta_->stopping()) return false;
  if (splits_.empty()) {
    attention_ = kNever;
    return active_ != 0 && slice_ > 0;
  }
  if (active_ != 0) {
    Split current;
    current.pc = pc_;
    current.mask = active_;
    current.had_its_turn = turn_ <= 0;
    splits_.push_back(current);
    active_ = 0;
  }
  Split* next = nullptr;
  for (int round = 0; round < 2 && next == nullptr; ++round) {
    for (Split& split : splits_) {
      if (split.wait != Wait::nothing) continue;
      if (round == 1) split.had_its_turn = false;
      if (!split.had_its_turn && (next == nullptr || split.pc < next->pc)) next = &split;
    }
  }
  if (next == nullptr) return false;
  pc_ = next->pc;
  turn_ = kTurn;
  attention_ = kNever;
  std::erase_if(splits_, [&](const Split& split) {
    if (split.wait != Wait::nothing || split.pc != pc_) return false;
    active_ |= split.mask;
    return true;
  });
  for (const Split& split : splits_) {
    if (split.wait == Wait::nothing && split.pc > pc_) attention_ = std::min(attention_, split.pc);
  }
  return slice_ > 0;
}

void Warp::backward(const Inst& inst, std::uint32_t target) {
  ++cta_->worker().repeats[inst.index];
  executed_ += inst.index - target + 1;
  if (executed_ > cta_->launch().options.instruction_budget) {
    const Instruction* first = program_->origin[target];
    fail(FindingKind::endless_loop, inst, std::countr_zero(active_), [&] {
      return fmt::format("still in the loop of lines {} to {} after {} warp instructions",
                         first != nullptr ? first->line : 0, program_->origin[inst.index]->line,
                         executed_);
    });
    return;
  }
  if (--slice_ <= 0) interrupt();
  if (!splits_.empty() && --turn_ <= 0) interrupt();
}

// Inlined: branches where lanes part are frequent.
[[gnu::always_inline]] inline void Warp::split_off(std::uint32_t lanes, std::uint32_t pc) {
  if (!diverged()) turn_ = kTurn;
  active_ &= ~lanes;
  for (Split& split : splits_) {
    if (split.wait != Wait::nothing || split.pc != pc) continue;
    split.mask |= lanes;
    return;
  }
  Split other;
  other.pc = pc;
  other.mask = lanes;
  splits_.push_back(other);
  attention_ = std::min(attention_, pc);
}

void Warp::jump(const Inst& inst, std::uint32_t lanes, std::uint32_t target) {
  const std::uint32_t next = pc_;
  if (target < next) backward(inst, target);
  if (lanes == active_) {
    pc_ = target;
    return;
  }
  if (target == next) return;
  const bool back = target < next;
  split_off(back ? active_ & ~lanes : lanes, back ? next : target);
  if (back) pc_ = target;
}

void Warp::jump_apart(const Inst& inst, std::uint32_t lanes, std::uint32_t target) {
  if (lanes == active_) return jump(inst, lanes, target);
  if (target < pc_) backward(inst, target);
  split_off(lanes, target);
}

void Warp::exit(std::uint32_t lanes) {
  live_ &= ~lanes;
  active_ &= ~lanes;
  if (active_ == 0) interrupt();
  look_again(lanes);
  cta_->lanes_exited(*this);
}

void Warp::look_again(std::uint32_t exited) {
  for (Split& split : splits_) {
    const bool waits = split.wait == Wait::warp_sync || split.wait == Wait::warp_barrier ||
                       split.wait == Wait::whole_warp;
    if (waits && (split.members & exited) != 0) come_anew(split);
  }
}

void Warp::come_anew(Split& split) {
  split.wait = Wait::nothing;
  split.pc = split.at->index;
  interrupt();
}

Split& Warp::park(const Inst& inst, std::uint32_t lanes, Wait wait) {
  Split& split = splits_.emplace_back();
  split.pc = pc_;
  split.mask = lanes;
  split.wait = wait;
  split.at = &inst;
  active_ &= ~lanes;
  if (active_ == 0) interrupt();
  return split;
}

void Warp::release(const std::function<bool(const Split&)>& chosen,
                   const std::function<void(const Split&)>& resume) {
  for (Split& split : splits_) {
    if (split.wait == Wait::nothing || !chosen(split)) continue;
    resume(split);
    split.wait = Wait::nothing;
    interrupt();
  }
}

std::uint32_t Warp::waiting(const std::function<bool(const Split&)>& chosen) const {
  std::uint32_t lanes = 0;
  for (const Split& split : splits_) {
    if (chosen(split)) lanes |= split.mask;
  }
  return lanes;
}

std::uint32_t Warp::coming_to(int barrier) const {
  return waiting([&](const Split& split) { return split.comes_to(barrier); });
}

void Warp::note_arrival(int barrier) {
  for (Split& split : splits_) split.arrived = split.arrived || split.comes_to(barrier);
}

bool Warp::require_membership(const Inst& inst, std::uint32_t members, std::uint32_t mask) {
  if ((members & mask) == mask) return true;
  fail(FindingKind::bad_operand, inst, std::countr_zero(mask & ~members), [&] {
    return fmt::format("the lane executes the instruction but is not in its member mask {:#010x}",
                       members);
  });
  return false;
}

bool Warp::gather(const Inst& inst, std::uint32_t members, std::uint32_t& mask, Wait wait) {
  if (!require_membership(inst, members, mask)) return false;
  const std::uint32_t wanted = members & live_;
  if ((mask & wanted) == wanted) return true;
  const auto is_here = [&](const Split& split) {
    return split.wait == wait && split.at == &inst && split.members == members;
  };
  const std::uint32_t here = mask | waiting(is_here);
  if ((here & wanted) != wanted) {
    park(inst, mask, wait).members = members;
    return false;
  }
  std::erase_if(splits_, is_here);
  active_ |= here;
  mask = here;
  return true;
}

void Warp::note_meeting(std::uint32_t members) {
  AccessOrder& order = cta_->shared().order();
  if ((live_ & ~members) == 0) {
    order.lanes_met(index_);
  } else {
    order.lanes_met(index_, members);
  }
}

std::uint32_t Warp::gather_late(const Inst& inst, std::uint32_t mask) {
  // A lane that is here and does not take part is not late.
  if (!waits_for_late_ || mask != active_) return mask;
  return gather(inst, ~std::uint32_t{0}, mask, Wait::whole_warp) ? mask : 0;
}

bool Warp::give_up_late() {
  bool any = false;
  for (Split& split : splits_) {
    if (split.wait != Wait::whole_warp) continue;
    come_anew(split);
    any = true;
  }
  if (any) waits_for_late_ = false;
  return any;
}

void Warp::meet(const Inst& inst, std::uint32_t members, std::uint32_t mask) {
  if (!require_membership(inst, members, mask)) return;
  const std::uint32_t wanted = members & live_;
  const auto is_there = [&](const Split& split) {
    return split.wait == Wait::warp_barrier && split.members == members;
  };
  if (((mask | waiting(is_there)) & wanted) != wanted) {
    park(inst, mask, Wait::warp_barrier).members = members;
    return;
  }
  note_meeting(members);
  release(is_there, [](const Split&) {});
}

void Warp::give_way() {
  slice_ = 0;
  turn_ = 0;
  interrupt();
}

std::uint64_t Warp::state() const {
  std::vector<std::uint64_t> parts{pc_,
                                   active_,
                                   live_,
                                   clock_,
                                   draws_,
                                   fingerprint(std::as_bytes(std::span(register_storage_))),
                                   fingerprint(std::as_bytes(std::span(predicate_storage_)))};
  for (const Split& split : splits_) {
    parts.insert(parts.end(),
                 {split.pc, split.mask, static_cast<std::uint64_t>(split.wait),
                  static_cast<std::uint64_t>(split.barrier), std::uint64_t{split.arrived},
                  split.members, split.address, split.phase});
  }
  return fingerprint(std::as_bytes(std::span(parts)));
}

void Warp::fail_where_it_runs(FindingKind kind, const Words& words) {
  std::uint32_t pc = pc_, mask = active_;
  for (const Split& split : splits_) {
    if (mask != 0 || split.wait != Wait::nothing) continue;
    pc = split.pc;
    mask = split.mask;
  }
  fail(kind, code_[pc], std::countr_zero(mask), words);
}

Finding* Warp::report(FindingKind kind, const Inst& inst, int lane, const Words& words,
                      bool yields) {
  return cta_->log().add(kind, *program_, inst.index, cta_->position(), index_, lane, words,
                         yields);
}

void Warp::fail(FindingKind kind, const Inst& inst, int lane, const Words& words) {
  report(kind, inst, lane, words);
  cta_->stop();
  interrupt();
}

void Warp::require_one_barrier(int barrier) {
  const Split* first = nullptr;
  for (const Split& split : splits_) {
    if (!split.comes_to(barrier)) continue;
    if (first == nullptr) first = &split;
    if (split.at == first->at) continue;
    report(FindingKind::divergent_barrier, *split.at, std::countr_zero(split.mask), [&] {
      return fmt::format(
          "lanes {:#010x} wait here and lanes {:#010x} of the same warp at line {}; an aligned "
          "barrier is "
          "one instruction for the whole warp",
          split.mask, first->mask, program_->origin[first->at->index]->line);
    });
    return;
  }
}

}  // namespace plumbline::emulator
