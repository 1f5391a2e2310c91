// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/traffic.h"

#include <algorithm>
#include <bit>

#include "harness/emulator/machine/bulk_copies.h"
#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/warp.h"
#include "harness/emulator/memory/address_space.h"

namespace plumbline::emulator {
namespace {

TrafficCounter& counter_of(const Warp& warp) { return *warp.cta().worker().traffic; }

void count_global(Warp& warp, const Inst& inst, std::uint32_t lanes, const LaneAddresses& addresses,
                  int bytes, Access access) {
  TrafficCounter& all = counter_of(warp);
  Counts& counts = all.counts[inst.index];
  LaneAddresses found;
  // Accesses of one size that are aligned to it lie apart or on each other.
  const auto size = static_cast<std::uint64_t>(bytes);
  const std::uint64_t used =
      size * static_cast<std::uint64_t>(distinct(addresses, lanes, size, found));
  const int sectors = distinct(addresses, lanes, kSectorBytes, found);
  ++counts[Counter::global_requests];
  counts[Counter::global_sectors] += static_cast<std::uint64_t>(sectors);
  counts[Counter::global_least_sectors] += least_sectors(used);
  counts[Counter::global_bytes] += used;
  TouchedSectors& touched = warp.cta().traffic().touched[inst.index];
  touched.reads = access != Access::store;
  touched.writes = access == Access::store || access == Access::atomic;
  for (std::size_t i = 0; i < static_cast<std::size_t>(sectors); ++i) {
    if (!touched.sectors.insert(found[i])) {
      ++counts[Counter::global_repeated_sectors];
      continue;  // the launch knows of it, too
    }
    if (touched.reads) all.read.insert(found[i]);
    if (touched.writes) all.written.insert(found[i]);
  }
}

void count_shared(Warp& warp, const Inst& inst, std::uint32_t lanes, const LaneAddresses& addresses,
                  int bytes) {
  Counts& counts = counter_of(warp).counts[inst.index];
  const Wavefronts w = wavefronts(addresses, lanes, bytes);
  ++counts[Counter::shared_requests];
  counts[Counter::shared_wavefronts] += static_cast<std::uint64_t>(w.needed);
  counts[Counter::shared_least_wavefronts] += static_cast<std::uint64_t>(w.least);
}

// Whether every lane uses the bytes behind those it used in the access before, and both together
// are aligned as one.
bool follows(const WarpTraffic& last, std::uint32_t lanes, const LaneAddresses& addresses,
             int bytes, Access access) {
  if (last.last_lanes != lanes || last.last_bytes != bytes || last.last_access != access)
    return false;
  const auto size = static_cast<std::uint64_t>(bytes);
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    if (addresses[lane] != last.last_addresses[lane] + size || addresses[lane] % (2 * size) == 0)
      return false;
  }
  return true;
}

void count_neighbors(Warp& warp, const Inst& inst, std::uint32_t lanes,
                     const LaneAddresses& addresses, int bytes, Access access) {
  constexpr int kWidest = 16;
  WarpTraffic& own = warp.traffic();
  if (bytes >= kWidest || access == Access::copy || access == Access::atomic) {
    own.last_access = Access::none;
    return;
  }
  if (own.last != inst.index && follows(own, lanes, addresses, bytes, access)) {
    ++counter_of(warp).counts[inst.index][Counter::split_accesses];
  }
  own.last = inst.index;
  own.last_lanes = lanes;
  own.last_bytes = bytes;
  own.last_access = access;
  own.last_addresses = addresses;
}

std::string mnemonic(const Instruction& instruction) {
  std::string text = instruction.opcode;
  for (const std::string& modifier : instruction.modifiers) text += "." + modifier;
  return text;
}

}  // namespace

bool SectorSet::insert(std::uint64_t sector) {
  const std::uint64_t page = sector / (64 * kWords);
  if (page != last_) {
    last_page_ = &pages_[page];
    last_ = page;
  }
  std::uint64_t& word = (*last_page_)[sector / 64 % kWords];
  const std::uint64_t bit = std::uint64_t{1} << sector % 64;
  if ((word & bit) != 0) return false;
  word |= bit;
  return true;
}

void SectorSet::join(const SectorSet& other) {
  for (const auto& [number, page] : other.pages_) {
    Page& own = pages_[number];
    for (std::size_t i = 0; i < kWords; ++i) own[i] |= page[i];
  }
}

std::uint64_t SectorSet::size() const { return outside({}); }

std::uint64_t SectorSet::outside(const SectorSet& other) const {
  std::uint64_t count = 0;
  for (const auto& [number, page] : pages_) {
    const auto same = other.pages_.find(number);
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::uint64_t there = same == other.pages_.end() ? 0 : same->second[i];
      count += static_cast<std::uint64_t>(std::popcount(page[i] & ~there));
    }
  }
  return count;
}

std::vector<std::uint64_t> SectorSet::sorted() const {
  std::vector<std::uint64_t> all;
  for (const auto& [number, page] : pages_) {
    for (std::uint64_t word = 0; word < kWords; ++word) {
      for (std::uint64_t left = page[word]; left != 0; left &= left - 1) {
        all.push_back(64 * (kWords * number + word) +
                      static_cast<std::uint64_t>(std::countr_zero(left)));
      }
    }
  }
  std::ranges::sort(all);
  return all;
}

void TrafficCounter::join(const TrafficCounter& other) {
  join_counts(other, 1);
  read.join(other.read);
  written.join(other.written);
}

