// SPDX-License-Identifier: MIT
// Turning the addresses of a warp into host pointers, with every check on the way: space,
// alignment, bounds, and in the shadow whether the bytes may be read or written now. Loads, stores,
// atomics, ldmatrix and cp.async all pass here.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "harness/emulator/decode/program.h"
#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/cta_races.h"
#include "harness/emulator/machine/lanes.h"
#include "harness/emulator/machine/warp.h"
#include "harness/emulator/memory/shadow_row.h"

namespace plumbline::emulator {

enum class Intent : std::uint8_t {
  read,
  write,
  // Strong accesses. In shared memory volatile ones take no part in race checks, and atomics are
  // races with plain accesses; in global memory all are races with plain accesses of other CTAs.
  synchronise,  // volatile, relaxed or acquire load
  publish,      // volatile, relaxed or release store: the bytes are written
  update,       // atomic
};

constexpr bool reads(Intent intent) { return intent != Intent::write && intent != Intent::publish; }

// The addresses of an instruction: register plus offset, which wraps around in 32 bits where the
// register has no more.
[[gnu::always_inline]] inline void gather_addresses(const Warp& warp, const Inst& inst,
                                                    Pointers& out) {
  const auto offset = static_cast<std::uint64_t>(inst.immediate);
  if ((inst.flags & kAddress32) != 0) {
    const auto base = lanes<std::uint32_t>(warp, inst.a);
    const auto offset32 = static_cast<std::uint32_t>(offset);
    for (std::size_t i = 0; i < kLanes; ++i) out.address[i] = base[static_cast<int>(i)] + offset32;
  } else {
    const auto base = lanes<std::uint64_t>(warp, inst.a);
    for (std::size_t i = 0; i < kLanes; ++i) out.address[i] = base[static_cast<int>(i)] + offset;
  }
}

struct AddressRange {
  std::uint64_t lowest, highest, bits;  // bits: OR of all addresses
};

[[gnu::always_inline]] inline AddressRange range_of(const Pointers& p, std::uint32_t mask) {
  AddressRange range{~std::uint64_t{0}, 0, 0};
  if (mask == kFullMask) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const std::uint64_t a = p.address[i];
      range.lowest = a < range.lowest ? a : range.lowest;
      range.highest = a > range.highest ? a : range.highest;
      range.bits |= a;
    }
  } else {
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const std::uint64_t a = p.address[static_cast<std::size_t>(std::countr_zero(left))];
      range.lowest = a < range.lowest ? a : range.lowest;
      range.highest = a > range.highest ? a : range.highest;
      range.bits |= a;
    }
  }
  return range;
}

// The same for a full warp with address registers of 32 bits: 32-bit minima are cheap.
[[gnu::always_inline]] inline AddressRange range_of_registers(const Warp& warp, const Inst& inst) {
  const auto base = lanes<std::uint32_t>(warp, inst.a);
  const auto offset = static_cast<std::uint32_t>(inst.immediate);
  std::uint32_t low = ~std::uint32_t{0}, high = 0, all = 0;
  for (int i = 0; i < kLanes; ++i) {
    const std::uint32_t a = base[i] + offset;
    low = a < low ? a : low;
    high = a > high ? a : high;
    all |= a;
  }
  return {low, high, all};
}

// The slow half of the checks; each reports what is wrong. The bool is false when the launch has to
// stop.
bool misaligned(Warp& warp, const Inst& inst, std::uint32_t mask, const Pointers& p, Space space,
                int bytes);
bool out_of_bounds(Warp& warp, const Inst& inst, int lane, std::uint64_t address, Space space,
                   int bytes, Intent intent);
bool resolve_global_slowly(Warp& warp, const Inst& inst, std::uint32_t mask, Pointers& p, int bytes,
                           Intent intent);
void shared_problem(Warp& warp, const Inst& inst, int lane, const SharedProblem& problem);
// The lanes that are unclear, of those that execute the access, in one CTA's shared memory.
void check_shared_slowly(Warp& warp, const Inst& inst, SharedMemory& shared, std::uint32_t unclear,
                         std::uint32_t executing, const Pointers& p, int bytes, Intent intent);
// Lanes that access shared memory of more CTAs than their own.
bool resolve_in_cluster(Warp& warp, const Inst& inst, std::uint32_t mask, Pointers& p, int bytes,
                        Intent intent);
// Once a store has written: contested writes that changed something are races.
void settle_contested(Warp& warp, const Inst& inst);

[[gnu::always_inline]] inline void after_store(Warp& warp, const Inst& inst) {
  const WorkerState& worker = warp.cta().worker();
  if (!worker.contested.empty() || !worker.contested_shared.empty()) settle_contested(warp, inst);
}

