// SPDX-License-Identifier: MIT
// Compares mma_fast() with mma_spec() on random fragments of one kind, and counts what was
// declined.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iterator>

#include "tests/oracles/models/mma_cases.h"

namespace plumbline {

struct Comparison {
  std::array<int, std::size(kValueMixes)> run{};
  std::array<int, std::size(kValueMixes)> declined{};

  double declined_share(ValueMix mix) const {
    const auto at = static_cast<std::size_t>(mix);
    return static_cast<double>(declined[at]) / run[at];
  }
};

// Mixes take turns. Stops at the first difference.
inline Comparison compare_fast_with_spec(const MmaKind& kind, int count, std::uint64_t seed) {
  Comparison comparison;
  Random random(seed);
  LaneRegister untouched[4];
  std::memset(untouched, 0x5a, sizeof untouched);
  for (int i = 0; i < count; ++i) {
    const ValueMix mix = kValueMixes[static_cast<std::size_t>(i) % std::size(kValueMixes)];
    const auto at = static_cast<std::size_t>(mix);
    const Fragments in = random_fragments(kind, mix, random);
    LaneRegister fast[4];
    std::memcpy(fast, untouched, sizeof fast);
    ++comparison.run[at];
    if (!mma_fast(kind, in.a, in.b, in.c, fast)) {
      ++comparison.declined[at];
      EXPECT_EQ(std::memcmp(fast, untouched, sizeof fast), 0) << "wrote to d, then declined";
      mma(kind, in.a, in.b, in.c, fast);  // by the specification only where it has to be
    }
    LaneRegister spec[4];
    mma_spec(kind, in.a, in.b, in.c, spec);
    if (std::memcmp(fast, spec, sizeof fast) == 0) continue;
    for (int reg = 0; reg < 4; ++reg) {
      for (int lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(fast[reg][lane], spec[reg][lane])
            << "mma " << i << ", mix " << at << ", register " << reg << ", lane " << lane;
      }
    }
    break;
  }
  return comparison;
}

}  // namespace plumbline
