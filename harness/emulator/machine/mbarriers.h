// SPDX-License-Identifier: MIT
// The mbarrier objects of a CTA (PTX ISA 9.0 section 9.7.13.15): counters in shared memory that
// threads arrive at, bytes of bulk copies are counted by, and threads wait for.
//
//   phase      how many phases are complete; who waits for a parity waits for the phase that has it
//   pending    arrivals that the phase still wants, of `count`
//   bytes      announced by expect_tx and not come yet; a copy that is faster makes it negative
//
// A phase is complete when both are 0. As all that is asynchronous here, a bulk copy is performed
// as late as it may: when a thread asks for the phase that counts its bytes. So a thread that does
// not ask does not see the data.
//
// The objects are kept beside the memory they lie in; the 8 bytes themselves hold nothing.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "harness/emulator/machine/bulk_copies.h"
#include "harness/emulator/machine/tensor_products.h"
#include "harness/emulator/memory/cta_clock.h"

namespace plumbline::emulator {

class Cta;

struct Mbarrier {
  Cta* cta = nullptr;  // in whose shared memory it lies, and where
  std::uint64_t address = 0;
  std::uint32_t count = 0;  // arrivals of a phase; arrive_drop lowers it
  std::uint32_t pending = 0;
  std::int64_t bytes = 0;
  std::uint32_t phase = 0;
  std::vector<BulkLoad> loads;        // issued, and not performed
  std::vector<TensorCommit> commits;  // whose arrivals are still to come

  int made_by = 0;  // warp
  std::uint32_t made_at = 0;
  Handover arrived;   // of those who came in this phase, to warps of its CTA
  Handover complete;  // of those who came in the phases before

  bool due() const { return pending == 0 && bytes == 0; }
};

constexpr std::uint32_t kMostArrivals = (1u << 20) - 1;
constexpr std::int64_t kMostBytes = (1 << 20) - 1;

class Mbarriers {
 public:
  void clear() { all_.clear(); }

  // By the address in shared memory; null where none was made, or it was invalidated.
  Mbarrier* find(std::uint64_t address) {
    const auto found = all_.find(address);
    return found == all_.end() ? nullptr : &found->second;
  }

  Mbarrier& make(Cta& cta, std::uint64_t address) {
    Mbarrier& made = all_[address] = Mbarrier();
    made.cta = &cta;
    made.address = address;
    return made;
  }

  void remove(std::uint64_t address) { all_.erase(address); }

  // Copies that no thread waited for.
  template <typename Visit>
  void each_load(Visit&& visit) const {
    for (const auto& [address, barrier] : all_) {
      for (const BulkLoad& load : barrier.loads) visit(load);
    }
  }

 private:
  std::map<std::uint64_t, Mbarrier> all_;
};

}  // namespace plumbline::emulator
