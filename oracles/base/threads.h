// SPDX-License-Identifier: MIT
// The same work on several threads, as many of them as the system gives.
#pragma once

#include <cstdint>
#include <functional>

namespace plumbline {

// Calls work(i) once on each of up to `threads` threads, i = 0 (the caller's) upward, and waits for
// all of them. Where the system gives fewer threads, those there are do it. The first exception
// that leaves a work(i) is thrown again here, when all have ended.
void run_on_threads(std::int64_t threads, const std::function<void(std::int64_t)>& work);

}  // namespace plumbline
