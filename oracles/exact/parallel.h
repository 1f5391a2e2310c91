// SPDX-License-Identifier: MIT
// Independent pieces of work over threads. Which thread does which piece is left to chance, so a
// piece must only write what is its own; then results do not depend on the number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>

namespace plumbline {

// Thrown by for_each_piece() and stop_if_given_up() when the result is not wanted any more.
class GivenUp : public std::exception {
 public:
  const char* what() const noexcept override { return "given up"; }
};

// While one lives, for_each_piece() of this thread, and of the pieces within, begins no piece once
// the flag is true, and throws GivenUp, as stop_if_given_up() does. Without one, and where the flag
// is null, it runs to its end.
class GiveUpOn {
 public:
  explicit GiveUpOn(const std::atomic<bool>* flag);
  GiveUpOn(const GiveUpOn&) = delete;
  GiveUpOn& operator=(const GiveUpOn&) = delete;
  ~GiveUpOn();

 private:
  const std::atomic<bool>* before_;
};

// For loops of one thread that may take minutes.
void stop_if_given_up();

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
