// SPDX-License-Identifier: MIT
// mbarrier (PTX ISA 9.0 section 9.7.13.15). A warp that comes to a test_wait or try_wait before the
// phase is complete hears at first that it is not, which either may say: a wait without a loop
// around it goes on too early. After that the wait stops its lanes until the phase is complete, or
// until no warp of the CTA can go on: how long it may take is the implementation's choice, and so
// every other order of warps is tried before it fails.
//
// Arriving releases, and waiting acquires, what the warp knows of shared memory (access_order.h),
// unless the instruction says .relaxed.
#include <fmt/format.h>

#include <bit>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/machine/bulk_copy.h"
#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/lanes.h"
#include "harness/emulator/machine/mbarrier_phases.h"
#include "harness/emulator/memory/address_space.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Inst::flags, besides kRelaxed.
constexpr u32 kDrops = 2;     // arrive_drop
constexpr u32 kExpects = 4;   // Inst::b: bytes
constexpr u32 kHasCount = 8;  // Inst::b: arrivals
constexpr u32 kParity = 16;   // Inst::b, its lowest bit: parity of a phase; else Inst::c: a state
constexpr u32 kGeneric = 32;  // the address is a generic one
constexpr u32 kNoComplete = 64;
constexpr u32 kTests = 128;  // test_wait

// How often a warp hears at a wait that the phase is not complete. What does not block may say so
// any number of times.
constexpr int kEarlyAnswers = 1, kEarlyAnswersOfTests = 16;

u64 address_of(Warp& warp, const Inst& inst, int lane) {
  const AddressOperand where{inst.a, (inst.flags & kAddress32) == 0, inst.immediate};
  return address_at(warp, where, lane) - ((inst.flags & kGeneric) != 0 ? kSharedWindow : 0);
}

// Whether an mbarrier may lie there.
bool check_place(Warp& warp, const Inst& inst, int lane, u64 address) {
  if (address % 8 != 0) {
    warp.fail(FindingKind::misaligned, inst, lane, [&] {
      return fmt::format("an mbarrier at {:#x}, which is not a multiple of 8", address);
    });
    return false;
  }
  if (warp.cta().shared().holds(address, 8)) return true;
  warp.fail(FindingKind::out_of_bounds, inst, lane, [&] {
    return fmt::format("an mbarrier at {:#x}; {}", address, warp.cta().shared().extent());
  });
  return false;
}

// --- instructions ---

void make(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 address = address_of(warp, inst, lane);
    const u32 count = lanes<u32>(warp, inst.b)[lane];
    if (!check_place(warp, inst, lane, address)) return;
    if (count < 1 || count > kMostArrivals) {
      return warp.fail(FindingKind::bad_operand, inst, lane, [&] {
        return fmt::format("an mbarrier for {} arrivals; it takes 1 to {}", count, kMostArrivals);
      });
    }
    Cta& cta = warp.cta();
    if (cta.mbarriers().find(address) != nullptr) {
      warp.report(FindingKind::bad_operand, inst, lane, [&] {
        return fmt::format(
            "there is an mbarrier at {:#x} already; mbarrier.inval has to end it first", address);
      });
    }
    Mbarrier& barrier = cta.mbarriers().make(cta, address);
    barrier.count = barrier.pending = count;
    barrier.made_by = warp.index();
    barrier.made_at = cta.shared().order().tick();
    cta.shared().mark_mbarrier(address, true);
  }
  warp.cta().shared().order().next_tick();
}

void invalidate(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 address = address_of(warp, inst, lane);
    const Mbarrier* const barrier = mbarrier_at(warp, inst, lane, address);
    if (barrier == nullptr) return;
    for (const BulkLoad& load : barrier->loads) report_unfinished(load);
    Cta& owner = *barrier->cta;
    owner.mbarriers().remove(address);
    owner.shared().mark_mbarrier(address, false);
  }
}

// Another CTA's may be used only as long as that one runs.
void note_visit(Warp& warp, const Inst& inst, int lane, const Mbarrier& barrier) {
  Cta& own = warp.cta();
  if (barrier.cta != &own) barrier.cta->note_visit(warp, inst, lane, own.shared().order().tick());
}

void expect(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    Mbarrier* barrier = mbarrier_at(warp, inst, lane, address_of(warp, inst, lane));
    if (barrier == nullptr) return;
    note_visit(warp, inst, lane, *barrier);
    const u32 bytes = lanes<u32>(warp, inst.b)[lane];
    if (!expect_bytes(warp, inst, lane, *barrier, bytes)) return;
  }
}

