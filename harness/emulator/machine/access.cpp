// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/access.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <optional>

#include "harness/emulator/machine/cluster.h"
#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/global_memory.h"
#include "harness/emulator/memory/shadow_row.h"

namespace plumbline::emulator {
namespace {

const char* verb(Intent intent) {
  switch (intent) {
    case Intent::read:
      return "reads";
    case Intent::write:
    case Intent::publish:
      return "writes";
    case Intent::synchronise:
      return "reads";
    case Intent::update:
      return "updates";
  }
  return "";
}

}  // namespace

bool misaligned(Warp& warp, const Inst& inst, std::uint32_t mask, const Pointers& p, Space space,
                int bytes) {
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::uint64_t address = p.address[static_cast<std::size_t>(lane)];
    if (address % static_cast<std::uint64_t>(bytes) == 0) continue;
    warp.fail(FindingKind::misaligned, inst, lane, [&] {
      return fmt::format("accesses {} bytes of {} memory at {:#x}, which is not a multiple of {}",
                         bytes, name(space), address, bytes);
    });
    return false;
  }
  return true;
}

bool out_of_bounds(Warp& warp, const Inst& inst, int lane, std::uint64_t address, Space space,
                   int bytes, Intent intent) {
  warp.fail(FindingKind::out_of_bounds, inst, lane, [&] {
    std::string where;
    switch (space) {
      case Space::global:
        where = warp.cta().launch().global.describe(address);
        break;
      case Space::shared:
        where = warp.cta().shared().extent();
        break;
      case Space::local:
        where = fmt::format("a thread has {} bytes of it", warp.cta().launch().program.local_bytes);
        break;
      case Space::param:
        where = fmt::format("the kernel has {} bytes of parameters",
                            warp.cta().launch().parameters.size());
        break;
      default:
        where = fmt::format("the module has {} bytes of it", warp.cta().launch().constants.size());
        break;
    }
    if (space == Space::global)
      return fmt::format("{} {} bytes of global memory; {}", verb(intent), bytes, where);
    return fmt::format("{} {} bytes of {} memory at {:#x}; {}", verb(intent), bytes, name(space),
                       address, where);
  });
  return false;
}

bool resolve_global_slowly(Warp& warp, const Inst& inst, std::uint32_t mask, Pointers& p, int bytes,
                           Intent intent) {
  const GlobalMemory& global = warp.cta().launch().global;
  const Allocation* allocation = nullptr;
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    const std::uint64_t address = p.address[lane];
    if (allocation == nullptr || !allocation->holds(address, static_cast<std::uint64_t>(bytes))) {
      allocation = global.find(address);
      if (allocation == nullptr || !allocation->holds(address, static_cast<std::uint64_t>(bytes))) {
        return out_of_bounds(warp, inst, static_cast<int>(lane), address, Space::global, bytes,
                             intent);
      }
    }
    const std::uint64_t offset = address - allocation->base;
    p.host[lane] = allocation->data + offset;
    if (allocation->fully_written) continue;
    watch(warp, inst, 1u << lane, p, *allocation, bytes, intent);
    if (!reads(intent)) {
      std::memset(allocation->written + offset, 1, static_cast<std::size_t>(bytes));
    } else if (warp.cta().shared().check() &&
               std::memchr(allocation->written + offset, 0, static_cast<std::size_t>(bytes)) !=
                   nullptr) {
      report_unwritten_global(warp, inst, static_cast<int>(lane), address, *allocation, bytes);
    }
  }
  warp.cached_allocation(inst) = allocation;
  return true;
}

void shared_problem(Warp& warp, const Inst& inst, int lane, const SharedProblem& problem) {
  const bool within_warp = problem.kind == FindingKind::race && problem.other_warp == warp.index();
  Finding* const finding =
      warp.report(problem.kind, inst, lane, [&] { return problem.words; }, within_warp);
  if (finding == nullptr) return;
  if (problem.other_warp >= 0) finding->shared_address = problem.address;
  const SharedAccess& other = problem.other;
  if (other.inst == nullptr) return;
  const Launch& launch = warp.cta().launch();
  finding->other = describe_access(warp.program(), other.inst->index, other.access_kind,
                                   other.cta ? launch.position(*other.cta) : finding->cta,
                                   other.warp, other.lane);
}

