// SPDX-License-Identifier: MIT
// What the vector path has to know about an mma, worked out from its MmaKind. Read by the code of
// every instruction set, so kept plain.
#pragma once

#include <cstdint>

#include "oracles/models/mma.h"

namespace plumbline {

enum class FastInput : std::uint8_t { bf16, f16, e4m3, e5m2, e2m3, e3m2, e2m1 };

// How the products of one output are dealt to nodes, in planes of eight. With 16-bit inputs plane p
// is k = 8p .. 8p+7, one register of B. With 8-bit inputs a register of B holds 16 k and gives two
// planes: the lower halves of its words (k mod 4 in {0, 1}) come before the upper ones.
enum class FastChain : std::uint8_t {
  one,           // one node of plane 0
  two,           // one node of planes 0, 1
  four,          // one node of planes 0, 1, 2, 3
  one_then_one,  // plane 0, then plane 1
  two_then_two,  // 0, 1, then 2, 3
  join_one_one,  // hopper_fp8, k16: plane 0, then 1, from zero; then C is added to nearest even
  join_two_two,  // hopper_fp8, k32: planes 0, 2, then 1, 3, from zero; then the same
};

struct FastFloatPlan {
  FastInput a, b;
  FastChain chain;
  bool bytes;        // 8-bit inputs
  bool narrow;       // no sum of a node has more than 24 bits
  int registers;     // of B; A has twice as many
  int field_biases;  // 8-bit inputs: the biases of both formats together
  int fraction_bits;
  std::uint32_t result_mask;  // clears the bits of an f32 that the output format lacks
  bool scaled;                // by powers of two, one for each row of A and each column of B
};

// Of m16n8k64, whose products are added up 16 at a time before they are scaled and aligned.
struct FastFp4Plan {
  int blocks;  // of scales
  int fraction_bits, zero_exponent;
};

struct FastIntegerPlan {
  bool a_signed, b_signed;
  bool saturate;
  int registers;  // of B: one for k16, two for k32
};

struct BlockScaleValues;

// One mma, for the vector path. C and D come as registers, or else as tiles; D may be C.
struct MmaOperands {
  const LaneRegister *a = nullptr, *b = nullptr;
  bool same_a = false;  // as unpacked before
  const LaneRegister* c = nullptr;
  LaneRegister* d = nullptr;
  const MmaTile* c_tile = nullptr;
  MmaTile* d_tile = nullptr;
  const BlockScaleValues* scales = nullptr;
};

// False, and the plan unspecified, when the vector path does not do this mma.
bool make_plan(const MmaKind& kind, FastFloatPlan& plan);
bool make_plan(const MmaKind& kind, FastIntegerPlan& plan);
bool make_plan(const MmaKind& kind, FastFp4Plan& plan);

}  // namespace plumbline
