// SPDX-License-Identifier: MIT
// One warp-wide mma.sync on register fragments: 32 lanes, registers as the PTX ISA lays them out
// (9.7.14.5). g = lane / 4, t = lane % 4. For m16n8k16 with 16-bit inputs:
//   A, 4 registers of 2 elements:  row = g + 8*((i/2)%2), k = 2t + i%2 + 8*(i/4)
//   B, 2 registers of 2 elements:  k = 2t + i%2 + 8*(i/2), column = g
//   C/D, 4 registers of 1 f32:     row = g + 8*(i/2),      column = 2t + i%2
// mma_spec() unpacks the fragments and calls dot() 128 times; mma_fast() gives the same bits many
// times faster (Highway, instruction set chosen at run time) or declines unusual inputs (NaN and
// Inf in A or B, sums near the ends of the f32 range) and kinds it has no code for (tf32, f16
// results).
#pragma once

#include <cstdint>

#include "oracles/formats/format.h"
#include "oracles/models/node.h"

namespace plumbline {

using LaneRegister = std::uint32_t[32];

struct MmaShape {
  int m, n, k;
};

// Of .block_scale: what a row of A and a column of B are multiplied by, once per `block` of k.
struct MmaBlockScale {
  FormatId format = FormatId::ue8m0;  // or e4m3, whose sign is ignored: ue4m3
  int block = 0;                      // 32 or 16; 0: there are no scales
};

struct MmaKind {
  MmaShape shape;         // m16n8k8, m16n8k16, m16n8k32, ...
  FormatId a, b;          // bf16, f16, tf32; e4m3 to e2m1, mixed; s8/u8 when integer
  FormatId accumulator;   // f32, f16 or s32
  bool saturate = false;  // .satfinite of integer mma
  DotModel model{};       // unused for integers; of block scales only the node
  MmaBlockScale scale{};
};

// The registers that scales come in, and which part of them: those of A from the lanes 2 thread and
// 2 thread + 1 of every four (rows g and g + 8), those of B from lane `thread` of every four, each
// k / block bytes from number `byte` on (PTX ISA 9.7.14.5, block scaling).
struct MmaScales {
  struct Operand {
    const LaneRegister* word;
    int byte = 0, thread = 0;
  };

  Operand a, b;
};

// True for the combinations of shape and types that mma_spec() takes; it asserts the others away.
bool mma_exists(const MmaKind& kind);

// Registers per lane of each fragment.
int a_registers(const MmaKind& kind);
int b_registers(const MmaKind& kind);
int c_registers(const MmaKind& kind);

// C or D by column: 32 bits an element, of which f16 has the lower 16.
struct MmaTile {
  alignas(64) std::uint32_t columns[8][16];
};

// The same as registers, and back.
void to_registers(const MmaKind& kind, const MmaTile& tile, LaneRegister* registers);
void to_tile(const MmaKind& kind, const LaneRegister* registers, MmaTile& tile);

// What the vector path has done of an mma with an f32 accumulator.
struct PartOfMma {
  MmaTile d;
  // The outputs that are not in `d`, since their exponents or sums are beyond the path's range: bit
  // r of word c is row r of column c. Nor are those of a row or column whose operands are not all
  // finite.
  std::uint16_t open[8] = {0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff};
};

// d may alias c. Every lane takes part.
// `scales`: of a kind that has them. `done` is taken as it is, and only the rest computed.
void mma_spec(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
              const LaneRegister* c, LaneRegister* d, const MmaScales* scales = nullptr,
              const PartOfMma* done = nullptr);

// False when it declines; d is then untouched.
bool mma_fast(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b,
              const LaneRegister* c, LaneRegister* d);

// mma_fast, and mma_spec where that declines. Who runs one kind many times makes an MmaPlan of it
// (mma_plan.h).
void mma(const MmaKind& kind, const LaneRegister* a, const LaneRegister* b, const LaneRegister* c,
         LaneRegister* d);

// Name of the vector instruction set mma_fast runs on here ("AVX3", "AVX2", ...).
const char* mma_fast_target();

}  // namespace plumbline
