// SPDX-License-Identifier: MIT
// cp.async and its groups (PTX ISA 9.0 section 9.7.9.25). Issuing checks both ends and marks the
// destination as pending; the copy itself, reading the source included, is performed at the wait. A
// false guard or src-size 0 reads nothing.
#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/families.h"
#include "harness/emulator/machine/access.h"
#include "harness/emulator/machine/mbarrier_phases.h"
#include "harness/emulator/memory/address_space.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Inst::a + immediate: destination. Inst::b + e (signed): source. Inst::c: src-size; Inst::p:
// ignore-src predicate.
constexpr u32 kSourceSize = 1;    // Inst::c holds src-size
constexpr u32 kIgnoreSource = 2;  // Inst::p says which lanes copy zeros
// cp.async.mbarrier.arrive: the mbarrier is at Inst::a + immediate.
constexpr u32 kNoIncrement = 1;
constexpr u32 kGenericBarrier = 2;  // a generic address

void explain_copies(Warp& warp, const Inst& inst, u32 unclear, u32 mask, const Pointers& to,
                    int bytes) {
  Accessor who = accessor(warp);
  who.inst = &inst;
  who.storing = mask;
  who.addresses = to.address.data();
  who.bytes = static_cast<u64>(bytes);
  for (u32 left = unclear; left != 0; left &= left - 1) {
    who.lane = std::countr_zero(left);
    const u64 address = to.address[static_cast<std::size_t>(who.lane)];
    const auto problem = warp.cta().shared().explain_copy(who, address, bytes, kPending);
    if (problem) shared_problem(warp, inst, who.lane, *problem);
  }
}

template <int Bytes>
[[gnu::always_inline]] inline bool check_destination(Warp& warp, const Inst& inst, u32 mask,
                                                     const Pointers& to) {
  SharedMemory& shared = warp.cta().shared();
  const AddressRange range = range_of(to, mask);
  if ((range.bits & (Bytes - 1)) != 0)
    return misaligned(warp, inst, mask, to, Space::shared, Bytes);
  if (!shared.holds_all(range.lowest, range.highest, Bytes)) {
    for (u32 left = mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const u64 address = to.address[static_cast<std::size_t>(lane)];
      if (!shared.holds(address, Bytes))
        return out_of_bounds(warp, inst, lane, address, Space::shared, Bytes, Intent::write);
    }
  }
  if (!shared.check()) return true;
  const ShadowView view = shared.view(accessor(warp));
  u32 unclear = 0;
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const bool fine = ShadowRow<Bytes>(view, to.address[static_cast<std::size_t>(lane)]).copy(lane);
    unclear |= static_cast<u32>(!fine) << lane;
  }
  if (unclear != 0) explain_copies(warp, inst, unclear, mask, to, Bytes);
  return true;
}

