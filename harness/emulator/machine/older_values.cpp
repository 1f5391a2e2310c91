// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/older_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "harness/emulator/machine/access.h"
#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/global_memory.h"

namespace plumbline::emulator {
namespace {

// One lane's access, where older values are kept of its memory.
struct Place {
  OlderValues* values = nullptr;
  std::uint64_t address = 0;  // global, or of the CTA's shared memory
  bool shared = false;
};

std::optional<Place> place_of(Cta& cta, std::uint64_t address, Space space, int bytes) {
  if (space == Space::generic) {
    space = space_of(address);
    address -= window_of(space);
  }
  if (space == Space::global) return Place{&cta.worker().older_values, address, false};
  if (space != Space::shared || !cta.shared().holds(address, static_cast<std::uint64_t>(bytes)))
    return std::nullopt;
  return Place{&cta.older_values(), address, true};
}

bool is_ordered(const Warp& warp, int lane, const OlderValue& value, bool shared) {
  SharedMemory& memory = warp.cta().shared();
  const bool same_cta = value.cta == static_cast<std::uint32_t>(warp.cta().linear());
  if (same_cta && value.warp == warp.index() && value.lane == lane) return true;
  if (shared)
    return value.warp != warp.index() || value.meetings != memory.order().meetings(warp.index());
  const CtaClock& clock = memory.clock();
  return clock.knows(warp.index(), value.cta, value.warp, value.tick) ||
         clock.has_heard(warp.index(), value.cta, value.warp, value.tick);
}

void keep(const Warp& warp, const Inst& inst, int lane, const Place& place, const std::byte* there,
          int bytes) {
  AccessOrder& order = warp.cta().shared().order();
  order.note_access(warp.index());
  OlderValue value;
  std::memcpy(value.bytes.data(), there, static_cast<std::size_t>(bytes));
  value.size = bytes;
  value.inst = inst.index;
  value.cta = static_cast<std::uint32_t>(warp.cta().linear());
  value.position = warp.cta().position();
  value.warp = warp.index();
  value.lane = lane;
  value.tick = order.tick();
  value.meetings = order.meetings(warp.index());
  (*place.values)[place.address] = std::move(value);
}

void note(Warp& warp, const Inst& inst, int lane, const Place& place, const OlderValue& value) {
  const Launch& launch = warp.cta().launch();
  Finding* const finding = warp.cta().worker().older_reads.log.add(
      FindingKind::race, launch.program, inst.index, warp.cta().position(), warp.index(), lane,
      [&] {
        const Instruction* origin = launch.program.origin[value.inst];
        const int line = origin == nullptr ? 0 : origin->line;
        if (place.shared) {
          return fmt::format(
              "reads byte {} of shared memory, which lane {} of the same warp wrote at line {} "
              "with no __syncwarp() (bar.warp.sync) between; volatile orders nothing, and the load "
              "may find what was there before",
              place.address - kSharedStart, value.lane, line);
        }
        const Allocation* allocation = launch.global.find(place.address);
        return fmt::format(
            "reads byte {} of \"{}\", which cta {},{},{} wrote at line {} with nothing that orders "
            "the two, such as a fence (__threadfence()) behind the write; the load may find what "
            "was there before",
            place.address - allocation->base, allocation->label, value.position[0],
            value.position[1], value.position[2], line);
      });
  if (finding == nullptr) return;
  finding->other =
      describe_access(launch.program, value.inst, "write", value.position, value.warp, value.lane);
  if (place.shared) return;
  const Allocation* allocation = launch.global.find(place.address);
  finding->buffer = allocation->label;
  finding->buffer_byte = static_cast<std::int64_t>(place.address - allocation->base);
}

}  // namespace

std::vector<Finding> OlderReads::findings() const {
  FindingLog kept = log;
  kept.erase(polls);
  return kept.findings();
}

std::uint32_t find_older_values(Warp& warp, const Inst& inst, std::uint32_t lanes, Space space,
                                int bytes, Intent intent) {
  Pointers& p = warp.pointers();
  std::uint32_t older = 0;
  std::vector<std::pair<OlderValue*, std::uint32_t>> finders;
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const auto at = static_cast<std::size_t>(lane);
    const std::optional<Place> place = place_of(warp.cta(), p.address[at], space, bytes);
    if (!place) continue;
    if (intent != Intent::synchronise) {
      const bool found_by_loads = !place->shared && warp.program().loads_strongly;
      if (intent == Intent::publish || found_by_loads)
        keep(warp, inst, lane, *place, p.host[at], bytes);
      continue;
    }
    const auto found = place->values->find(place->address);
    if (found == place->values->end() || found->second.size != bytes) continue;
    OlderValue& value = found->second;
    if (is_ordered(warp, lane, value, place->shared)) continue;
    const std::uint32_t finder = place->shared ? static_cast<std::uint32_t>(lane)
                                               : static_cast<std::uint32_t>(warp.cta().linear());
    if (std::ranges::find(value.found_by, finder) != value.found_by.end()) {
      warp.cta().worker().older_reads.polls.insert(inst.index);
      continue;
    }
    finders.emplace_back(&value, finder);
    if (std::memcmp(p.host[at], value.bytes.data(), static_cast<std::size_t>(bytes)) == 0) continue;
    note(warp, inst, lane, *place, value);
    p.host[at] = value.bytes.data();
    older |= 1u << lane;
  }
  // The lanes of one instruction find the same.
  for (const auto& [value, finder] : finders) value->found_by.push_back(finder);
  return older;
}

}  // namespace plumbline::emulator
