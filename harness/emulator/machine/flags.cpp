// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/flags.h"

#include <bit>

#include "harness/emulator/machine/access.h"
#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/global_memory.h"

namespace plumbline::emulator {
namespace {

constexpr std::uint64_t kWord = 4;

bool is_ordered(const Warp& warp, int lane, const FlagStore& store) {
  const AccessOrder& order = warp.cta().shared().order();
  return store.warp == warp.index()
             ? order.lanes_ordered(warp.index(), lane, store.lane, store.tick)
             : order.ordered(warp.index(), store.warp, store.tick);
}

FlagStore store_of(std::uint32_t stamp) {
  return {static_cast<int>(stamp >> 5 & 31), static_cast<int>(stamp & 31), stamp >> 10};
}

bool reads_shared_flag(Warp& warp, int lane, std::uint64_t address, int bytes, Intent intent,
                       bool may_be_flag) {
  Cta& cta = warp.cta();
  SharedMemory& shared = cta.shared();
  if (!shared.check()) return false;
  if (!shared.holds(address, static_cast<std::uint64_t>(bytes))) return cta.in_cluster();
  bool found = false;
  const std::uint64_t end = address + static_cast<std::uint64_t>(bytes);
  for (std::uint64_t word = address / kWord * kWord; word < end; word += kWord) {
    if (reads(intent) && may_be_flag) {
      const auto flag = cta.flag_stores().find(word);
      found = found || (flag != cta.flag_stores().end() && !is_ordered(warp, lane, flag->second));
      // A plain store that nothing orders, read as volatile, is meant as a flag. (Read by an atomic
      // it is a race.)
      const std::uint32_t stamp = shared.stamp_at(std::max(word, address));
      found = found || (intent == Intent::synchronise && stamp >> 10 >= shared.order().began() &&
                        !is_ordered(warp, lane, store_of(stamp)));
    }
    if (intent != Intent::synchronise)
      cta.flag_stores()[word] = {warp.index(), lane, shared.order().tick()};
  }
  return found;
}

bool reads_global_flag(Warp& warp, const Inst& inst, int lane, std::uint64_t address, int bytes) {
  const Allocation* allocation = warp.cached_allocation(inst);
  const auto size = static_cast<std::uint64_t>(bytes);
  if (allocation == nullptr || !allocation->holds(address, size))
    allocation = warp.cta().launch().global.find(address);
  if (allocation == nullptr || allocation->fully_written || !allocation->holds(address, size))
    return false;
  const std::uint64_t begin = address - allocation->base;
  const std::uint64_t end = begin + static_cast<std::uint64_t>(bytes);
  for (std::uint64_t word = begin / kWord; word * kWord < end; ++word) {
    const AccessMark& mark = allocation->marks[word];
    if (mark.crowd != Crowd::none) return true;  // who wrote last is kept elsewhere
    if (mark.cta != static_cast<std::uint32_t>(warp.cta().linear()) + 1) continue;
    if ((mark.written | mark.updated) != 0 && !is_ordered(warp, lane, store_of(mark.stamp)))
      return true;
  }
  return false;
}

}  // namespace

bool reads_flag(Warp& warp, const Inst& inst, std::uint32_t lanes, Space space, int bytes,
                Intent intent) {
  const Pointers& p = warp.pointers();
  // A sum of data, and what nothing reads, tells nobody anything.
  const bool may_be_flag = (inst.flags & (kData | kUnread)) == 0;
  bool found = false;
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::uint64_t address = p.address[static_cast<std::size_t>(lane)];
    Space at = space;
    if (space == Space::generic) {
      at = space_of(address);
      address -= window_of(at);
    }
    if (at == Space::shared) {
      found = reads_shared_flag(warp, lane, address, bytes, intent, may_be_flag) || found;
    } else if (at == Space::global && reads(intent) && may_be_flag && !found) {
      found = warp.cta().worker().races != nullptr &&
              reads_global_flag(warp, inst, lane, address, bytes);
    }
  }
  if (intent != Intent::synchronise) warp.cta().shared().order().note_access(warp.index());
  return found;
}

}  // namespace plumbline::emulator
