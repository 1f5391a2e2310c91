// SPDX-License-Identifier: MIT
// How one row of a GEMM operand is split, x = high + low: high lies on a grid 2^g coarse enough
// that products of high parts add up exactly in FP64, low is the remainder, at most half a grid
// step. "Row" here means a row of A or a column of B. These loops touch every element of the
// operands, so they are compiled for several instruction sets and chosen at run time; all give the
// same bits.
//
// Why the sums of high parts are exact. Let the rows have 2-norms below 2^e and 2^f and the grids
// be 2^(e-p) and 2^(f-q) with p + q = 52. In grid units |high| <= 2^p + sqrt(k)/2 as a vector, so
// by Cauchy-Schwarz every partial sum of products, in any order, is an integer of magnitude at most
//   (2^p + sqrt(k)/2) (2^q + sqrt(k)/2) <= 2^53   for p = q = 26 and k <= 2^51,
// where sqrt(k)/2 is left out for a side that needs no rounding; such a side with p < 26 leaves
// q = 52 - p to the other. All those integers are FP64 numbers. So are the products themselves,
// because high and low parts of an f32 number have at most 24 significant bits. Whether
// multiplication and addition are fused therefore makes no difference anywhere here.
#pragma once

#include <cstdint>

namespace plumbline {

// What a first look at a row finds.
struct RowScale {
  double norm = 0;     // at least the 2-norm
  double largest = 0;  // magnitude of an element
  int exponent = 0;    // norm < 2^exponent; 0 for a zero row
  int lattice = 0;     // every element is a multiple of 2^lattice; 0 for a zero row

  // The bits p with which the row needs no rounding.
  int bits() const { return exponent - lattice; }
};

struct RowSplit {
  double anchor = 0;  // (x + anchor) - anchor rounds x to the grid, ties to even
  double norm = 0;    // at least the 2-norms of the row and of its low part
  double low_norm = 0;
  double high_norm = 0;
  double lattice = 0;  // every low element and every element is a multiple of this power of two
  std::int64_t low_count = 0;  // non-zero low elements
};

RowScale scale_of(const float* row, std::int64_t k);

// The split of a row at `bits` bits (at most 50) below 2^scale.exponent.
RowSplit split_of(const float* row, std::int64_t k, const RowScale& scale, int bits);

// Everything high, nothing rounded.
RowSplit whole_split(const RowScale& scale);

// sums[p] += values[p].
void add_floats(const float* values, std::int64_t count, double* sums);

// high[p] of row[p], and low[p] unless low is null.
void write_split(const float* row, std::int64_t k, const RowSplit& split, double* high,
                 double* low);

// row[p] as double.
void write_whole(const float* row, std::int64_t k, double* whole);

}  // namespace plumbline