void check_shared_slowly(Warp& warp, const Inst& inst, SharedMemory& shared, std::uint32_t unclear,
                         std::uint32_t executing, const Pointers& p, int bytes, Intent intent) {
  Accessor who = accessor(warp, shared);
  who.inst = &inst;
  who.storing = executing;
  who.addresses = p.address.data();
  who.bytes = static_cast<std::uint64_t>(bytes);
  std::optional<KnownReads> known;
  if (intent == Intent::read && bytes == 16) known.emplace(shared, shared.view(who));
  for (std::uint32_t left = unclear; left != 0; left &= left - 1) {
    who.lane = std::countr_zero(left);
    const std::uint64_t address = p.address[static_cast<std::size_t>(who.lane)];
    if (known ? known->read(who, address)
              : intent == Intent::read && shared.read_known(who, address, bytes))
      continue;
    std::optional<SharedProblem> problem;
    switch (intent) {
      case Intent::read:
        problem = shared.explain_read(who, address, bytes, used_bytes(inst));
        break;
      case Intent::write:
        problem = shared.explain_write(who, address, bytes);
        break;
      case Intent::synchronise:
        problem = shared.explain_synchronising_read(address, bytes);
        break;
      case Intent::update:
        problem = shared.explain_update(who, address, bytes);
        break;
      case Intent::publish:
        shared.mark_written(address, bytes);
        break;
    }
    if (!problem) continue;
    if (intent == Intent::write && problem->between_writes) {
      ContestedSharedWrite& write = warp.cta().worker().contested_shared.emplace_back();
      write.lane = who.lane;
      write.where = shared.data(address);
      write.bytes = static_cast<std::size_t>(bytes);
      std::memcpy(write.before.data(), write.where, write.bytes);
      write.problem = std::move(*problem);
    } else {
      shared_problem(warp, inst, who.lane, *problem);
    }
  }
}

void settle_contested(Warp& warp, const Inst& inst) {
  WorkerState& worker = warp.cta().worker();
  if (!worker.contested.empty()) worker.races->resolve_contested(warp, inst, worker.contested);
  for (const ContestedSharedWrite& write : worker.contested_shared) {
    if (std::memcmp(write.before.data(), write.where, write.bytes) == 0) continue;
    shared_problem(warp, inst, write.lane, write.problem);
  }
  worker.contested_shared.clear();
}

bool resolve_in_cluster(Warp& warp, const Inst& inst, std::uint32_t mask, Pointers& p, int bytes,
                        Intent intent) {
  for (std::uint32_t left = mask; left != 0;) {
    // The lanes that mean one CTA's shared memory.
    const int first = std::countr_zero(left);
    const std::uint64_t rank = rank_of(p.address[static_cast<std::size_t>(first)]);
    std::uint32_t group = 0;
    for (std::uint32_t l = left; l != 0; l &= l - 1) {
      const int lane = std::countr_zero(l);
      if (rank_of(p.address[static_cast<std::size_t>(lane)]) == rank) group |= 1u << lane;
    }
    left &= ~group;
    Cta* const owner =
        shared_memory_at(warp, inst, first, p.address[static_cast<std::size_t>(first)]);
    if (owner == nullptr) return false;
    SharedMemory& shared = owner->shared();
    for (std::uint32_t g = group; g != 0; g &= g - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(g));
      const std::uint64_t address = p.address[lane];
      if (!shared.holds(address, static_cast<std::uint64_t>(bytes))) {
        return out_of_bounds(warp, inst, static_cast<int>(lane), address, Space::shared, bytes,
                             intent);
      }
      p.host[lane] = shared.data(address);
    }
    if (owner != &warp.cta())
      owner->note_visit(warp, inst, first, warp.cta().shared().order().tick());
    if (shared.check()) check_shared_slowly(warp, inst, shared, group, mask, p, bytes, intent);
  }
  return true;
}

void report_unwritten_global(Warp& warp, const Inst& inst, int lane, std::uint64_t address,
                             const Allocation& from, int bytes) {
  const std::uint64_t offset = address - from.base;
  const std::uint32_t used = used_bytes(inst);
  bool matters = false;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(bytes); ++i) {
    const bool is_used = i >= 32 || (used >> i & 1) != 0;  // bulk reads are longer, and whole
    matters = matters || (is_used && from.written[offset + i] == 0);
  }
  if (!matters) return;
  Finding* const finding = warp.report(FindingKind::read_of_unwritten, inst, lane, [&] {
    return fmt::format("reads {} bytes at byte {} of \"{}\" ({:#x}), which nothing wrote", bytes,
                       address - from.base, from.label, address);
  });
  if (finding == nullptr) return;
  finding->buffer = from.label;
  finding->buffer_byte = static_cast<std::int64_t>(offset);
}

