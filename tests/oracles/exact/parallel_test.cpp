// SPDX-License-Identifier: MIT
// Pieces of work over threads: each runs once, and none begins once the result is not wanted.
#include "oracles/exact/parallel.h"

#include <gtest/gtest.h>

#include <latch>
#include <vector>

namespace plumbline {
namespace {

TEST(ForEachPiece, DoesEachPieceOnce) {
  for (const int threads : {1, 3}) {
    std::vector<std::atomic<int>> done(100);
    for_each_piece(100, threads, [&](std::int64_t i) { ++done[static_cast<std::size_t>(i)]; });
    for (const std::atomic<int>& one : done) EXPECT_EQ(one, 1);
  }
}

TEST(ForEachPiece, EndsWhenItIsGivenUp) {
  for (const int threads : {1, 3}) {
    std::atomic<bool> flag{false};
    std::atomic<int> done{0};
    const GiveUpOn within(&flag);
    EXPECT_THROW(for_each_piece(1000, threads,
                                [&](std::int64_t) {
                                  if (++done == 5) flag = true;
                                }),
                 GivenUp);
    EXPECT_LE(done, 5 + threads);
  }
}

TEST(ForEachPiece, GivesUpWithinPieces) {
  std::atomic<bool> flag{false};
  std::atomic<int> done{0};
  const GiveUpOn within(&flag);
  std::latch both(2);  // one of the two pieces is a helper's
  const auto inner = [&](std::int64_t) {
    both.arrive_and_wait();
    for_each_piece(1000, 1, [&](std::int64_t) {
      if (++done == 5) flag = true;
    });
  };
  EXPECT_THROW(for_each_piece(2, 2, inner), GivenUp);
  EXPECT_LE(done, 7);
}

TEST(ForEachPiece, RunsToItsEndUnlessItIsGivenUp) {
  const std::atomic<bool> flag{true};
  {
    const GiveUpOn within(&flag);
  }
  int done = 0;
  for_each_piece(10, 1, [&](std::int64_t) { ++done; });
  EXPECT_EQ(done, 10);
}

}  // namespace
}  // namespace plumbline
