// SPDX-License-Identifier: MIT
// Counting what instructions move (LaunchRequest::count_traffic). Instructions call in where they
// have the addresses of all their lanes: loads, stores and atomics through their resolver,
// ldmatrix and stmatrix, cp.async, bulk copies, and products where they multiply. Every call is
// behind Warp::counts_traffic(), so that a launch that is not counted pays one test.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "harness/device/traffic.h"
#include "harness/emulator/decode/program.h"
#include "harness/emulator/machine/coalescing.h"

namespace plumbline::emulator {

class Warp;
struct Pointers;
struct BulkBox;
class Cta;

// A set of sectors of global memory.
class SectorSet {
 public:
  // Whether it is new.
  bool insert(std::uint64_t sector);
  void join(const SectorSet& other);
  std::uint64_t size() const;
  // How many of them the other set lacks.
  std::uint64_t outside(const SectorSet& other) const;
  std::vector<std::uint64_t> sorted() const;

 private:
  static constexpr std::uint64_t kWords = 16;  // of a page: 1024 sectors
  using Page = std::array<std::uint64_t, kWords>;

  std::unordered_map<std::uint64_t, Page> pages_;
  std::uint64_t last_ = ~std::uint64_t{0};
  Page* last_page_ = nullptr;
};

// What a worker counts in one launch.
struct TrafficCounter {
  explicit TrafficCounter(std::size_t instructions)
      : counts(instructions), access(instructions), bytes(instructions) {}

  void join(const TrafficCounter& other);
  // So many CTAs that all count the same; without the sectors.
  void join_counts(const TrafficCounter& other, std::uint64_t times);
  LaunchTraffic result(const Program& program, const std::vector<std::uint64_t>& executions) const;

  std::vector<Counts> counts;  // by instruction, as the next two
  std::vector<Access> access;
  std::vector<int> bytes;
  SectorSet read, written;
  int tensor_columns = 0;  // as in LaunchTraffic
};

// Sectors that an instruction touches in a CTA.
struct TouchedSectors {
  SectorSet sectors;
  bool reads = false, writes = false;
};

// The same of one CTA, while it runs.
struct CtaTraffic {
  std::unordered_map<std::uint32_t, TouchedSectors> touched;  // by instruction
  bool moves_by_sectors = true;                               // no row of a bulk copy begins in one
  bool passed_barrier = false;                                // of all warps
  bool used_memory = true;                                    // since then
};

// And of one warp.
struct WarpTraffic {
  std::uint32_t last = 0;  // the instruction of the last access, and what it used
  std::uint32_t last_lanes = 0;
  int last_bytes = 0;
  Access last_access = Access::none;
  LaneAddresses last_addresses{};
  std::uint64_t products = 0;          // so far
  std::uint64_t products_at_copy = 0;  // when the last cp.async was issued
  bool copies_in_flight = false;       // since the last wait for all of them
  std::uint64_t path = 0;  // a hash of what was executed, by which lanes, and of comparisons
};

// Lanes that use memory of a space (generic: of any) with `bytes` each.
void count_access(Warp& warp, const Inst& inst, std::uint32_t lanes, const LaneAddresses& addresses,
                  Space space, int bytes, Access access);
// A box that a thread moves. `load`: into shared memory.
void count_bulk(Warp& warp, const Inst& inst, const BulkBox& box, bool load);
// A range of global memory that a bulk copy uses.
void count_bulk_range(Warp& warp, const Inst& inst, std::uint64_t address, std::uint64_t bytes,
                      bool load);
void count_products(Warp& warp, const Inst& inst, std::uint64_t macs);
// Columns of tensor memory that the CTA holds now.
void count_tensor_columns(Warp& warp, int columns);
// Registers of all lanes that tcgen05.ld or tcgen05.st moves.
void count_tensor_memory(Warp& warp, const Inst& inst, int registers, Access access);
// A wait for copies of cp.async that leaves at most `allowed` groups in flight.
void count_copy_wait(Warp& warp, const Inst& inst, std::uint32_t allowed);
// Anything else by which warps hand memory on: waits, mbarriers, fences.
void count_exchange(Warp& warp);
// All warps of the CTA have come to a barrier, at the instruction.
void count_barrier(Cta& cta, const Inst& inst);

}  // namespace plumbline::emulator
