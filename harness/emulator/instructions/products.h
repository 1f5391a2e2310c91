// SPDX-License-Identifier: MIT
// The two halves of a product of integers.
#pragma once

#include <cstdint>

namespace plumbline::emulator {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

struct Mul {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (sizeof(T) == 2) return static_cast<T>(std::uint32_t{a} * std::uint32_t{b});
    return static_cast<T>(a * b);
  }
};

struct MulHigh {
  static std::uint16_t apply(std::uint16_t a, std::uint16_t b) {
    return static_cast<std::uint16_t>(std::uint32_t{a} * b >> 16);
  }

  static std::int16_t apply(std::int16_t a, std::int16_t b) {
    return static_cast<std::int16_t>(std::int32_t{a} * b >> 16);
  }

  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32);
  }

  static std::int32_t apply(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(std::int64_t{a} * b >> 32);
  }

  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>(Wide{a} * b >> 64);
  }

  static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(SignedWide{a} * b >> 64);
  }
};

}  // namespace plumbline::emulator
