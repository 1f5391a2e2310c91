// SPDX-License-Identifier: MIT
#include "oracles/base/threads.h"

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace plumbline {

void run_on_threads(std::int64_t threads, const std::function<void(std::int64_t)>& work) {
  std::exception_ptr first;
  std::mutex mutex;
  const auto guarded = [&](std::int64_t i) {
    try {
      work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::int64_t i = 1; i < threads; ++i) helpers.emplace_back(guarded, i);
    } catch (const std::system_error&) {  // no more threads here: those there are do it
    }
    guarded(0);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace plumbline
