// SPDX-License-Identifier: MIT
// Hands out runs of 1, 2 or 4 consecutive slots, aligned to their length, and takes them back: a
// buddy allocator over an array that grows (by four) only when nothing fits. The smallest free run
// that is long enough is split, and among those the one with the lowest number.
#pragma once

#include <array>
#include <set>

namespace plumbline::emulator {

class SlotAllocator {
 public:
  int take(int length);
  void release(int slot, int length);

  // Slots ever in use.
  int size() const { return size_; }

 private:
  static constexpr int kOrders = 3;  // runs of 1 << order slots

  std::array<std::set<int>, kOrders> free_;
  int end_ = 0;  // multiple of the longest run
  int size_ = 0;
};

}  // namespace plumbline::emulator
