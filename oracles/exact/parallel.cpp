// SPDX-License-Identifier: MIT
#include "oracles/exact/parallel.h"

#include <mpfr.h>

#include <algorithm>
#include <atomic>

#include "oracles/base/threads.h"

namespace plumbline {
namespace {

thread_local const std::atomic<bool>* give_up = nullptr;

}  // namespace

GiveUpOn::GiveUpOn(const std::atomic<bool>* flag) : before_(give_up) { give_up = flag; }

GiveUpOn::~GiveUpOn() { give_up = before_; }

void stop_if_given_up() {
  if (give_up != nullptr && *give_up) throw GivenUp();
}

void on_threads(std::int64_t threads, const std::function<void()>& work) {
  run_on_threads(threads, [&](std::int64_t i) {
    work();
    if (i > 0) mpfr_free_cache();  // the constants that MPFR keeps for each thread
  });
}

void for_each_piece(std::int64_t count, int threads,
                    const std::function<void(std::int64_t)>& piece) {
  std::atomic<std::int64_t> next = 0;
  on_threads(std::min<std::int64_t>(threads, count), [&, flag = give_up] {
    const GiveUpOn also_here(flag);
    for (std::int64_t i = next++; i < count; i = next++) {
      if (flag != nullptr && *flag) throw GivenUp();
      piece(i);
    }
  });
}

void for_each_block(std::int64_t size, std::int64_t block, int threads,
                    const std::function<void(std::int64_t, std::int64_t)>& piece) {
  for_each_piece((size + block - 1) / block, threads,
                 [&](std::int64_t i) { piece(i * block, std::min(size, (i + 1) * block)); });
}

}  // namespace plumbline
