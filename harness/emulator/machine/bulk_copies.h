// SPDX-License-Identifier: MIT
// Bulk copies (cp.async.bulk) that were issued and not performed: one thread moves a range of
// bytes, or a box of a tensor, between global and shared memory. A box is a list of rows, the
// innermost dimension of it; what lies outside the tensor is filled, or not stored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "oracles/formats/format.h"

namespace plumbline::emulator {

struct Inst;
class Warp;

struct BulkRow {
  std::byte* global = nullptr;  // of the first byte that is copied
  std::uint64_t shared = 0;     // address of the row, before swizzling
  std::uint32_t before = 0;     // bytes that come before it in the row
  std::uint32_t copied = 0;
};

struct BulkBox {
  std::vector<BulkRow> rows;
  std::uint32_t row_bytes = 0;
  std::uint32_t swizzle = 16;                     // bytes after which the pattern repeats; 16: none
  std::uint32_t fill = 0;                         // two elements of 16 bits, or one of 32
  std::optional<FormatId> format = std::nullopt;  // of a tensor's elements, where they are numbers

  std::uint64_t bytes() const { return std::uint64_t{row_bytes} * rows.size(); }

  // Bytes of shared memory that so many rows may use under the swizzle.
  std::uint64_t footprint(std::uint64_t row_count) const {
    return (row_bytes * row_count + swizzle - 1) / swizzle * swizzle;
  }

  std::uint64_t footprint() const { return footprint(rows.size()); }
};

// Where a chunk of 16 bytes lies under a swizzle: bits of the address change bits below them.
constexpr std::uint64_t swizzled(std::uint64_t address, std::uint64_t span) {
  return address ^ (address >> 3 & (span - 16));
}

// To shared memory: a box of global memory, bytes of a CTA's shared memory, or (st.async) a value.
// An mbarrier beside it counts its bytes.
struct BulkLoad {
  const Inst* at = nullptr;
  Warp* warp = nullptr;  // that issued it, perhaps of another CTA of the cluster
  int lane = 0;
  BulkBox box = {};
  std::uint64_t from = 0;    // address of the shared memory of that warp's CTA; 0: global memory
  std::uint64_t to = 0;      // of a value
  std::uint32_t stored = 0;  // its bytes; 0: a box
  std::array<std::byte, 16> value = {};

  std::uint64_t bytes() const { return stored != 0 ? stored : box.bytes(); }
};

// Shared to global memory; waited for by groups.
struct BulkStore {
  const Inst* at = nullptr;
  int lane = 0;
  std::uint32_t group = 0;
  BulkBox box;
  std::uint32_t issued = 0;                     // the tick from which on it may be read
  std::optional<FormatId> adds = std::nullopt;  // to numbers of this format in global memory
};

// The stores of one warp. Groups are per thread, as those of cp.async.
class BulkStores {
 public:
  void clear() {
    pending_.clear();
    group_.fill(0);
  }

  bool empty() const { return pending_.empty(); }

  void add(int lane, BulkStore store) {
    store.lane = lane;
    store.group = group_[static_cast<std::size_t>(lane)];
    pending_.push_back(std::move(store));
  }

  void commit(std::uint32_t lanes) {
    for (std::size_t lane = 0; lane < 32; ++lane) group_[lane] += lanes >> lane & 1;
  }

  // Calls perform(store) for all but the `allowed` youngest groups of each lane, in order.
  template <typename Perform>
  void wait(std::uint32_t lanes, std::uint32_t allowed, Perform&& perform) {
    std::erase_if(pending_, [&](const BulkStore& store) {
      const bool due = (lanes >> store.lane & 1) != 0 &&
                       store.group + allowed < group_[static_cast<std::size_t>(store.lane)];
      if (due) perform(store);
      return due;
    });
  }

  const std::vector<BulkStore>& pending() const { return pending_; }

 private:
  std::vector<BulkStore> pending_;
  std::array<std::uint32_t, 32> group_{};
};

}  // namespace plumbline::emulator
