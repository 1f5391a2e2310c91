// SPDX-License-Identifier: MIT
// Independent pieces of work over threads. Which thread does which piece is left to chance, so a
// piece must only write what is its own; then results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>

namespace plumbline {

// Calls work() once on each of up to `threads` threads, of which the caller's is one, and waits for
// all of them, as run_on_threads() does (oracles/base/threads.h).
void on_threads(std::int64_t threads, const std::function<void()>& work);

// Calls piece(0) ... piece(count - 1), each once, on up to `threads` threads (the caller's is one
// of them).
void for_each_piece(std::int64_t count, int threads,
                    const std::function<void(std::int64_t)>& piece);

// The same over [0, size) cut into blocks of `block`: calls piece(begin, end).
void for_each_block(std::int64_t size, std::int64_t block, int threads,
                    const std::function<void(std::int64_t, std::int64_t)>& piece);

}  // namespace plumbline
