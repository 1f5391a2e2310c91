// SPDX-License-Identifier: MIT
// bar, barrier, barrier.cluster, bar.warp.sync and fences (PTX ISA 9.0 section 9.7.13.1-4).
// Lanes wait one by one; a warp has arrived, once, when all its live lanes have come to the same
// barrier, and only then do those of bar.arrive go on. `bar` is the aligned spelling: arriving
// through different instructions is a finding, and then counts as barrier.sync does. Fences change
// no value: memory is sequentially consistent here, and what lacks one is found, not imitated.
#include "harness/emulator/machine/barrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/instructions/member_masks.h"
#include "harness/emulator/instructions/whole_warp.h"
#include "harness/emulator/machine/cluster.h"
#include "harness/emulator/machine/lanes.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;

// Inst::flags of a barrier: what it does, and options.
constexpr u32 kArrive = 1;  // does not wait
constexpr u32 kAligned = 2;
constexpr u32 kHasCount = 4;                   // Inst::b: threads
constexpr u32 kPopc = 8, kAnd = 16, kOr = 32;  // bar.red

// Inst::a: barrier number; Inst::p: bar.red source; Inst::d: its destination.
struct BarrierOperands {
  int id = 0;
  int warps = 0;
};

bool read_operands(Warp& warp, const Inst& inst, u32 mask, BarrierOperands& out) {
  const int lane = std::countr_zero(mask);
  const u32 id = lanes<u32>(warp, inst.a)[lane];
  if (id >= kBarriers) {
    warp.fail(FindingKind::bad_operand, inst, lane, [&] {
      return fmt::format("barrier {} does not exist; there are {}", id, kBarriers);
    });
    return false;
  }
  out.id = static_cast<int>(id);
  if ((inst.flags & kHasCount) == 0) return true;
  const u32 threads = lanes<u32>(warp, inst.b)[lane];
  if (threads == 0 || threads % 32 != 0) {
    warp.fail(FindingKind::bad_operand, inst, lane, [&] {
      return fmt::format(
          "barrier {} is for {} threads; the count has to be a positive multiple of 32", id,
          threads);
    });
    return false;
  }
  out.warps = static_cast<int>(threads / 32);
  return true;
}

void barrier(Warp& warp, const Inst& inst, u32 mask) {
  BarrierOperands operands;
  if (!read_operands(warp, inst, mask, operands)) return;
  if ((inst.flags & (kPopc | kAnd | kOr)) != 0)
    warp.cta().contribute(operands.id, mask, warp.read(inst.p));
  warp.park(inst, mask, Wait::barrier).barrier = operands.id;
  arrive_if_complete(warp, operands.id);
}

// barrier.cluster. The lanes of a warp come together, although only .aligned asks for that. An
// arrival that says .relaxed hands over what others do.
bool whole_warp(Warp& warp, const Inst& inst, u32& mask) {
  return has_all_lanes(warp, inst, mask, warp.live(), "barrier.cluster");
}

void cluster_arrive(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  Cluster& cluster = warp.cta().cluster();
  if (cluster.expects_others(warp)) {
    return warp.fail(FindingKind::bad_operand, inst, std::countr_zero(mask), [] {
      return std::string("arrives at barrier.cluster twice, with no barrier.cluster.wait between");
    });
  }
  cluster.arrive(warp);
}

void cluster_wait(Warp& warp, const Inst& inst, u32 mask) {
  if (!whole_warp(warp, inst, mask)) return;
  const Cluster& cluster = warp.cta().cluster();
  if (!cluster.expects_others(warp)) return cluster.learn(warp);
  Split& split = warp.park(inst, mask, Wait::barrier);
  split.barrier = kClusterBarrier;
  split.arrived = true;
}

void warp_sync(Warp& warp, const Inst& inst, u32 mask) {
  each_member_mask(warp, mask, inst.a,
                   [&](u32 members, u32 group) { warp.meet(inst, members, group); });
}

void fence(Warp& warp, const Inst&, u32) {
  if (warp.counts_traffic()) count_exchange(warp);
  if (warp.cta().launch().communicates()) warp.cta().shared().clock().fence(warp.index());
}

void no_fence(Warp&, const Inst&, u32) {}

void fence_proxy(Warp& warp, const Inst&, u32) {
  if (warp.counts_traffic()) count_exchange(warp);
  warp.cta().shared().order().fence_proxy(warp.index());
}

void decode_cluster_barrier(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                            Inst& out) {
  decoder.require_sm(90);
  const int which = modifiers.take_one_of("arrive", "wait");
  modifiers.take_one_of("release", "acquire", "relaxed");
  modifiers.take("aligned");
  if (which < 0 || !decoder.require_operands(instruction, 0, 0)) return;
  out.execute = which == 0 ? cluster_arrive : cluster_wait;
}

