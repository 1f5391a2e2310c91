// SPDX-License-Identifier: MIT
// The same work for many items on a few threads.
#pragma once

#include <atomic>
#include <cstddef>

#include "harness/launch/interrupt.h"
#include "oracles/exact/parallel.h"

namespace plumbline {

// Every thread makes a worker of its own, make(), and calls worker(i) for the next i below `count`
// until none is left. No new ones begin after Ctrl-C.
template <typename Make>
void for_each_on_workers(std::size_t count, int threads, const Make& make) {
  std::atomic<std::size_t> next{0};
  const auto turn = [&] {
    auto worker = make();
    for (std::size_t i; (i = next++) < count && !interrupted();) worker(i);
  };
  on_threads(threads, turn);
}

}  // namespace plumbline