void report_unwritten_global(Warp& warp, const Inst& inst, int lane, std::uint64_t address,
                             const Allocation& from, int bytes);

// Which bytes of an access matter, as `.pragma "used_bytes_mask"` says; all of them elsewhere.
inline std::uint32_t used_bytes(const Inst& inst) {
  return (inst.flags & kSomeBytes) != 0 ? inst.e : ~std::uint32_t{0};
}

inline Accessor accessor(const Warp& warp) {
  Accessor who;
  who.warp = warp.index();
  return who;
}

// Of shared memory that may be another CTA's.
inline Accessor accessor(const Warp& warp, const SharedMemory& shared) {
  Accessor who = accessor(warp);
  const SharedMemory& own = warp.cta().shared();
  if (&shared != &own) who.from = &own.clock();
  return who;
}

// Whether all `Bytes` shadow bytes are 1.
template <int Bytes>
[[gnu::always_inline]] inline bool all_written(const std::uint8_t* written) {
  if constexpr (Bytes == 16) {
    std::uint64_t low, high;
    __builtin_memcpy(&low, written, 8);
    __builtin_memcpy(&high, written + 8, 8);
    return (low & high) == 0x0101010101010101u;
  } else if constexpr (Bytes == 32) {
    return all_written<16>(written) && all_written<16>(written + 16);
  } else {
    std::uint64_t value = 0;
    __builtin_memcpy(&value, written, Bytes);
    return value == (0x0101010101010101u >> (64 - 8 * Bytes));
  }
}

[[gnu::always_inline]] inline void watch(Warp& warp, const Inst& inst, std::uint32_t mask,
                                         const Pointers& p, const Allocation& allocation, int bytes,
                                         Intent intent) {
  CtaRaces* races = warp.cta().worker().races;
  if (races == nullptr) return;
  races->access(warp, inst, mask, p, allocation, bytes, intent);
}

template <int Bytes>
[[gnu::always_inline]] inline void check_global_shadow(Warp& warp, const Inst& inst,
                                                       std::uint32_t mask, const Pointers& p,
                                                       const Allocation& allocation,
                                                       Intent intent) {
  if (allocation.fully_written) return;
  watch(warp, inst, mask, p, allocation, Bytes, intent);
  if (!reads(intent) && mask == kFullMask) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      __builtin_memset(allocation.written + (p.address[i] - allocation.base), 1, Bytes);
    }
    return;
  }
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    std::uint8_t* written = allocation.written + (p.address[lane] - allocation.base);
    if (reads(intent) && warp.cta().shared().check() && !all_written<Bytes>(written)) {
      report_unwritten_global(warp, inst, static_cast<int>(lane), p.address[lane], allocation,
                              Bytes);
    }
    if (!reads(intent)) __builtin_memset(written, 1, Bytes);
  }
}

template <int Bytes>
[[gnu::always_inline]] inline bool resolve_global(Warp& warp, const Inst& inst, std::uint32_t mask,
                                                  Pointers& p, Intent intent) {
  const AddressRange range = range_of(p, mask);
  if ((range.bits & (Bytes - 1)) != 0) return misaligned(warp, inst, mask, p, Space::global, Bytes);
  const Allocation* allocation = warp.cached_allocation(inst);
  if (allocation == nullptr || range.lowest < allocation->base ||
      range.highest - allocation->base > allocation->bytes - Bytes || allocation->bytes < Bytes) {
    return resolve_global_slowly(warp, inst, mask, p, Bytes, intent);
  }
  // As integers: a lane that takes no part may hold any address.
  const std::uint64_t shift = reinterpret_cast<std::uintptr_t>(allocation->data) - allocation->base;
  for (std::size_t i = 0; i < kLanes; ++i)
    p.host[i] = reinterpret_cast<std::byte*>(p.address[i] + shift);
  check_global_shadow<Bytes>(warp, inst, mask, p, *allocation, intent);
  return true;
}

