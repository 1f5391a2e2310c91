// SPDX-License-Identifier: MIT
#include "fuzz/plan/pairwise.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace plumbline {
namespace {

using Covered = std::set<std::tuple<int, int, int, int>>;

std::vector<Factor> factors_of(const std::vector<int>& levels) {
  std::vector<Factor> factors;
  for (const int count : levels) factors.push_back({count});
  return factors;
}

bool anything(int, int, int, int) { return true; }

Covered pairs_of(const std::vector<std::vector<int>>& rows) {
  Covered covered;
  for (const auto& row : rows) {
    for (int i = 0; i < static_cast<int>(row.size()); ++i) {
      for (int j = i + 1; j < static_cast<int>(row.size()); ++j) {
        covered.insert({i, row[static_cast<std::size_t>(i)], j, row[static_cast<std::size_t>(j)]});
      }
    }
  }
  return covered;
}

TEST(Pairwise, CoversEveryPairOfAnyFactors) {
  EXPECT_TRUE(rc::check("every pair is in some row", [] {
    const auto levels =
        *rc::gen::container<std::vector<int>>(*rc::gen::inRange(2, 7), rc::gen::inRange(1, 8));
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto rows = pairwise_rows(factors_of(levels), anything, seed);
    std::size_t wanted = 0;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      for (std::size_t j = i + 1; j < levels.size(); ++j)
        wanted += static_cast<std::size_t>(levels[i] * levels[j]);
    }
    RC_ASSERT(pairs_of(rows).size() == wanted);
  }));
}

TEST(Pairwise, NeverHoldsAForbiddenPairAndStillCoversTheRest) {
  const std::vector<int> levels = {4, 5, 3, 2};
  const auto allowed = [](int first, int a, int second, int b) {
    return !(first == 0 && second == 1 && (a == 2) == (b == 3)) || (a != 2 && b != 3);
  };
  const Covered covered = pairs_of(pairwise_rows(factors_of(levels), allowed, 7));
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 5; ++b)
      EXPECT_EQ(covered.contains({0, a, 1, b}), allowed(0, a, 1, b)) << a << ' ' << b;
  }
}

TEST(Pairwise, APairNoRowCanHoldIsLeftOut) {
  // Level 0 of factor 0 goes with nothing of factor 1, so nothing of factor 2 can meet it either.
  const auto allowed = [](int first, int a, int second, int) {
    return !(first == 0 && second == 1 && a == 0);
  };
  const auto rows = pairwise_rows(factors_of({2, 2, 2}), allowed, 1);
  for (const auto& row : rows) EXPECT_EQ(row[0], 1);
  EXPECT_FALSE(rows.empty());
}

TEST(Pairwise, IsNearTheLowerBound) {
  // Two largest factors: 17 * 16 = 272 rows at least.
  const auto rows = pairwise_rows(factors_of({17, 11, 16, 2, 3, 2, 5, 5}), anything, 1);
  EXPECT_GE(rows.size(), 272u);
  EXPECT_LE(rows.size(), 300u);
}

TEST(Pairwise, ANeutralLevelFillsWhatOthersNeedNot) {
  std::vector<Factor> factors = factors_of({10, 10, 5});
  factors[2].prefer_first = true;
  const auto rows = pairwise_rows(factors, anything, 1);
  EXPECT_EQ(pairs_of(rows).size(), 100u + 50u + 50u);
  const auto neutral =
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row[2] == 0; });
  EXPECT_GE(neutral, static_cast<std::ptrdiff_t>(rows.size() / 2 - 5));
}

}  // namespace
}  // namespace plumbline