void TrafficCounter::join_counts(const TrafficCounter& other, std::uint64_t times) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i].add(other.counts[i], times);
    if (other.access[i] == Access::none) continue;
    access[i] = other.access[i];
    bytes[i] = other.bytes[i];
  }
  tensor_columns = std::max(tensor_columns, other.tensor_columns);
}

LaunchTraffic TrafficCounter::result(const Program& program,
                                     const std::vector<std::uint64_t>& executions) const {
  LaunchTraffic out;
  out.entry = program.kernel;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (program.origin[i] == nullptr || executions[i] == 0) continue;
    InstructionTraffic& one = out.instructions.emplace_back();
    one.place = program.place(i);
    one.instruction = mnemonic(*program.origin[i]);
    one.access = access[i];
    one.bytes = bytes[i];
    one.counts = counts[i];
    one.counts[Counter::warp_instructions] = executions[i];
  }
  out.sectors_only_read = read.outside(written);
  out.sectors_written = written.size();
  out.static_shared_bytes = program.static_shared_bytes;
  out.tensor_columns = tensor_columns;
  return out;
}

void count_access(Warp& warp, const Inst& inst, std::uint32_t lanes, const LaneAddresses& addresses,
                  Space space, int bytes, Access access) {
  if (lanes == 0 || space == Space::param || space == Space::constant) return;
  if (space == Space::generic) {
    // The lanes of each window apart.
    LaneAddresses offsets = addresses;
    while (lanes != 0) {
      const Space first = space_of(addresses[static_cast<std::size_t>(std::countr_zero(lanes))]);
      std::uint32_t group = 0;
      for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(left));
        if (space_of(addresses[lane]) != first) continue;
        group |= std::uint32_t{1} << lane;
        offsets[lane] = addresses[lane] - window_of(first);
      }
      count_access(warp, inst, group, offsets, first, bytes, access);
      lanes &= ~group;
    }
    return;
  }
  TrafficCounter& all = counter_of(warp);
  all.access[inst.index] = access;
  all.bytes[inst.index] = bytes;
  if (space == Space::global) {
    warp.cta().traffic().used_memory = true;
    count_global(warp, inst, lanes, addresses, bytes, access);
  } else if (space == Space::shared) {
    warp.cta().traffic().used_memory = true;
    count_shared(warp, inst, lanes, addresses, bytes);
  } else {
    Counts& counts = all.counts[inst.index];
    ++counts[Counter::local_requests];
    counts[Counter::local_sectors] +=
        static_cast<std::uint64_t>(local_sectors(addresses, lanes, bytes));
    return;
  }
  count_neighbors(warp, inst, lanes, addresses, bytes, access);
}

void count_bulk(Warp& warp, const Inst& inst, const BulkBox& box, bool load) {
  TrafficCounter& all = counter_of(warp);
  all.access[inst.index] = Access::copy;
  warp.cta().traffic().used_memory = true;
  Counts& counts = all.counts[inst.index];
  std::uint64_t copied = 0;
  for (const BulkRow& row : box.rows) copied += row.copied;
  counts[Counter::bulk_bytes] += copied;
  if (load) counts[Counter::bulk_fill_bytes] += box.bytes() - copied;
}

void count_bulk_range(Warp& warp, const Inst& inst, std::uint64_t address, std::uint64_t bytes,
                      bool load) {
  TrafficCounter& all = counter_of(warp);
  CtaTraffic& own = warp.cta().traffic();
  own.moves_by_sectors = own.moves_by_sectors && address % kSectorBytes == 0;
  TouchedSectors& touched = own.touched[inst.index];
  (load ? touched.reads : touched.writes) = true;
  for (std::uint64_t s = address / kSectorBytes; s * kSectorBytes < address + bytes; ++s) {
    if (touched.sectors.insert(s)) (load ? all.read : all.written).insert(s);
  }
}

void count_products(Warp& warp, const Inst& inst, std::uint64_t macs) {
  counter_of(warp).counts[inst.index][Counter::tensor_macs] += macs;
  ++warp.traffic().products;
  warp.cta().traffic().used_memory = true;  // wgmma reads shared memory
}

void count_tensor_columns(Warp& warp, int columns) {
  TrafficCounter& all = counter_of(warp);
  all.tensor_columns = std::max(all.tensor_columns, columns);
}

void count_tensor_memory(Warp& warp, const Inst& inst, int registers, Access access) {
  constexpr int kRegisterBytes = 4;
  TrafficCounter& all = counter_of(warp);
  all.access[inst.index] = access;
  all.bytes[inst.index] = kRegisterBytes * registers;
  all.counts[inst.index][Counter::tensor_memory_bytes] +=
      static_cast<std::uint64_t>(32 * kRegisterBytes * registers);
  warp.cta().traffic().used_memory = true;
}

void count_copy_wait(Warp& warp, const Inst& inst, std::uint32_t allowed) {
  WarpTraffic& own = warp.traffic();
  warp.cta().traffic().used_memory = true;  // what was copied is there now
  if (!own.copies_in_flight) return;
  Counts& counts = counter_of(warp).counts[inst.index];
  ++counts[Counter::copy_waits];
  if (allowed > 0) return;
  if (own.products == own.products_at_copy) ++counts[Counter::exposed_copy_waits];
  own.copies_in_flight = false;
}

void count_exchange(Warp& warp) { warp.cta().traffic().used_memory = true; }

void count_barrier(Cta& cta, const Inst& inst) {
  CtaTraffic& own = cta.traffic();
  Counts& counts = cta.worker().traffic->counts[inst.index];
  ++counts[Counter::barriers];
  if (own.passed_barrier && !own.used_memory) ++counts[Counter::idle_barriers];
  own.passed_barrier = true;
  own.used_memory = false;
}

}  // namespace plumbline::emulator
