// SPDX-License-Identifier: MIT
#include "reports/record/parse_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace plumbline {
namespace {

TEST(ParseJson, GivesTheValue) {
  const auto json = parse_json(R"({"a": [1, {"b": 2}], "c": {"b": 3}})");
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["a"][1]["b"], 2);
  EXPECT_EQ((*json)["c"]["b"], 3);
}

TEST(ParseJson, RefusesWhatReadersWouldTakeDifferently) {
  EXPECT_FALSE(parse_json(R"({"a": 1, "a": 2})"));
  EXPECT_FALSE(parse_json(R"([{"x": {"a": 1, "b": {}, "a": 2}}])"));
  EXPECT_FALSE(parse_json("{"));
  EXPECT_FALSE(parse_json(""));
}

TEST(ParseJson, RefusesDeepNesting) {
  EXPECT_TRUE(parse_json(std::string(50, '[') + std::string(50, ']')));
  EXPECT_FALSE(parse_json(std::string(200, '[') + std::string(200, ']')));
}

// With a list of keys, or of values, that is searched from its start for each, this takes a minute.
TEST(ParseJson, ReadsManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += fmt::format("\"{}\":{{}},", i);
  text += "\"end\":0}";
  const auto json = parse_json(text);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->size(), 200001u);
}

}  // namespace
}  // namespace plumbline
