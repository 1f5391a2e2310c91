// SPDX-License-Identifier: MIT
// st.async (PTX ISA 9.0 section 9.7.9.12): a store to shared memory of the cluster whose bytes an
// mbarrier counts. As all that is asynchronous here, it is performed as late as it may: when a
// thread asks for the phase that counts it (mbarriers.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/families.h"
#include "harness/emulator/machine/access.h"
#include "harness/emulator/machine/cluster.h"
#include "harness/emulator/machine/mbarrier_phases.h"
#include "harness/emulator/memory/address_space.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Inst::flags: the bytes of an element, how many there are (Inst::list), and whether the addresses
// are generic. Inst::immediate: the addresses, in Program::bulk_copies.
constexpr u32 kElementBytes = 0xf;
constexpr u32 kCountShift = 4;
constexpr u32 kCountMask = 0xf;
constexpr u32 kGeneric = 0x100;

// The CTA in whose shared memory the place is. Null after a finding.
Cta* check_place(Warp& warp, const Inst& inst, int lane, u64 to, u32 bytes) {
  if (to % bytes != 0) {
    warp.fail(FindingKind::misaligned, inst, lane, [&] {
      return fmt::format("stores {} bytes at {:#x} of shared memory, which is not a multiple of {}",
                         bytes, to, bytes);
    });
    return nullptr;
  }
  Cta* const owner = shared_memory_at(warp, inst, lane, to);
  if (owner == nullptr || owner->shared().holds(to, bytes)) return owner;
  out_of_bounds(warp, inst, lane, to, Space::shared, static_cast<int>(bytes), Intent::write);
  return nullptr;
}

// The order of accesses to the shared memory of the CTAs that lanes store to: what begins and ends
// asynchronous accesses.
void each_order(const std::array<Cta*, 32>& owners, void (AccessOrder::*visit)()) {
  std::vector<Cta*> seen;
  for (Cta* const owner : owners) {
    if (owner == nullptr || std::ranges::find(seen, owner) != seen.end()) continue;
    seen.push_back(owner);
    (owner->shared().order().*visit)();
  }
}

void store(Warp& warp, const Inst& inst, u32 mask) {
  const BulkCopy& where = *warp.program().bulk_copies[static_cast<std::size_t>(inst.immediate)];
  const u32 width = inst.flags & kElementBytes, count = inst.flags >> kCountShift & kCountMask;
  const u32 bytes = width * count;
  const u64 window = (inst.flags & kGeneric) != 0 ? kSharedWindow : 0;
  Pointers to{};
  std::array<Cta*, 32> owners{};
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 address = address_at(warp, where.shared, lane) - window;
    Cta* const owner = check_place(warp, inst, lane, address, bytes);
    if (owner == nullptr) return;
    owners[static_cast<std::size_t>(lane)] = owner;
    to.address[static_cast<std::size_t>(lane)] = address;
  }
  if (warp.cta().shared().check()) {
    each_order(owners, &AccessOrder::begin_asynchronous);
    for (u32 left = mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      SharedMemory& shared = owners[lane]->shared();
      Accessor who = accessor(warp, shared);
      who.inst = &inst;
      who.lane = static_cast<int>(lane);
      const auto problem =
          shared.explain_copy(who, to.address[lane], static_cast<int>(bytes), kStoring);
      if (problem) shared_problem(warp, inst, who.lane, *problem);
    }
    each_order(owners, &AccessOrder::end_asynchronous);
  }
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 at = address_at(warp, where.barrier, lane) - window;
    Mbarrier* const barrier = mbarrier_at(warp, inst, lane, at);
    if (barrier == nullptr) return;
    if (barrier->cta != owners[static_cast<std::size_t>(lane)]) {
      return warp.fail(FindingKind::bad_operand, inst, lane, [&] {
        return fmt::format(
            "a store to CTA rank {} of the cluster, with an mbarrier in CTA rank {}; both have to "
            "be in the same CTA",
            owners[static_cast<std::size_t>(lane)]->rank(), barrier->cta->rank());
      });
    }
    BulkLoad load{&inst, &warp, lane};
    load.to = to.address[static_cast<std::size_t>(lane)];
    load.stored = bytes;
    for (u32 i = 0; i < count; ++i) {
      const u64 element = width == 8 ? lanes<u64>(warp, inst.list[i])[lane]
                                     : u64{lanes<u32>(warp, inst.list[i])[lane]};
      std::memcpy(load.value.data() + i * width, &element, width);
    }
    issue(std::move(load), *barrier);
  }
}

}  // namespace

void decode_async_store(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                        Inst& out) {
  decoder.require_sm(90);
  modifiers.take_one_of("weak", "cluster");  // the scope of a relaxed store
  const bool shared = modifiers.take("shared::cluster");
  if (!modifiers.take("mbarrier::complete_tx::bytes"))
    return decoder.refuse("only weak stores that an mbarrier counts are emulated");
  const u32 count = 1u << (modifiers.take_one_of("v2", "v4") + 1);
  const auto width = static_cast<u32>(bits(modifiers.take_type())) / 8;
  if ((width != 4 && width != 8) || width * count > 16)
    return decoder.refuse("it stores elements of 4 or 8 bytes, and 16 bytes at most");
  if (!decoder.require_operands(instruction, 3, 3)) return;
  const std::vector<Operand>& operands = instruction.operands;
  const std::span<const Operand> sources = decoder.elements(operands[1]);
  if (sources.size() != count)
    return decoder.refuse("the vector has another number of elements than the instruction says");
  std::vector<Slot> list;
  for (const Operand& one : sources)
    list.push_back(decoder.source(one, static_cast<int>(8 * width)));
  out.list = decoder.keep(list);
  const Space space = shared ? Space::shared : Space::generic;
  auto where = std::make_unique<BulkCopy>();
  where->shared = decoder.address(operands[0], space);
  where->barrier = decoder.address(operands[2], space);
  out.immediate = static_cast<std::int64_t>(decoder.program().bulk_copies.size());
  decoder.program().bulk_copies.push_back(std::move(where));
  out.flags = width | count << kCountShift | (shared ? 0 : kGeneric);
  out.execute = store;
}

}  // namespace plumbline::emulator
