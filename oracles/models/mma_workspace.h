// SPDX-License-Identifier: MIT
// Fragments as the vector path unpacks them: vectors over the rows of A, operands as f32 or as
// 16-bit integers. GEMMs multiply one A by several B in a row, so their caller keeps this from one
// mma to the next.
#pragma once

#include <cstdint>

namespace plumbline {

// A plane holds 8 products of every output: words t = 0..3 times the lower and the upper element of
// each word. A group of exponents belongs to one plane of 16-bit inputs, or to two planes of 8-bit
// inputs that go into one node.
struct FloatOperands {
  static constexpr int kMostPlanes = 4;

  alignas(64) float a[kMostPlanes][4][2][16];                 // plane, word, element, row
  alignas(64) std::uint32_t a_exponents[kMostPlanes][4][16];  // group, word, row
  alignas(64) float b[kMostPlanes][2][8][4];                  // plane, element, column, word
  alignas(64) std::uint32_t b_exponents[kMostPlanes][8][4];   // group, column, word
  bool a_finite;
};

// Up to two register pairs of A and two registers of B, each word of four k widened to two words of
// two.
struct IntegerOperands {
  alignas(64) std::uint32_t a[2][4][2][16];  // register pair, word, even or odd k, row
  alignas(64) std::uint32_t b[2][2][8][4];   // register, even or odd k, column, word
};

// FP4: of every register's word four words of two elements, doubled, which are integers of 16 bits.
// And a bit of a word for each of its elements that is not 0.
struct Fp4Operands {
  alignas(64) std::uint32_t a[2][4][4][16];      // register pair, word, two elements, row
  alignas(64) std::uint32_t a_nonzero[4][16];    // half of a register pair, row: of two words
  alignas(64) std::uint32_t b[2][4][8][4];       // register, two elements, column, word
  alignas(64) std::uint32_t b_nonzero[2][8][4];  // register, column, word
};

union MmaWorkspace {
  FloatOperands floats;
  IntegerOperands integers;
  Fp4Operands fp4;

  MmaWorkspace() {}  // nothing to set: a run without same_a writes before it reads
};

}  // namespace plumbline
