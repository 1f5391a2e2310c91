// SPDX-License-Identifier: MIT
#include "reports/record/columns.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

std::vector<nlohmann::json> objects_of(const Json& table, std::size_t count) {
  std::string error;
  const nlohmann::json read = without_runs(nlohmann::json::parse(table.dump()), count, error);
  std::vector<nlohmann::json> objects;
  for (std::size_t i = 0; i < count; ++i) objects.push_back(object_of(read, i, count, error));
  EXPECT_EQ(error, "");
  return objects;
}

std::string refusal(const std::string& table, std::size_t index = 0) {
  std::string error;
  (void)object_of(nlohmann::json::parse(table), index, 2, error);
  return error;
}

TEST(Columns, GiveBackWhatWasPutIn) {
  const std::vector<Json> objects = {
      Json::parse(R"({"m": 8, "claims": {"bound": "pass"}, "none": {}, "no": [], "cells": [1, 2],
                      "outputs": [{"name": "d", "ulp": 0.5}]})"),
      Json::parse(R"({"m": 9, "claims": {"bits": "pass"}, "none": {}, "no": [], "known": ["a"],
                      "outputs": [{"name": "d", "ulp": {"bits": "0x0", "value": "inf"}}, {"name": "e"}]})"),
      Json::parse(R"({"m": 8, "claims": {}, "none": {}, "no": [], "outputs": []})"),
  };
  const std::vector<nlohmann::json> back = objects_of(table_of(objects), objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i)
    EXPECT_EQ(back[i], nlohmann::json::parse(objects[i].dump())) << i;
}

TEST(Columns, SayOnceWhatManyShare) {
  std::vector<Json> objects;
  for (int i = 0; i < 9; ++i)
    objects.push_back({{"at", i}, {"device", "sm_90"}, {"text", i % 3 == 0 ? "long" : "longer"}});
  const Json table = table_of(objects);
  EXPECT_EQ(table["device"], Json::parse(R"({"all": "sm_90"})"));
  EXPECT_EQ(table["at"], Json::parse(R"({"each": [0, 1, 2, 3, 4, 5, 6, 7, 8]})"));
  EXPECT_EQ(table["text"],
            Json::parse(R"({"values": ["long", "longer"], "each": [0, 1, 1, 0, 1, 1, 0, 1, 1]})"));
}

TEST(Columns, SayInRunsWhatComesInARow) {
  std::vector<Json> objects;
  for (int i = 0; i < 90; ++i)
    objects.push_back({{"m", i < 50 ? 8 : 9}, {"text", i < 70 ? "n=3" : "n=4"}, {"at", i}});
  const Json table = table_of(objects);
  EXPECT_EQ(table["m"], Json::parse(R"({"runs": [8, 50, 9, 40]})"));
  EXPECT_EQ(table["text"], Json::parse(R"({"runs": ["n=3", 70, "n=4", 20]})"));
  EXPECT_TRUE(table["at"].contains("each"));
  EXPECT_EQ(objects_of(table, objects.size())[50], nlohmann::json::parse(objects[50].dump()));
}

TEST(Columns, AreOfNoMoreCasesThanThereAre) {
  for (const char* runs : {"7", "[8]", "[8, -1]", "[8, 3]", "[8, 1, 9, 2]", "[8, \"a\"]",
                           "[8, 0, 9, 2]", "[8, 18446744073709551615]"}) {
    std::string error;
    (void)without_runs(nlohmann::json::parse(fmt::format(R"({{"m": {{"runs": {}}}}})", runs)), 2,
                       error);
    EXPECT_EQ(error, "runs are due: in turns a value and how many cases have it") << runs;
  }
}

