// SPDX-License-Identifier: MIT
// Elements of a tensor as a kernel finds them: e2m1 two in a byte, all others as the host has them.
#include "harness/launch/device_image.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

using enum FormatId;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST(DeviceImage, TheFirstOfTwoElementsLiesLow) {
  EXPECT_EQ(packed(bytes({1, 2, 0xf})), bytes({0x21, 0x0f}));
  EXPECT_EQ(packed(bytes({0xa1, 0xb2})), bytes({0x21}));  // a code has four bits
  EXPECT_EQ(unpacked(bytes({0x21, 0x0f}), 3), bytes({1, 2, 0xf}));
  EXPECT_EQ(packed({}), bytes({}));
}

TEST(DeviceImage, CountsBytesAndElements) {
  EXPECT_EQ(device_bytes(e2m1, 5), 3);
  EXPECT_EQ(byte_of(e2m1, 5), 2);
  EXPECT_EQ(element_in(e2m1, 2), 4);
  EXPECT_EQ(device_bytes(bf16, 5), 10);
  EXPECT_EQ(byte_of(bf16, 5), 10);
  EXPECT_EQ(element_in(bf16, 11), 5);
}

}  // namespace
}  // namespace plumbline