// complete_tx: as if bytes had come.
void complete(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 address = address_of(warp, inst, lane);
    Mbarrier* barrier = mbarrier_at(warp, inst, lane, address);
    if (barrier == nullptr) return;
    const auto bytes = static_cast<std::int64_t>(lanes<u32>(warp, inst.b)[lane]);
    note_visit(warp, inst, lane, *barrier);
    if (!expect_bytes(warp, inst, lane, *barrier, -bytes)) return;
    end_phase_if_complete(*barrier);
  }
}

// What arrive returns: the phase, and the arrivals that were pending before.
u64 state_of(const Mbarrier& barrier) { return u64{barrier.phase} << 32 | barrier.pending; }

void arrive(Warp& warp, const Inst& inst, u32 mask) {
  Cta& cta = warp.cta();
  Arrivals arrivals(warp, inst, (inst.flags & kRelaxed) != 0);
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 address = address_of(warp, inst, lane);
    Mbarrier* barrier = mbarrier_at(warp, inst, lane, address);
    if (barrier == nullptr) return;
    const u32 operand = lanes<u32>(warp, inst.b)[lane];
    if ((inst.flags & kExpects) != 0 && !expect_bytes(warp, inst, lane, *barrier, operand)) return;
    const u32 count = (inst.flags & kHasCount) != 0 ? operand : 1;
    const u64 state = state_of(*barrier);
    if (!take_arrivals(warp, inst, lane, *barrier, count, arrivals.to(*barrier, lane))) return;
    lanes<u64>(warp, inst.d).set(lane, state);
    if ((inst.flags & kDrops) != 0) barrier->count -= count;
    if ((inst.flags & kNoComplete) != 0 && barrier->due()) {
      return warp.fail(FindingKind::bad_operand, inst, lane, [&] {
        return fmt::format("the last arrival of a phase of the mbarrier {:#x} says .noComplete",
                           address);
      });
    }
    cta.note_progress();
    end_phase_if_complete(*barrier);
  }
}

void wait(Warp& warp, const Inst& inst, u32 mask) {
  u32 done = 0;
  for (u32 left = mask; left != 0;) {
    // The lanes that ask for the same phase of the same object.
    const int first = std::countr_zero(left);
    const u64 address = address_of(warp, inst, first);
    const bool by_parity = (inst.flags & kParity) != 0;
    const auto asked = [&](int lane) {
      return by_parity ? u64{lanes<u32>(warp, inst.b)[lane] & 1}
                       : lanes<u64>(warp, inst.c)[lane] >> 32;
    };
    u32 group = 0;
    for (u32 l = left; l != 0; l &= l - 1) {
      const int lane = std::countr_zero(l);
      if (address_of(warp, inst, lane) == address && asked(lane) == asked(first))
        group |= 1u << lane;
    }
    left &= ~group;
    Mbarrier* barrier = mbarrier_at(warp, inst, first, address);
    if (barrier == nullptr) return;
    const auto open = [&] {
      return by_parity ? (barrier->phase & 1) == asked(first) : barrier->phase == asked(first);
    };
    // A state is of this phase or of the one before.
    if (!by_parity && barrier->phase - asked(first) > 1) {
      return warp.fail(FindingKind::bad_operand, inst, first, [&] {
        return fmt::format(
            "waits for phase {} of the mbarrier {:#x}, which is in phase {}; a state is good for "
            "its own phase and the next",
            asked(first), address, barrier->phase);
      });
    }
    if (barrier->cta != &warp.cta()) {
      return warp.fail(FindingKind::bad_operand, inst, first, [&] {
        return fmt::format(
            "waits at the mbarrier {:#x} of another CTA; a thread can only arrive "
            "there",
            address);
      });
    }
    const int early = (inst.flags & kTests) != 0 ? kEarlyAnswersOfTests : kEarlyAnswers;
    // Counts of instructions are those of waits that stop.
    if (open() && !warp.counts_traffic() && warp.answers_early(inst, early)) {
      blend(warp.predicate(inst.p), 0, group);
      continue;
    }
    if (open()) perform_loads(*barrier);
    if (warp.cta().stopping()) return;
    if (!open()) {
      done |= group;
      if ((inst.flags & kRelaxed) == 0) learn(warp, *barrier);
      continue;
    }
    Split& split = warp.park(inst, group, Wait::mbarrier);
    split.address = address;
    split.phase = barrier->phase;
  }
  blend(warp.predicate(inst.p), kFullMask, done);
}

