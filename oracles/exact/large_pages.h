// SPDX-License-Identifier: MIT
// Memory for arrays of many megabytes. Touching such an array for the first time in pages of 4 KiB
// takes a seventh of the time of the matrix product that fills it; in pages of 2 MiB, a thirtieth.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace plumbline {

// Asks the system for large pages under memory that was not touched yet. Only ever a hint.
void prefer_large_pages(void* memory, std::int64_t bytes);

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
