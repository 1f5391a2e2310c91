// SPDX-License-Identifier: MIT
#include "reports/record/packed_counts.h"

#include <gtest/gtest.h>

#include <limits>

namespace plumbline {
namespace {

using Counts = std::vector<std::int64_t>;

TEST(PackedCounts, AreTheFirstCellAndTheCountsFromThere) {
  EXPECT_EQ(packed({0, 0, 7, 0, 31, 0}), "270V");
  EXPECT_EQ(packed({32, 1023, 1024}), "0W1_VWW1");
  EXPECT_EQ(packed({0, 0}), "");
}

TEST(PackedCounts, AreReadAgain) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Counts back;
  for (const Counts& counts : {Counts{0, 0, 0}, Counts{1, 0, 0}, Counts{0, 0, kMost},
                               Counts{31, 32, 33}, Counts{kMost, kMost - 1, 1}}) {
    ASSERT_TRUE(unpack(packed(counts), 3, back)) << packed(counts);
    EXPECT_EQ(back, counts);
  }
}

TEST(PackedCounts, OfAnotherSizeOrKindAreRefused) {
  Counts back;
  EXPECT_TRUE(unpack("21", 3, back));
  for (const char* text :
       {"31", "211", "2 ", "2\xff", "2W", "W", "0_____________1", "0____________8"})
    EXPECT_FALSE(unpack(text, 3, back)) << text;
}

}  // namespace
}  // namespace plumbline