template <int Bytes>
[[gnu::always_inline]] inline void copy(Warp& warp, const Inst& inst, u32 mask) {
  Pointers to, from;
  gather_addresses(warp, inst, to);
  const auto source_base = lanes<u64>(warp, inst.b);
  const auto source_offset =
      static_cast<u64>(static_cast<std::int64_t>(static_cast<std::int32_t>(inst.e)));
  for (std::size_t i = 0; i < kLanes; ++i)
    from.address[i] = source_base[static_cast<int>(i)] + source_offset;

  alignas(64) u32 size[kLanes];
  for (int i = 0; i < kLanes; ++i) size[i] = Bytes;
  if ((inst.flags & kSourceSize) != 0) {
    const auto given = lanes<u32>(warp, inst.c);
    for (int i = 0; i < kLanes; ++i) size[i] = given[i];
  }
  if ((inst.flags & kIgnoreSource) != 0) {
    const u32 ignore = warp.read(inst.p);
    for (int i = 0; i < kLanes; ++i) size[i] = (ignore >> i & 1) != 0 ? 0 : size[i];
  }
  u32 whole = lanes_where([&](int i) { return size[i] == Bytes; });
  u32 none = whole == kFullMask ? 0 : lanes_where([&](int i) { return size[i] == 0; });
  whole &= mask;
  none &= mask;
  if (warp.counts_traffic()) {
    count_access(warp, inst, mask, to.address, Space::shared, Bytes, Access::copy);
    count_access(warp, inst, mask & ~none, from.address, Space::global, Bytes, Access::copy);
    warp.traffic().products_at_copy = warp.traffic().products;
    warp.traffic().copies_in_flight = true;
  }
  if (!check_destination<Bytes>(warp, inst, mask, to)) return;
  if (whole != mask) from.host.fill(nullptr);
  if (whole != 0 && !resolve<Space::global, Bytes>(warp, inst, whole, from, Intent::read)) return;
  // An address that nothing is read from has to be aligned as well.
  for (u32 left = none; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (from.address[static_cast<std::size_t>(lane)] % Bytes != 0) {
      misaligned(warp, inst, u32{1} << lane, from, Space::global, Bytes);
      return;
    }
  }
  // Part of the bytes, the rest zero: rare (the ragged edge of a tile).
  for (u32 left = mask & ~whole & ~none; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const auto l = static_cast<std::size_t>(lane);
    if (size[lane] > Bytes) {
      warp.fail(FindingKind::bad_operand, inst, lane, [&] {
        return fmt::format("src-size is {}, more than the {} bytes of the copy", size[lane], Bytes);
      });
      return;
    }
    if (from.address[l] % Bytes != 0) {
      misaligned(warp, inst, u32{1} << lane, from, Space::global, Bytes);
      return;
    }
    if (!resolve_global_slowly(warp, inst, u32{1} << lane, from, static_cast<int>(size[lane]),
                               Intent::read))
      return;
  }
  // The bytes are wanted at the wait, a few hundred instructions from here.
  for (std::size_t i = 0; i < kLanes; i += 2) __builtin_prefetch(from.host[i]);
  warp.copies().add(mask, [&](AsyncCopy& copy) {
    copy.index = inst.index;
    copy.bytes = Bytes;
    copy.whole = whole == mask;
    for (std::size_t i = 0; i < kLanes; ++i) copy.to[i] = static_cast<u32>(to.address[i]);
    for (std::size_t i = 0; i < kLanes; ++i) copy.from[i] = from.host[i];
    for (std::size_t i = 0; i < kLanes; ++i)
      copy.source_bytes[i] = static_cast<std::uint8_t>(size[i]);
  });
}

template <int Bytes>
[[gnu::always_inline]] inline void perform(Warp& warp, SharedMemory& shared, const AsyncCopy& copy,
                                           u32 ready) {
  if (copy.whole && ready == kFullMask) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      __builtin_memcpy(shared.data(copy.to[lane]), copy.from[lane], Bytes);
    }
  } else {
    for (u32 left = ready; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      std::byte* const to = shared.data(copy.to[lane]);
      __builtin_memset(to, 0, Bytes);
      if (copy.source_bytes[lane] != 0) std::memcpy(to, copy.from[lane], copy.source_bytes[lane]);
    }
  }
  if (!shared.check()) return;
  // A word that was split since is one word again: the copy has all of it.
  const ShadowView view = shared.view(accessor(warp));
  for (u32 left = ready; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    ShadowRow<Bytes>(view, copy.to[static_cast<std::size_t>(lane)]).record_write(lane);
  }
  shared.keep_tracing();
}

[[gnu::always_inline]] inline void perform_copy(Warp& warp, const AsyncCopy& copy, u32 ready) {
  SharedMemory& shared = warp.cta().shared();
  switch (copy.bytes) {
    case 4:
      perform<4>(warp, shared, copy, ready);
      break;
    case 8:
      perform<8>(warp, shared, copy, ready);
      break;
    default:
      perform<16>(warp, shared, copy, ready);
      break;
  }
}

void commit(Warp& warp, const Inst&, u32 mask) { warp.copies().commit(mask, warp.live()); }

[[gnu::always_inline]] inline void wait_group(Warp& warp, const Inst& inst, u32 mask) {
  if (warp.counts_traffic()) count_copy_wait(warp, inst, static_cast<u32>(inst.immediate));
  warp.copies().wait(mask, static_cast<u32>(inst.immediate),
                     [&](const AsyncCopy& copy, u32 ready)
                         __attribute__((always_inline)) { perform_copy(warp, copy, ready); });
}

[[gnu::always_inline]] inline void wait_all(Warp& warp, const Inst& inst, u32 mask) {
  if (warp.counts_traffic()) count_copy_wait(warp, inst, 0);
  warp.copies().wait_all(mask,
                         [&](const AsyncCopy& copy, u32 ready)
                             __attribute__((always_inline)) { perform_copy(warp, copy, ready); });
}