void pending_count(Warp& warp, const Inst& inst, u32 mask) {
  const auto d = lanes<u32>(warp, inst.d);
  const auto state = lanes<u64>(warp, inst.c);
  for (int i = 0; i < kLanes; ++i) d.set_if(i, (mask >> i & 1) != 0, static_cast<u32>(state[i]));
}

// --- decoding ---

// The state space, the address into Inst::a, and .sem.scope.
bool decode_place(Decoder& decoder, const Operand& operand, Modifiers& modifiers, Inst& out) {
  if (modifiers.take_one_of("relaxed", "release", "acquire") == 0) out.flags |= kRelaxed;
  modifiers.take_one_of("cta", "cluster");
  const bool shared = modifiers.take_one_of("shared::cta", "shared", "shared::cluster") >= 0;
  if (!shared) out.flags |= kGeneric;
  decoder.address(operand, shared ? Space::shared : Space::generic, out);
  return modifiers.take("b64");
}

void decode_arrival(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                    Inst& out) {
  if (modifiers.take("expect_tx")) out.flags |= kExpects;
  if (modifiers.take("noComplete")) out.flags |= kNoComplete;
  const std::size_t least = (out.flags & (kExpects | kNoComplete)) != 0 ? 3 : 2;
  if (!decoder.require_operands(instruction, least, 3)) return;
  const std::vector<Operand>& operands = instruction.operands;
  if (!decode_place(decoder, operands[1], modifiers, out)) return;
  out.d = decoder.destination(operands[0], 64);
  if (operands.size() == 3) {
    out.b = decoder.source(operands[2], 32);
    if ((out.flags & kExpects) == 0) out.flags |= kHasCount;
  }
  out.execute = arrive;
}

void decode_wait(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 std::size_t most, Inst& out) {
  if (modifiers.take("parity")) out.flags |= kParity;
  if (!decoder.require_operands(instruction, 3, most)) return;
  const std::vector<Operand>& operands = instruction.operands;
  if (!decode_place(decoder, operands[1], modifiers, out)) return;
  out.p = decoder.predicate_destination(operands[0]);
  if ((out.flags & kParity) != 0) {
    out.b = decoder.source(operands[2], 32);
  } else {
    out.c = decoder.source(operands[2], 64);
  }
  out.execute = wait;
}

// [address], and 32 bits in Inst::b where `operands` is 2.
void decode_simple(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   std::size_t operands, Handler handler, Inst& out) {
  if (!decoder.require_operands(instruction, operands, operands)) return;
  if (!decode_place(decoder, instruction.operands[0], modifiers, out)) return;
  if (operands == 2) out.b = decoder.source(instruction.operands[1], 32);
  out.execute = handler;
}

void decode_mbarrier(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                     Inst& out) {
  decoder.require_sm(80);
  if (modifiers.take("init")) return decode_simple(decoder, instruction, modifiers, 2, make, out);
  if (modifiers.take("inval"))
    return decode_simple(decoder, instruction, modifiers, 1, invalidate, out);
  if (modifiers.take("arrive")) return decode_arrival(decoder, instruction, modifiers, out);
  if (modifiers.take("arrive_drop")) {
    out.flags |= kDrops;
    return decode_arrival(decoder, instruction, modifiers, out);
  }
  if (modifiers.take("test_wait")) {
    out.flags |= kTests;
    return decode_wait(decoder, instruction, modifiers, 3, out);
  }
  if (modifiers.take("try_wait")) {
    decoder.require_sm(90);
    return decode_wait(decoder, instruction, modifiers, 4, out);
  }
  if (modifiers.take("expect_tx"))
    return decode_simple(decoder, instruction, modifiers, 2, expect, out);
  if (modifiers.take("complete_tx"))
    return decode_simple(decoder, instruction, modifiers, 2, complete, out);
  if (!modifiers.take("pending_count") || !modifiers.take("b64")) return;
  if (!decoder.require_operands(instruction, 2, 2)) return;
  out.d = decoder.destination(instruction.operands[0], 32);
  out.c = decoder.source(instruction.operands[1], 64);
  out.execute = pending_count;
}

}  // namespace

std::span<const Family> mbarrier_families() {
  static constexpr Family kFamilies[] = {{"mbarrier", decode_mbarrier}};
  return kFamilies;
}

}  // namespace plumbline::emulator