// A value is a value: what it looks like does not multiply it again.
TEST(Columns, ExpandNoRunsWithinRuns) {
  std::string error;
  const auto table = nlohmann::json::parse(R"({"m": {"runs": [{"runs": [1, 2]}, 2]}})");
  EXPECT_EQ(without_runs(table, 2, error)["m"]["each"][1], table["m"]["runs"][0]);
  EXPECT_EQ(error, "");
  (void)without_runs(nlohmann::json::parse(R"({"m": {"runs": [1, 2], "each": [1, 1]}})"), 2, error);
  EXPECT_NE(error, "");
  const nlohmann::json long_text = {{"m", {{"runs", {std::string(100'000, 'x'), 100'000}}}}};
  EXPECT_FALSE(fits_memory(long_text, 100'000));
}

TEST(Columns, TellWhatIsEqualAndNotTheSame) {
  std::vector<Json> objects;
  for (int i = 0; i < 60; ++i) objects.push_back({{"x", i < 30 ? Json(0.0) : Json(-0.0)}});
  EXPECT_EQ(table_of(objects)["x"].dump(), R"({"runs":[0.0,30,-0.0,30]})");
}

// A claim is named "bits", as one of the two members of a number that JSON lacks.
TEST(Columns, AreOfTheClaimsOfCases) {
  std::vector<Json> objects;
  for (const char* verdict : {"pass", "skip"})
    objects.push_back({{"claims", {{"bound", "pass"}, {"bits", verdict}}}});
  EXPECT_EQ(table_of(objects)["claims"],
            Json::parse(R"({"bound": {"all": "pass"}, "bits": {"each": ["pass", "skip"]}})"));
}

TEST(Columns, SplitTextsIntoTheirWords) {
  // Only all of them together tell which order the words have.
  const char* const orders[] = {"", "beta=1 ", "batch=02 ", "batch=02 beta=1 "};
  std::vector<Json> objects;
  for (int i = 0; i < 40; ++i) {
    objects.push_back({{"text", fmt::format("gemm m={} {}value=normal seed=0x{:x}", i,
                                            orders[i % 4], i * 77777)}});
  }
  objects.push_back(objects[3]);
  const Json table = table_of(objects);
  ASSERT_TRUE(table["text"].contains("words")) << table;
  const Json& words = table["text"]["words"];
  EXPECT_EQ(words[0], Json::parse(R"(["gemm", {"all": true}])"));
  EXPECT_EQ(words[2][0], "batch");
  EXPECT_EQ(words[2][1]["values"][1], "02");
  EXPECT_EQ(words[3][0], "beta");
  EXPECT_EQ(words[4], Json::parse(R"(["value", {"all": "normal"}])"));
  const std::vector<nlohmann::json> back = objects_of(table, objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) EXPECT_EQ(back[i]["text"], objects[i]["text"]);
}

TEST(Columns, KeepTextsThatAreNotOfWords) {
  for (const char* odd : {"m=1  n=2", " m=1", "m=1 ", "m=1 m=2", "n=1 m=1", "", "m=", "m=1=2",
                          "m=-0", "m=9999999999999999999"}) {
    std::vector<Json> objects;
    for (int i = 0; i < 40; ++i) objects.push_back({{"text", fmt::format("m={} n=1", i)}});
    objects.push_back({{"text", odd}});
    EXPECT_EQ(objects_of(table_of(objects), objects.size()).back()["text"], odd);
  }
}

TEST(Columns, SayWhatIsWrongWithThem) {
  for (const char* words : {"3", "[3]", R"([["m"]])", R"([["m", 3]])", R"([[1, {"all": 2}]])",
                            R"([["m", {"all": [1]}]])", R"([["m", {"each": [1]}]])",
                            R"([["m", {"words": [], "each": [0, 1]}]])"}) {
    EXPECT_EQ(refusal(fmt::format(R"({{"t": {{"words": {}, "each": [1, 0]}}}})", words)),
              "t: columns of words are due");
  }

  EXPECT_EQ(refusal("3"), "a table is due");
  EXPECT_EQ(refusal(R"({"m": 3})"), "m: a table is due");
  EXPECT_EQ(refusal(R"({"m": {"each": [1]}})"), "m: a column is due with a value for each case");
  EXPECT_EQ(refusal(R"({"m": {"each": 7}})"), "m: a column is due with a value for each case");
  for (const char* each : {"[0, 1]", "[0, -1]", "[0, \"a\"]", "[0, 0.5]"}) {
    EXPECT_EQ(refusal(fmt::format(R"({{"o": [{{"m": {{"values": [8], "each": {}}}}}]}})", each), 1),
              "o: m: a place in the values of its column is due");
  }
}

// A few bytes of a file must not stand for more than any machine has.
TEST(Columns, MultiplyNothingWithoutLimit) {
  const auto table = nlohmann::json::parse(R"({"m": {"all": "text"}})");
  EXPECT_TRUE(fits_memory(table, 1'000'000));
  EXPECT_FALSE(fits_memory(table, 1'000'000'000'000));
  const nlohmann::json long_text = {
      {"o", {{{"m", {{"values", {std::string(100'000, 'x')}}, {"each", {0}}}}}}}};
  EXPECT_TRUE(fits_memory(long_text, 100));
  EXPECT_FALSE(fits_memory(long_text, 100'000));
}

}  // namespace
}  // namespace plumbline