// cp.async.mbarrier.arrive: what the lanes have issued is complete at once, and they arrive. With
// .noinc these are arrivals that the mbarrier was made for; else each adds one to the phase first,
// which leaves what is pending as it is.
void arrive(Warp& warp, const Inst& inst, u32 mask) {
  Cta& cta = warp.cta();
  warp.copies().wait_all(
      mask, [&](const AsyncCopy& copy, u32 ready) { perform_copy(warp, copy, ready); });
  Arrivals arrivals(warp, inst, false);
  Pointers at;
  gather_addresses(warp, inst, at);
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 window = (inst.flags & kGenericBarrier) != 0 ? kSharedWindow : 0;
    const u64 address = at.address[static_cast<std::size_t>(lane)] - window;
    Mbarrier* const barrier = mbarrier_at(warp, inst, lane, address);
    if (barrier == nullptr) return;
    if ((inst.flags & kNoIncrement) == 0) ++barrier->pending;
    if (!take_arrivals(warp, inst, lane, *barrier, 1, arrivals.to(*barrier, lane))) return;
    cta.note_progress();
    end_phase_if_complete(*barrier);
  }
}

void decode_arrive(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   Inst& out) {
  if (!modifiers.take("arrive")) return;
  if (modifiers.take("noinc")) out.flags |= kNoIncrement;
  const bool shared = modifiers.take_one_of("shared", "shared::cta") >= 0;
  if (!shared) out.flags |= kGenericBarrier;
  if (!modifiers.take("b64") || !decoder.require_operands(instruction, 1, 1)) return;
  decoder.address(instruction.operands[0], shared ? Space::shared : Space::generic, out);
  out.execute = arrive;
}

HandlerSet choose(std::int64_t bytes) {
  switch (bytes) {
    case 4:
      return handlers_of<&copy<4>>;
    case 8:
      return handlers_of<&copy<8>>;
    case 16:
      return handlers_of<&copy<16>>;
    default:
      return {};
  }
}

void decode_copy(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  const bool through_l1 = modifiers.take("ca");
  const bool around_l1 = modifiers.take("cg");
  const bool to_shared = modifiers.take_one_of("shared", "shared::cta") >= 0;
  const bool from_global = modifiers.take("global");
  const bool has_policy = modifiers.take_cache_policy();
  modifiers.take_hints();
  const std::size_t fixed = has_policy ? 4 : 3;
  if (through_l1 == around_l1 || !to_shared || !from_global) return;
  if (!decoder.require_operands(instruction, fixed, fixed + 1)) return;
  const std::vector<Operand>& operands = instruction.operands;
  const std::int64_t bytes = decoder.immediate(operands[2]);
  if (around_l1 && bytes != 16) decoder.refuse("cp.async.cg copies 16 bytes");
  Inst source;
  decoder.address(operands[1], Space::global, source);
  decoder.address(operands[0], Space::shared, out);
  if ((source.flags & kAddress32) != 0) decoder.refuse("the source address has 32 bits");
  out.b = source.a;
  out.e = static_cast<Slot>(static_cast<std::int32_t>(source.immediate));
  if (operands.size() == fixed + 1) {
    const Operand& extra = operands[3];
    if (decoder.register_bits(extra) == 1) {
      out.p = decoder.predicate(extra);
      out.flags |= kIgnoreSource;
    } else {
      out.c = decoder.source(extra, 32);
      out.flags |= kSourceSize;
    }
  }
  out.execute = pick(choose(bytes));
}

void decode_async(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out) {
  decoder.require_sm(80);
  const bool reduces = modifiers.take("reduce");
  if (!modifiers.take("async")) return;
  if (modifiers.take("bulk")) return decode_bulk(decoder, instruction, modifiers, reduces, out);
  if (reduces) return decoder.refuse("reductions are bulk copies");
  if (modifiers.take("mbarrier")) return decode_arrive(decoder, instruction, modifiers, out);
  if (modifiers.take("commit_group")) {
    decoder.require_operands(instruction, 0, 0);
    out.execute = commit;
  } else if (modifiers.take("wait_all")) {
    decoder.require_operands(instruction, 0, 0);
    out.execute = pick(handlers_of<&wait_all>);
  } else if (modifiers.take("wait_group")) {
    if (!decoder.require_operands(instruction, 1, 1)) return;
    out.immediate = decoder.immediate(instruction.operands[0]);
    out.execute = pick(handlers_of<&wait_group>);
  } else {
    decode_copy(decoder, instruction, modifiers, out);
  }
}

}  // namespace

std::span<const Family> async_copy_families() {
  static constexpr Family kFamilies[] = {{"cp", decode_async}};
  return kFamilies;
}

}  // namespace plumbline::emulator