template <int Bytes>
[[gnu::always_inline]] inline bool resolve_shared(Warp& warp, const Inst& inst, std::uint32_t mask,
                                                  Pointers& p, Intent intent) {
  SharedMemory& shared = warp.cta().shared();
  const bool narrow = mask == kFullMask && (inst.flags & kAddress32) != 0;
  const AddressRange range = narrow ? range_of_registers(warp, inst) : range_of(p, mask);
  if ((range.bits & (Bytes - 1)) != 0) return misaligned(warp, inst, mask, p, Space::shared, Bytes);
  if (!shared.holds_all(range.lowest, range.highest, Bytes)) {
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const std::uint64_t address = p.address[static_cast<std::size_t>(lane)];
      if (shared.holds(address, Bytes)) continue;
      if (warp.cta().in_cluster()) return resolve_in_cluster(warp, inst, mask, p, Bytes, intent);
      return out_of_bounds(warp, inst, lane, address, Space::shared, Bytes, intent);
    }
  }
  const std::uint64_t shift =
      reinterpret_cast<std::uintptr_t>(shared.data(shared.start())) - shared.start();
  for (std::size_t i = 0; i < kLanes; ++i)
    p.host[i] = reinterpret_cast<std::byte*>(p.address[i] + shift);
  if (!shared.check()) return true;
  std::uint32_t unclear = mask;
  if constexpr (Bytes % 4 == 0) {
    if (intent == Intent::read || intent == Intent::write) {
      const ShadowView view = shared.view(accessor(warp));
      unclear = 0;
      for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const ShadowRow<Bytes> row(view, p.address[static_cast<std::size_t>(lane)]);
        const bool fine = intent == Intent::read ? row.read(lane) : row.write(lane);
        unclear |= static_cast<std::uint32_t>(!fine) << lane;
      }
    }
  }
  if (unclear != 0) check_shared_slowly(warp, inst, shared, unclear, mask, p, Bytes, intent);
  return true;
}

// Only global memory has accesses of 32 bytes: a finding, and false.
bool too_wide_for_shared(Warp& warp, const Inst& inst, std::uint32_t mask, int bytes);

// Local memory is private to a lane, parameters and constants are read-only: bounds, alignment and
// what nothing wrote are all there is.
bool resolve_local(Warp& warp, const Inst& inst, std::uint32_t mask, Pointers& p, int bytes,
                   Intent intent);
bool resolve_bank(Warp& warp, const Inst& inst, std::uint32_t mask, Pointers& p, Space space,
                  int bytes, Intent intent);

template <Space S, int Bytes>
[[gnu::always_inline]] inline bool resolve(Warp& warp, const Inst& inst, std::uint32_t mask,
                                           Pointers& p, Intent intent) {
  if constexpr (S == Space::global) {
    return resolve_global<Bytes>(warp, inst, mask, p, intent);
  } else if constexpr (S == Space::shared) {
    return resolve_shared<Bytes>(warp, inst, mask, p, intent);
  } else if constexpr (S == Space::local) {
    return resolve_local(warp, inst, mask, p, Bytes, intent);
  } else if constexpr (S == Space::param || S == Space::constant) {
    return resolve_bank(warp, inst, mask, p, S, Bytes, intent);
  } else {
    // Generic: the lanes of each window in turn. Lanes of other windows keep their address and
    // pointer.
    for (std::uint32_t left = mask; left != 0;) {
      const Space space = space_of(p.address[static_cast<std::size_t>(std::countr_zero(left))]);
      std::uint32_t group = 0;
      for (std::size_t i = 0; i < kLanes; ++i) {
        group |= static_cast<std::uint32_t>(space_of(p.address[i]) == space) << i;
      }
      group &= left;
      left &= ~group;
      Pointers part = p;
      for (std::size_t i = 0; i < kLanes; ++i) part.address[i] -= window_of(space);
      bool fine = true;
      switch (space) {
        case Space::shared:
          if constexpr (Bytes > 16) {
            fine = too_wide_for_shared(warp, inst, group, Bytes);
          } else {
            fine = resolve_shared<Bytes>(warp, inst, group, part, intent);
          }
          break;
        case Space::local:
          fine = resolve_local(warp, inst, group, part, Bytes, intent);
          break;
        case Space::param:
        case Space::constant:
          fine = resolve_bank(warp, inst, group, part, space, Bytes, intent);
          break;
        default:
          fine = resolve_global<Bytes>(warp, inst, group, part, intent);
          break;
      }
      if (!fine) return false;
      for (std::uint32_t g = group; g != 0; g &= g - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(g));
        p.host[lane] = part.host[lane];
      }
    }
    return true;
  }
}

// The resolver of an access as a function: takes the addresses in warp.pointers(), fills in the
// host pointers, and leaves in warp.scratch() whether the access may be performed.
using Resolver = Handler;
Resolver resolver(Space space, int bytes, Intent intent);

// After a store: two lanes that write different values to one place are a race inside the
// instruction.
void report_clash(Warp& warp, const Inst& inst, std::uint32_t mask, const Pointers& p, int lane,
                  int bytes);

}  // namespace plumbline::emulator
