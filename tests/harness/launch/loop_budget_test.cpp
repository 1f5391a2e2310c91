// SPDX-License-Identifier: MIT
#include "harness/launch/loop_budget.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(LoopBudget, IsTheDevicesUntilTwoCasesWereEndless) {
  LoopBudget budget;
  EXPECT_EQ(budget.of("k"), 0u);
  budget.completed("k", 1000);
  budget.endless("k");
  EXPECT_EQ(budget.of("k"), 0u);
  budget.endless("other");
  budget.endless("other");
  EXPECT_EQ(budget.of("k"), 0u) << "other kernels do not matter";
}

TEST(LoopBudget, IsThenAMultipleOfTheLongestCase) {
  LoopBudget budget;
  budget.endless("k");
  budget.endless("k");
  const std::uint64_t least = budget.of("k");
  EXPECT_GT(least, 0u);
  budget.completed("k", 1'000'000);
  budget.completed("k", 10);
  EXPECT_GE(budget.of("k"), 4'000'000u);
  EXPECT_LT(budget.of("k"), 20'000'000u);
  budget.completed("k", std::uint64_t{1} << 62);
  EXPECT_LE(budget.of("k"), 20'000'000u) << "never more patience than at first";
}

}  // namespace
}  // namespace plumbline
