// SPDX-License-Identifier: MIT
// Memory for arrays of many megabytes. Touching such an array for the first time in pages of 4 KiB
// takes a seventh of the time of the matrix product that fills it; in pages of 2 MiB, a thirtieth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace plumbline {

inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

// Asks the system for large pages under memory that was not touched yet. Only ever a hint.
void prefer_large_pages(void* memory, std::int64_t bytes);

// Fresh pages of the system are zero: large arrays of zeros cost nothing until they are written. A
// vector with this allocator must not shrink and grow again, since elements are not set to zero.
template <typename T>
struct ZeroPages {
  using value_type = T;

  T* allocate(std::size_t count) {
    void* memory = std::calloc(count, sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    prefer_large_pages(memory, static_cast<std::int64_t>(count * sizeof(T)));
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, std::size_t) { std::free(memory); }

  template <typename U>
  void construct(U*) noexcept {}  // zero already

  template <typename U, typename... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }

  bool operator==(const ZeroPages&) const = default;
};

template <typename T>
using ZeroedVector = std::vector<T, ZeroPages<T>>;

// An empty vector gets `count` zeros.
template <typename T>
void fill_with_zeros(std::vector<T>& empty, std::int64_t count) {
  empty.reserve(count);
  prefer_large_pages(empty.data(), count * static_cast<std::int64_t>(sizeof(T)));
  empty.resize(count);
}

// Uninitialized doubles.
using Buffer = std::unique_ptr<double[]>;
Buffer make_buffer(std::int64_t count);

}  // namespace plumbline