bool too_wide_for_shared(Warp& warp, const Inst& inst, std::uint32_t mask, int bytes) {
  warp.fail(FindingKind::bad_operand, inst, std::countr_zero(mask), [&] {
    return fmt::format("accesses {} bytes of shared memory at once, which only global memory has",
                       bytes);
  });
  return false;
}

bool resolve_local(Warp& warp, const Inst& inst, std::uint32_t mask, Pointers& p, int bytes,
                   Intent intent) {
  const AddressRange range = range_of(p, mask);
  if ((range.bits & static_cast<std::uint64_t>(bytes - 1)) != 0) {
    return misaligned(warp, inst, mask, p, Space::local, bytes);
  }
  const auto size = static_cast<std::uint64_t>(warp.cta().launch().program.local_bytes);
  std::byte* const memory = warp.cta().local_memory(warp.index());
  std::byte* const written = warp.cta().written_local_memory(warp.index());
  const std::uint8_t garbage = warp.cta().launch().register_garbage;
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    const std::uint64_t address = p.address[lane];
    if (address < kLocalStart || address > size ||
        size - address < static_cast<std::uint64_t>(bytes)) {
      return out_of_bounds(warp, inst, static_cast<int>(lane), address, Space::local, bytes,
                           intent);
    }
    const std::size_t at = lane * size + address;
    p.host[lane] = memory + at;
    if (written == nullptr) continue;
    if (!reads(intent)) {
      std::memset(written + at, 1, static_cast<std::size_t>(bytes));
    } else if (std::memchr(written + at, 0, static_cast<std::size_t>(bytes)) != nullptr) {
      // Harmless where nothing depends on it, as where a struct is copied whole.
      warp.cta().worker().if_it_matters.emplace(inst.index, FindingKind::read_of_unwritten);
      for (std::size_t byte = at; byte < at + static_cast<std::size_t>(bytes); ++byte)
        if (written[byte] == std::byte{0}) memory[byte] = std::byte{garbage};
    }
  }
  return true;
}

bool resolve_bank(Warp& warp, const Inst& inst, std::uint32_t mask, Pointers& p, Space space,
                  int bytes, Intent intent) {
  const Launch& launch = warp.cta().launch();
  const std::span<const std::byte> bank =
      space == Space::param ? launch.parameters : launch.constants;
  if (!reads(intent)) {
    warp.fail(FindingKind::out_of_bounds, inst, std::countr_zero(mask),
              [&] { return fmt::format("writes {} memory, which is read-only", name(space)); });
    return false;
  }
  const AddressRange range = range_of(p, mask);
  if ((range.bits & static_cast<std::uint64_t>(bytes - 1)) != 0) {
    return misaligned(warp, inst, mask, p, space, bytes);
  }
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    const std::uint64_t address = p.address[lane];
    if (address > bank.size() || bank.size() - address < static_cast<std::uint64_t>(bytes)) {
      return out_of_bounds(warp, inst, static_cast<int>(lane), address, space, bytes, intent);
    }
    p.host[lane] = const_cast<std::byte*>(bank.data()) + address;
  }
  return true;
}

void report_clash(Warp& warp, const Inst& inst, std::uint32_t mask, const Pointers& p, int lane,
                  int bytes) {
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int other = std::countr_zero(left);
    if (other == lane ||
        p.host[static_cast<std::size_t>(other)] != p.host[static_cast<std::size_t>(lane)])
      continue;
    Finding* const finding = warp.report(FindingKind::race, inst, lane, [&] {
      return fmt::format(
          "lanes {} and {} write different values to the same {} bytes at {:#x} in one instruction",
          lane, other, bytes, p.address[static_cast<std::size_t>(lane)]);
    });
    if (finding != nullptr) {
      finding->other =
          describe_access(warp.program(), inst.index, "write", finding->cta, warp.index(), other);
    }
    return;
  }
}

}  // namespace plumbline::emulator
