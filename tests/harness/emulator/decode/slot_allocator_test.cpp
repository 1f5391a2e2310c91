// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/slot_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "oracles/base/random.h"

namespace plumbline::emulator {
namespace {

TEST(SlotAllocator, GivesTheLowestFreeSlot) {
  SlotAllocator slots;
  EXPECT_EQ(slots.take(1), 0);
  EXPECT_EQ(slots.take(1), 1);
  EXPECT_EQ(slots.take(1), 2);
  slots.release(1, 1);
  EXPECT_EQ(slots.take(1), 1);
  EXPECT_EQ(slots.size(), 3);
}

TEST(SlotAllocator, AlignsRunsToTheirLength) {
  SlotAllocator slots;
  EXPECT_EQ(slots.take(1), 0);
  EXPECT_EQ(slots.take(2), 2);
  EXPECT_EQ(slots.take(4), 4);
  EXPECT_EQ(slots.take(1), 1);
  EXPECT_EQ(slots.size(), 8);
}

TEST(SlotAllocator, JoinsReleasedNeighbors) {
  SlotAllocator slots;
  for (int i = 0; i < 4; ++i) slots.take(1);
  for (const int i : {2, 0, 3, 1}) slots.release(i, 1);
  EXPECT_EQ(slots.take(4), 0);
  EXPECT_EQ(slots.size(), 4);
}

TEST(SlotAllocator, NeverGivesASlotTwice) {
  Random random(7);
  SlotAllocator slots;
  std::vector<std::pair<int, int>> taken;
  std::vector<bool> used(10'000);
  int in_use = 0;
  int most = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (!taken.empty() && random.below(100) < 48) {
      const auto i = random.below(taken.size());
      const auto [slot, length] = taken[i];
      slots.release(slot, length);
      for (int k = 0; k < length; ++k) used[slot + k] = false;
      in_use -= length;
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      const int length = 1 << random.below(3);
      const int slot = slots.take(length);
      ASSERT_EQ(slot % length, 0);
      for (int k = 0; k < length; ++k) {
        ASSERT_FALSE(used[slot + k]);
        used[slot + k] = true;
      }
      in_use += length;
      most = std::max(most, in_use);
      taken.emplace_back(slot, length);
    }
  }
  EXPECT_LT(slots.size(), 2 * most);
}

}  // namespace
}  // namespace plumbline::emulator
