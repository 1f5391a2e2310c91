// SPDX-License-Identifier: MIT
// Registers that nothing reads leave their slots to others while their product is in flight.
#include "harness/emulator/machine/async_products.h"

#include <gtest/gtest.h>

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;

class AsyncProductsOfAWarp : public testing::Test {
 protected:
  void fill(Slot slot, u32 value) { std::fill_n(file_[static_cast<std::size_t>(slot)], 32, value); }

  u32 value(Slot slot) const { return file_[static_cast<std::size_t>(slot)][31]; }

  // Registers of `product` that have their values now.
  void issue_on(const WarpgroupProduct& product, u32 first, u32 second) {
    fill(product.d[0], first);
    fill(product.d[1], second);
    issue(product);
  }

  void issue(const WarpgroupProduct& product) {
    products_.add(product, [&](Slot slot) { return bytes(slot); });
    products_.commit();
  }

  // Every product adds 1 to the bits of its accumulators.
  void wait(u32 allowed) {
    products_.wait(
        allowed,
        [](AsyncProduct& product) {
          for (LaneValues& sum : product.sums->values)
            for (u32& lane : sum.lane) ++lane;
          return true;
        },
        [&](Slot slot) { return bytes(slot); });
  }

 private:
  std::byte* bytes(Slot slot) {
    return reinterpret_cast<std::byte*>(file_[static_cast<std::size_t>(slot)]);
  }

  LaneRegister file_[4] = {};
  AsyncProducts products_;
};

WarpgroupProduct product_on(std::vector<Slot> slots) {
  WarpgroupProduct product;
  product.d = std::move(slots);
  return product;
}

TEST_F(AsyncProductsOfAWarp, FollowOneAnotherOnTheSameAccumulators) {
  const WarpgroupProduct first = product_on({0, 1}), second = product_on({0, 1});
  issue_on(first, 10, 20);
  issue(second);
  wait(0);
  EXPECT_EQ(value(0), 12u);
  EXPECT_EQ(value(1), 22u);
}

TEST_F(AsyncProductsOfAWarp, ALaterProductKeepsTheSlotOfARegisterThatIsNotRead) {
  const WarpgroupProduct first = product_on({0, 1}), second = product_on({1, 2});
  issue(first);
  issue_on(second, 100, 200);
  wait(1);
  EXPECT_EQ(value(0), 1u);
  EXPECT_EQ(value(1), kUnfinished);
  wait(0);
  EXPECT_EQ(value(1), 101u);
  EXPECT_EQ(value(2), 201u);
}

TEST_F(AsyncProductsOfAWarp, RegistersThatWereWrittenSinceAreOthers) {
  const WarpgroupProduct first = product_on({0, 1}), second = product_on({0, 1});
  issue(first);
  issue_on(second, 100, 200);
  wait(0);
  EXPECT_EQ(value(0), 101u);
  EXPECT_EQ(value(1), 201u);
}

}  // namespace
}  // namespace plumbline::emulator
