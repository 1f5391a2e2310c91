// SPDX-License-Identifier: MIT
#include "harness/emulator/memory/lazy_memory.h"

#include <gtest/gtest.h>

namespace plumbline::emulator {
namespace {

TEST(LazyMemory, IsZeroAtFirstAndWhenCleared) {
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 20}) {
    LazyMemory memory;
    memory.resize(bytes);
    EXPECT_EQ(memory.data()[bytes - 1], std::byte{0});
    memory.data()[bytes - 1] = std::byte{7};
    memory.data()[0] = std::byte{9};
    memory.clear();
    EXPECT_EQ(memory.data()[bytes - 1], std::byte{0});
    EXPECT_EQ(memory.data()[0], std::byte{0});
  }
}

TEST(LazyMemory, TakesNoSpaceUntilItIsTouched) {
  LazyMemory memory;
  memory.resize(std::size_t{1} << 40);  // more than any machine here has
  memory.data()[std::size_t{1} << 39] = std::byte{1};
  memory.clear();
  EXPECT_EQ(memory.data()[std::size_t{1} << 39], std::byte{0});
}

}  // namespace
}  // namespace plumbline::emulator
