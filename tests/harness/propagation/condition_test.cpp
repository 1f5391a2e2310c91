// SPDX-License-Identifier: MIT
// Errors beside condition numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/propagation/propagate.h"

namespace plumbline {
namespace {

TEST(Condition, AnErrorOverItsConditionIsHowFarInputsWouldHaveToBeOff) {
  // The second element cancels: its relative error is large, its backward error is not.
  const ConditionRecord record = condition_record({2, 1e-3}, {2e-4, 1e-4}, {2e-4, 2e-4}, {2, 4000});
  EXPECT_DOUBLE_EQ(record.worst_forward, 0.1);
  EXPECT_DOUBLE_EQ(record.worst_condition, 4000);
  EXPECT_DOUBLE_EQ(record.worst_backward, 5e-5);
  EXPECT_DOUBLE_EQ(record.expected_backward, 5e-5);
  ASSERT_EQ(record.bands.size(), 2u);
  EXPECT_EQ(record.bands[0].elements, 1);
  EXPECT_DOUBLE_EQ(record.bands[1].forward, 0.1);
  EXPECT_DOUBLE_EQ(record.bands[1].backward, 0.1 / 4000);
}

TEST(Condition, ElementsWithoutOneAreLeftOut) {
  const double infinity = std::numeric_limits<double>::infinity();
  const ConditionRecord record =
      condition_record({0, -infinity, 1}, {1, 0, 0.5}, {1, 0, 0.5}, {infinity, 1, 2});
  EXPECT_DOUBLE_EQ(record.worst_forward, 0.5);
  ASSERT_EQ(record.bands.size(), 1u);
  EXPECT_EQ(record.bands[0].elements, 1);
}

TEST(Condition, NoConditionNumbersNoBands) {
  EXPECT_TRUE(condition_record({1}, {0}, {0}, {}).bands.empty());
}

}  // namespace
}  // namespace plumbline
