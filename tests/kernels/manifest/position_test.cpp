// SPDX-License-Identifier: MIT
#include "kernels/manifest/position.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(Position, MovesTheColumn) {
  EXPECT_EQ(advance_position("a.toml:7:12", 5), "a.toml:7:17");
  EXPECT_EQ(advance_position("a.toml:7:12", 0), "a.toml:7:12");
}

TEST(Position, GetsAColumnWhereThereIsNone) {
  EXPECT_EQ(advance_position("--only", 0), "--only:1");
  EXPECT_EQ(advance_position("c:folder/file", 3), "c:folder/file:4");
  EXPECT_EQ(advance_position("", 3), "");
}

}  // namespace
}  // namespace plumbline
