// SPDX-License-Identifier: MIT
// PLUMB_ASSERT(condition): stops the program when plumbline itself is wrong (exit code 70), never
// for bad input. Active in every build type.
#pragma once

namespace plumbline {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace plumbline

#define PLUMB_ASSERT(condition) \
  ((condition) ? void(0) : ::plumbline::assertion_failed(#condition, __FILE__, __LINE__))
