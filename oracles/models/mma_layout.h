// SPDX-License-Identifier: MIT
// Which matrix element lies where in the fragments of mma.sync m16n8kK (PTX ISA 9.7.14.5). One rule
// covers all widths: with e = 32 / element bits, register r of lane 4g + t holds
//   A: row g + 8*(r%2),  k = e*t + j + 4e*(r/2)      j = 0 .. e-1, from the low bits up
//   B: column g,         k = e*t + j + 4e*r
//   C, D of 32 bits: row g + 8*(r/2), column 2t + r%2;  of 16 bits: row g + 8*r, column 2t + j
#pragma once

namespace plumbline {

inline constexpr int kMmaRows = 16, kMmaColumns = 8;
inline constexpr int kMostScaleBlocks = 4;  // of one row of A or column of B

struct FragmentPlace {
  int row_or_column;  // A: row; B: column
  int k;
};

struct OutputPlace {
  int row;
  int column;
};

constexpr FragmentPlace a_place(int lane, int reg, int element, int elements) {
  return {lane / 4 + 8 * (reg % 2), elements * (lane % 4 + 4 * (reg / 2)) + element};
}

constexpr FragmentPlace b_place(int lane, int reg, int element, int elements) {
  return {lane / 4, elements * (lane % 4 + 4 * reg) + element};
}

constexpr OutputPlace c_place(int lane, int reg, int element, int elements) {
  const int index = elements * reg + element;
  return {lane / 4 + 8 * (index / 2), 2 * (lane % 4) + index % 2};
}

}  // namespace plumbline
