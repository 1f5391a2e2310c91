// SPDX-License-Identifier: MIT
#include "oracles/base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <new>
#include <set>

namespace plumbline {
namespace {

TEST(Threads, EachNumberIsWorkedOnOnce) {
  std::mutex mutex;
  std::multiset<std::int64_t> seen;
  run_on_threads(4, [&](std::int64_t i) {
    const std::lock_guard lock(mutex);
    seen.insert(i);
  });
  EXPECT_EQ(seen, (std::multiset<std::int64_t>{0, 1, 2, 3}));
}

TEST(Threads, AnExceptionOfAnyThreadReachesTheCallerAfterAllHaveEnded) {
  for (const std::int64_t thrower : {0, 3}) {
    std::atomic<int> ended = 0;
    EXPECT_THROW(run_on_threads(4,
                                [&](std::int64_t i) {
                                  if (i == thrower) throw std::bad_alloc();
                                  ++ended;
                                }),
                 std::bad_alloc);
    EXPECT_EQ(ended, 3);
  }
}

}  // namespace
}  // namespace plumbline
