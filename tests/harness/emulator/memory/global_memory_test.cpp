// SPDX-License-Identifier: MIT
#include "harness/emulator/memory/global_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace plumbline::emulator {
namespace {

bool all_zero(const void* bytes, std::size_t count) {
  const auto* first = static_cast<const unsigned char*>(bytes);
  return std::all_of(first, first + count, [](unsigned char byte) { return byte == 0; });
}

// A launch's traces: data, what counts as written, and marks.
std::uint64_t use(GlobalMemory& memory, std::size_t bytes) {
  const Result<std::uint64_t> address = memory.allocate(bytes, "x");
  EXPECT_TRUE(address.ok());
  EXPECT_TRUE(memory.write(*address, std::vector<std::byte>(bytes, std::byte{7}), false).ok());
  memory.clear_marks();
  const Allocation* allocation = memory.find(*address);
  std::memset(allocation->written, 1, bytes);
  allocation->marks[bytes / 4].stamp = 5;
  allocation->marks[0].cta = 1;
  return *address;
}

TEST(GlobalMemory, WhatIsReleasedComesBackAsZeros) {
  GlobalMemory memory;
  constexpr std::size_t kMegabyte = std::size_t{1} << 20;
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{70000}, 5 * kMegabyte}) {
    use(memory, bytes);
    memory.release_all();
    for (const std::size_t next : {bytes, bytes - 1}) {
      const Result<std::uint64_t> address = memory.allocate(next, "y");
      ASSERT_TRUE(address.ok());
      const Allocation* allocation = memory.find(*address);
      EXPECT_TRUE(all_zero(allocation->data, next)) << next;
      EXPECT_TRUE(all_zero(allocation->written, next)) << next;
      EXPECT_TRUE(all_zero(allocation->marks, (next / 4 + 1) * sizeof(AccessMark))) << next;
      memory.release_all();
    }
  }
}

TEST(GlobalMemory, MarksAreClearedBeforeEachLaunch) {
  GlobalMemory memory;
  const std::uint64_t address = use(memory, 4000);
  memory.clear_marks();
  EXPECT_TRUE(all_zero(memory.find(address)->marks, 1001 * sizeof(AccessMark)));
}

}  // namespace
}  // namespace plumbline::emulator
