// SPDX-License-Identifier: MIT
// Random: the one source of pseudo-random bits (splitmix64, by counter). The n-th word depends on
// (seed, n) alone, so inputs are the same on every machine and any element can be drawn without
// drawing those before it. std::*_distribution is not used anywhere: its output differs between
// standard libraries.
#pragma once

#include <cstdint>

namespace plumbline {

// The splitmix64 finaliser: a bijection on 64-bit words (Steele, Lea & Flood, OOPSLA 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(mix(seed)) {}

  // A stream of its own for (this seed, key).
  constexpr Random fork(std::uint64_t key) const { return Random(state_ ^ mix(key)); }

  constexpr std::uint64_t next() { return mix(state_ + 0x632be59bd9b4e019u * ++counter_); }

  // Uniform in [0, bound) for 0 < bound < 2^32 (multiply-shift; bias below 2^-32).
  constexpr std::uint64_t below(std::uint64_t bound) { return ((next() >> 32) * bound) >> 32; }

  // Uniform in [low, high].
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }

  // Uniform in [0, 1) with 53 bits.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
  std::uint64_t counter_ = 0;
};

}  // namespace plumbline
