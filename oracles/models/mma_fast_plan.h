// SPDX-License-Identifier: MIT
// What the vector path has to know about an mma, boiled down once per call by mma_fast.cpp and read by the code of every
// instruction set.
#pragma once

#include <cstdint>

#include "oracles/models/mma.h"

namespace plumbline {

enum class FastInput : std::uint8_t { bf16, f16, e4m3, e5m2 };

// How the products of one output are dealt to nodes. A plane is 8 products of every output: the words of one A register
// pair and one B register for 16-bit inputs, one half of them for 8-bit inputs (plane 2r is the low half of register r).
enum class FastChain : std::uint8_t {
  one,               // one node of plane 0
  one_then_one,      // plane 0, then plane 1
  pair,              // planes 0 and 1 together
  pair_then_pair,    // 0 and 1, then 2 and 3
  four,              // planes 0 to 3 together
  join_one_one,      // plane 0, then 1, from zero; C added at the end, to nearest even
  join_pair_pair,    // 0 and 2, then 1 and 3, from zero; C added at the end, to nearest even
};

struct FastFloatPlan {
  FastInput a, b;
  FastChain chain;
  int fraction_bits;
  std::uint32_t result_mask;  // clears the result bits that the output format does not have
};

struct FastIntegerPlan {
  bool a_signed, b_signed;
  bool saturate;
  int registers;  // of B: 1 for k16, 2 for k32
};

}  // namespace plumbline
