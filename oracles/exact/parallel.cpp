// SPDX-License-Identifier: MIT
#include "oracles/exact/parallel.h"

#include <mpfr.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace plumbline {

void for_each_piece(std::int64_t count, int threads,
                    const std::function<void(std::int64_t)>& piece) {
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    for (std::int64_t i = next++; i < count; i = next++) piece(i);
  };
  const std::int64_t helpers = std::min<std::int64_t>(threads, count) - 1;
  std::vector<std::jthread> pool;
  try {
    for (std::int64_t i = 0; i < helpers; ++i) {
      pool.emplace_back([&work] {
        work();
        free_number_caches();
      });
    }
  } catch (const std::system_error&) {  // no more threads here: those there are do it
  }
  work();
}

void for_each_block(std::int64_t size, std::int64_t block, int threads,
                    const std::function<void(std::int64_t, std::int64_t)>& piece) {
  for_each_piece((size + block - 1) / block, threads,
                 [&](std::int64_t i) { piece(i * block, std::min(size, (i + 1) * block)); });
}

void free_number_caches() { mpfr_free_cache(); }

}  // namespace plumbline
