// SPDX-License-Identifier: MIT
#include "fuzz/plan/triples.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace plumbline {
namespace {

const std::vector<Factor> kFactors = {{7}, {4}, {9}, {5, true}, {5}, {2}, {3}, {8, true}};
constexpr int kFirst = 3;

bool any(int, int, int, int) { return true; }

std::set<std::array<int, 6>> triples_of(const std::vector<std::vector<int>>& rows) {
  std::set<std::array<int, 6>> met;
  for (const std::vector<int>& row : rows) {
    for (std::size_t a = kFirst; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) {
        for (std::size_t c = b + 1; c < row.size(); ++c)
          met.insert({static_cast<int>(a), row[a], static_cast<int>(b), row[b], static_cast<int>(c),
                      row[c]});
      }
    }
  }
  return met;
}

std::size_t possible() {
  std::size_t count = 0;
  for (std::size_t a = kFirst; a < kFactors.size(); ++a) {
    for (std::size_t b = a + 1; b < kFactors.size(); ++b) {
      for (std::size_t c = b + 1; c < kFactors.size(); ++c)
        count +=
            static_cast<std::size_t>(kFactors[a].levels * kFactors[b].levels * kFactors[c].levels);
    }
  }
  return count;
}

TEST(Triples, EveryThreeLevelsMeet) {
  const auto rows = triple_rows(kFactors, kFirst, {}, any, 1);
  EXPECT_EQ(triples_of(rows).size(), possible());
  // 5 * 5 * 8 are the fewest there can be.
  EXPECT_LE(rows.size(), 340u);
}

TEST(Triples, WhatIsKnownNeedsNoRow) {
  auto known = triple_rows(kFactors, kFirst, {}, any, 1);
  EXPECT_TRUE(triple_rows(kFactors, kFirst, known, any, 2).empty());
  known.resize(known.size() / 2);
  auto rows = triple_rows(kFactors, kFirst, known, any, 2);
  EXPECT_LT(rows.size(), 340u);
  rows.insert(rows.end(), known.begin(), known.end());
  EXPECT_EQ(triples_of(rows).size(), possible());
}

TEST(Triples, OtherFactorsKeepToWhatIsAllowed) {
  const auto odd = [](int first, int a, int second, int b) {
    return first != 0 || second != 1 || (a + b) % 2 == 1;
  };
  std::set<int> shapes;
  for (const std::vector<int>& row : triple_rows(kFactors, kFirst, {}, odd, 3)) {
    EXPECT_EQ((row[0] + row[1]) % 2, 1);
    shapes.insert(row[0]);
  }
  EXPECT_EQ(shapes.size(), 7u);
}

TEST(Triples, FollowFromTheSeed) {
  EXPECT_EQ(triple_rows(kFactors, kFirst, {}, any, 5), triple_rows(kFactors, kFirst, {}, any, 5));
  EXPECT_NE(triple_rows(kFactors, kFirst, {}, any, 5), triple_rows(kFactors, kFirst, {}, any, 6));
}

}  // namespace
}  // namespace plumbline
