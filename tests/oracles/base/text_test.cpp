// SPDX-License-Identifier: MIT
#include "oracles/base/text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace plumbline {
namespace {

TEST(Text, ANumberIsAllOfTheText) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<std::uint64_t>("ff", 16), 255u);
  EXPECT_EQ(parse_number<double>("1e-3"), 1e-3);
  for (const char* text : {"", " 1", "1 ", "+1", "0x1", "1.5", "x", "99999999999"})
    EXPECT_FALSE(parse_number<int>(text).has_value()) << text;
  EXPECT_FALSE(parse_number<std::uint64_t>("-1").has_value());
  EXPECT_FALSE(parse_number<std::uint64_t>("0xff", 16).has_value());
  EXPECT_FALSE(parse_number<double>("1e999").has_value());
}

TEST(Text, PartsAreOneMoreThanSeparators) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split("a,b", ','), (Parts{"a", "b"}));
  EXPECT_EQ(split(",a,,", ','), (Parts{"", "a", "", ""}));
  EXPECT_EQ(split("", ','), (Parts{""}));
}

}  // namespace
}  // namespace plumbline
