// SPDX-License-Identifier: MIT
// LazyMemory: zeroed memory of which only what is touched takes space and time. Kernels declare
// local memory by the worst case (512 KiB a thread is allowed) and mostly use little of it.
#pragma once

#include <cstddef>

namespace plumbline::emulator {

class LazyMemory {
 public:
  LazyMemory() = default;
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;
  ~LazyMemory();

  // Once, before anything else. Throws std::bad_alloc where there are no addresses left.
  void resize(std::size_t bytes);

  std::byte* data() { return data_; }

  // All bytes are zero again.
  void clear();

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace plumbline::emulator
