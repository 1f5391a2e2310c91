// SPDX-License-Identifier: MIT
// The wgmma.mma_async that a warp has issued and not waited for. As with cp.async, a product is
// computed when the warp waits, not when it is issued: A and B are read from shared memory, and the
// sums come into their registers, at wgmma.wait_group. Until then those registers hold kUnfinished.
// That is within what the ISA allows, and it makes a missing wait, and a buffer that is written
// again too early, visible in the data.
//
// Products on the same accumulators follow one another. What is in registers is taken at issue: A,
// where it is there, and the accumulators before the first product on them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "harness/emulator/decode/program.h"
#include "oracles/models/mma.h"

namespace plumbline::emulator {

struct alignas(64) LaneValues {
  LaneRegister lane;
};

// A quiet NaN as f32. A register that holds anything else was written since, by something that has
// nothing to do with the product: registers that are dead share their slots.
constexpr std::uint32_t kUnfinished = 0x7fd0bad0;

// The accumulators of one warp, while products on them are in flight.
struct Accumulators {
  const std::vector<Slot>* registers = nullptr;  // WarpgroupProduct::d
  std::vector<LaneValues> values;
  std::vector<bool> lost;  // the slots that a later product has: nothing reads these sums
  int in_flight = 0;

  // A register that nothing reads any more leaves its slot to others, before the product has ended.
  void lose(const std::vector<Slot>& slots) {
    for (std::size_t i = 0; i < registers->size(); ++i)
      if (std::ranges::find(slots, (*registers)[i]) != slots.end()) lost[i] = true;
  }
};

struct AsyncProduct {
  const WarpgroupProduct* product = nullptr;
  const Inst* at = nullptr;
  std::uint32_t group = 0;
  bool adds = true;  // scale-d: to what the accumulators hold, else to zero
  std::uint64_t a_descriptor = 0, b_descriptor = 0;
  std::array<LaneValues, 4> a;  // unless a descriptor says where it is
  Accumulators* sums = nullptr;

  // Does not zero A.
  AsyncProduct() {}
};

class AsyncProducts {
 public:
  void clear() {
    pending_.clear();
    sums_.clear();
    group_ = 0;
    complete_ = 0;
    read_until_ = 0;
    fenced_ = false;
  }

  // wgmma.fence: what threads did with registers comes before the products behind it.
  void fence() { fenced_ = true; }

  bool fenced() const { return fenced_; }

  // A new product in the open group, on accumulators that are in flight or taken out of the
  // registers now. `slot(Slot)` is where a register lies.
  template <typename SlotOf>
  AsyncProduct& add(const WarpgroupProduct& product, SlotOf&& slot) {
    AsyncProduct& added = pending_.emplace_back();
    added.product = &product;
    added.group = group_;
    added.sums = in_flight(product.d, slot);
    if (added.sums == nullptr) {
      for (const auto& others : sums_) others->lose(product.d);
      added.sums = sums_.emplace_back(std::make_unique<Accumulators>()).get();
      added.sums->registers = &product.d;
      added.sums->values.resize(product.d.size());
      added.sums->lost.resize(product.d.size());
      for (std::size_t i = 0; i < product.d.size(); ++i) {
        std::memcpy(added.sums->values[i].lane, slot(product.d[i]), sizeof(LaneRegister));
        std::fill_n(reinterpret_cast<std::uint32_t*>(slot(product.d[i])), 32, kUnfinished);
      }
    }
    ++added.sums->in_flight;
    return added;
  }

  void commit() { ++group_; }

  // Calls perform(product) for all but the `allowed` youngest groups, in order, and puts sums that
  // are complete into their registers. What perform returns says whether to go on.
  template <typename Perform, typename SlotOf>
  void wait(std::uint32_t allowed, Perform&& perform, SlotOf&& slot) {
    std::size_t done = 0;
    for (; done < pending_.size() && pending_[done].group + allowed < group_; ++done) {
      AsyncProduct& product = pending_[done];
      if (!perform(product)) return;
      if (--product.sums->in_flight == 0) finish(*product.sums, slot);
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
    std::erase_if(sums_, [](const auto& sums) { return sums->in_flight == 0; });
    complete_ = std::max(complete_, group_ - std::min(allowed, group_));
  }

  // How many groups this warp has computed its part of.
  std::uint32_t complete() const { return complete_; }

  // The tick (access_order.h) before which it has read the tiles of these groups.
  std::uint32_t read_until() const { return read_until_; }

  void note_read(std::uint32_t tick) { read_until_ = tick; }

 private:
  // The sums that these registers wait for. Registers that were written since are others.
  template <typename SlotOf>
  Accumulators* in_flight(const std::vector<Slot>& registers, SlotOf&& slot) const {
    for (const auto& sums : sums_) {
      if (*sums->registers != registers || std::ranges::find(sums->lost, true) != sums->lost.end())
        continue;
      const bool waits = std::ranges::all_of(registers, [&](Slot one) {
        std::uint32_t first = 0;
        std::memcpy(&first, slot(one), sizeof first);
        return first == kUnfinished;
      });
      return waits ? sums.get() : nullptr;
    }
    return nullptr;
  }

  template <typename SlotOf>
  static void finish(const Accumulators& sums, SlotOf&& slot) {
    for (std::size_t i = 0; i < sums.values.size(); ++i) {
      if (sums.lost[i]) continue;
      auto* const lanes = reinterpret_cast<std::uint32_t*>(slot((*sums.registers)[i]));
      if (std::all_of(lanes, lanes + 32, [](std::uint32_t x) { return x == kUnfinished; }))
        std::memcpy(lanes, sums.values[i].lane, sizeof(LaneRegister));
    }
  }

  std::vector<AsyncProduct> pending_;
  std::vector<std::unique_ptr<Accumulators>> sums_;
  std::uint32_t group_ = 0;  // the open one
  std::uint32_t complete_ = 0;
  std::uint32_t read_until_ = 0;
  bool fenced_ = false;
};

}  // namespace plumbline::emulator