void decode_barrier(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out) {
  if (modifiers.take("cluster"))
    return decode_cluster_barrier(decoder, instruction, modifiers, out);
  modifiers.take("cta");
  if (modifiers.take("warp")) {
    modifiers.take("sync");
    if (!decoder.require_operands(instruction, 1, 1)) return;
    out.a = decoder.source(instruction.operands[0], 32);
    out.execute = warp_sync;
    return;
  }
  const bool aligned = modifiers.take("aligned") || instruction.opcode == "bar";
  out.flags = aligned ? kAligned : 0;
  const std::vector<Operand>& operands = instruction.operands;
  if (modifiers.take("sync")) {
    if (!decoder.require_operands(instruction, 1, 2)) return;
    out.a = decoder.source(operands[0], 32);
    if (operands.size() == 2) out.b = decoder.source(operands[1], 32);
    if (operands.size() == 2) out.flags |= kHasCount;
  } else if (modifiers.take("arrive")) {
    if (!decoder.require_operands(instruction, 2, 2)) return;
    out.a = decoder.source(operands[0], 32);
    out.b = decoder.source(operands[1], 32);
    out.flags |= kHasCount | kArrive;
  } else if (modifiers.take("red")) {
    const int operation = modifiers.take_one_of("popc", "and", "or");
    const Type type = modifiers.take_type();
    if (operation < 0 || (type == Type::u32) != (operation == 0)) return;
    if (!decoder.require_operands(instruction, 3, 4)) return;
    out.flags |= operation == 0 ? kPopc : (operation == 1 ? kAnd : kOr);
    out.d = operation == 0 ? decoder.destination(operands[0], 32)
                           : decoder.predicate_destination(operands[0]);
    out.a = decoder.source(operands[1], 32);
    if (operands.size() == 4) out.b = decoder.source(operands[2], 32);
    if (operands.size() == 4) out.flags |= kHasCount;
    out.p = decoder.predicate(operands.back());
  } else {
    return;
  }
  out.execute = barrier;
}

// fence.proxy: alias and tensormap change nothing, as virtual addresses are not aliased here, and a
// tensor map that a kernel changes is there at once.
void decode_fence_proxy(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                        Inst& out) {
  if (modifiers.take("tensormap::generic")) {
    const bool acquires = modifiers.take("acquire");
    if (!acquires && !modifiers.take("release")) return;
    modifiers.take_one_of("cta", "cluster", "gpu", "sys");
    const std::size_t operands = acquires ? 2 : 0;
    if (decoder.require_operands(instruction, operands, operands)) out.execute = no_fence;
    return;
  }
  decoder.require_operands(instruction, 0, 0);
  if (modifiers.take("alias")) {
    out.execute = no_fence;
  } else if (modifiers.take("async")) {
    const int space = modifiers.take_one_of("global", "shared::cta", "shared::cluster");
    out.execute = space == 0 ? no_fence : fence_proxy;
  }
}

void decode_fence(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out) {
  if (modifiers.take("proxy")) return decode_fence_proxy(decoder, instruction, modifiers, out);
  decoder.require_operands(instruction, 0, 0);
  if (modifiers.take("mbarrier_init")) {
    if (modifiers.take("release") && modifiers.take("cluster")) out.execute = no_fence;
    return;
  }
  modifiers.take_one_of("sc", "acq_rel", "acquire", "release");
  // Less than the whole fence, which it is taken for.
  modifiers.take_one_of("sync_restrict::shared::cta", "sync_restrict::shared::cluster");
  const int scope = modifiers.take_one_of("cta", "cluster", "gpu", "sys", "gl");
  out.execute = scope == 0 ? no_fence : fence;
}

}  // namespace

void finish_reduction(Warp& warp, const Inst& inst, u32 mask, const Reduction& reduction) {
  if ((inst.flags & kPopc) != 0) {
    const auto d = lanes<u32>(warp, inst.d);
    for (int i = 0; i < kLanes; ++i) d.set_if(i, (mask >> i & 1) != 0, reduction.count);
  } else if ((inst.flags & (kAnd | kOr)) != 0) {
    const bool value = (inst.flags & kAnd) != 0 ? reduction.all : reduction.any;
    blend(warp.predicate(static_cast<PredicateUse>(inst.d)), value ? kFullMask : 0, mask);
  }
}

void arrive_if_complete(Warp& warp, int id) {
  const u32 here = warp.coming_to(id);
  if (here == 0 || here != warp.live()) return;
  const auto comes = [&](const Split& split) { return split.comes_to(id); };
  const auto is = [](const Split& split, u32 flag) { return (split.at->flags & flag) != 0; };
  const auto& splits = warp.splits();
  const Split& first = *std::ranges::find_if(splits, comes);
  BarrierOperands operands;
  if (!read_operands(warp, *first.at, first.mask, operands)) return;
  if (std::ranges::any_of(splits,
                          [&](const Split& split) { return comes(split) && is(split, kAligned); }))
    warp.require_one_barrier(id);
  warp.release([&](const Split& split) { return comes(split) && is(split, kArrive); },
               [](const Split&) {});
  warp.note_arrival(id);
  warp.cta().arrive(id, warp.index(), operands.warps);
}

std::span<const Family> barrier_families() {
  static constexpr Family kFamilies[] = {{"bar", decode_barrier},
                                         {"barrier", decode_barrier},
                                         {"membar", decode_fence},
                                         {"fence", decode_fence}};
  return kFamilies;
}

}  // namespace plumbline::emulator
