// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/slot_allocator.h"

#include <algorithm>
#include <bit>

#include "oracles/base/assert.h"

namespace plumbline::emulator {
namespace {

int order_of(int length) {
  PLUMB_ASSERT(length == 1 || length == 2 || length == 4);
  return std::countr_zero(static_cast<unsigned>(length));
}

}  // namespace

int SlotAllocator::take(int length) {
  const int order = order_of(length);
  int from = order;
  while (from < kOrders && free_[from].empty()) ++from;
  if (from == kOrders) {
    from = kOrders - 1;
    free_[from].insert(end_);
    end_ += 1 << from;
  }
  const int slot = *free_[from].begin();
  free_[from].erase(free_[from].begin());
  while (from > order) {  // keep the lower half, give back the upper
    --from;
    free_[from].insert(slot + (1 << from));
  }
  size_ = std::max(size_, slot + length);
  return slot;
}

void SlotAllocator::release(int slot, int length) {
  int order = order_of(length);
  for (; order + 1 < kOrders; ++order) {
    const auto buddy = free_[order].find(slot ^ (1 << order));
    if (buddy == free_[order].end()) break;
    free_[order].erase(buddy);
    slot &= ~(1 << order);
  }
  free_[order].insert(slot);
}

}  // namespace plumbline::emulator
