// SPDX-License-Identifier: MIT
// The formats operands may have, and the tensor-core instruction for each pair of them. One
// instruction multiplies 16 rows of A by 8 columns of B over 32 bytes of k: m16n8k16 for 2-byte
// formats, m16n8k32 for 1-byte formats. Because the depth in bytes is the same, so are the
// registers: everything but this file sees bytes only.
#pragma once

#include "device/instructions.cuh"

namespace device {

struct OneByte {
  using Bits = Bits8;
  static constexpr int kBytes = 1;
};

struct TwoBytes {
  using Bits = Bits16;
  static constexpr int kBytes = 2;
};

struct Bf16 : TwoBytes {};

struct F16 : TwoBytes {};

struct E4m3 : OneByte {};

struct E5m2 : OneByte {};

struct S8 : OneByte {};

struct U8 : OneByte {};

// Mma<A, B>::multiply(d, a, b0, b1): d += a * b. Sum is the type of the accumulators.
template <typename A, typename B>
struct Mma;

// The instruction's name must be a literal, which no function can put together.
#define PLUMBLINE_MMA(A, B, SumType, constraint, instruction)                                     \
  template <>                                                                                     \
  struct Mma<A, B> {                                                                              \
    using Sum = SumType;                                                                          \
    __device__ __forceinline__ static void multiply(Sum (&d)[4], const Bits32 (&a)[4], Bits32 b0, \
                                                    Bits32 b1) {                                  \
      asm volatile("mma.sync.aligned." instruction                                                \
                   " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"             \
                   : "+" constraint(d[0]), "+" constraint(d[1]), "+" constraint(d[2]),            \
                     "+" constraint(d[3])                                                         \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));               \
    }                                                                                             \
  };

PLUMBLINE_MMA(Bf16, Bf16, float, "f", "m16n8k16.row.col.f32.bf16.bf16.f32")
PLUMBLINE_MMA(F16, F16, float, "f", "m16n8k16.row.col.f32.f16.f16.f32")
PLUMBLINE_MMA(E4m3, E4m3, float, "f", "m16n8k32.row.col.f32.e4m3.e4m3.f32")
PLUMBLINE_MMA(E4m3, E5m2, float, "f", "m16n8k32.row.col.f32.e4m3.e5m2.f32")
PLUMBLINE_MMA(E5m2, E4m3, float, "f", "m16n8k32.row.col.f32.e5m2.e4m3.f32")
PLUMBLINE_MMA(E5m2, E5m2, float, "f", "m16n8k32.row.col.f32.e5m2.e5m2.f32")
PLUMBLINE_MMA(S8, S8, int, "r", "m16n8k32.row.col.s32.s8.s8.s32")
PLUMBLINE_MMA(U8, S8, int, "r", "m16n8k32.row.col.s32.u8.s8.s32")

#undef PLUMBLINE_MMA

}  // namespace device
