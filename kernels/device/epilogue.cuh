// SPDX-License-Identifier: MIT
// What happens to a tile's sums before they are stored: steps of one f32 operation per value, each
// rounded to nearest even, which a kernel calls in the order of its contract; then the conversion
// to the format of D and the store. Which operands a step has is decided at run time; the compiler
// drops what a kernel fixes.
#pragma once

#include "device/output_formats.cuh"
#include "device/tile.cuh"

namespace device {

// Where a lane's values lie in D: its first row and column, and how many rows and columns of D
// there are
// from there on (<= 0: none).
struct Place {
  long long row, column;
  int rows, columns;

  __device__ __forceinline__ Place(int first_row, int first_column, int m, int n)
      : Place(first_row, first_column, m, n, WarpPart(threadIdx.x)) {}

  // `part` has row() and column() of the lane's first value within the tile.
  template <typename Part>
  __device__ __forceinline__ Place(int first_row, int first_column, int m, int n, const Part& part)
      : row(static_cast<long long>(first_row) + part.row()),
        column(static_cast<long long>(first_column) + part.column()),
        rows(m - first_row - part.row()),
        columns(n - first_column - part.column()) {}
};

// What a lane holds: pieces of 16 rows by 8 columns, two pairs of neighbors in each. Fragments is
// such, and so are the sums of a warpgroup.
template <typename T, int kBands, int kGroups>
using Pieces = T[kBands][kGroups][4];

// ---- loops over the values ----------------------------------------------------------------------

// step(x, row, column) for all values of a lane; row and column count from the lane's first.
template <typename T, int kBands, int kGroups, typename Step>
__device__ __forceinline__ void each_value(Pieces<T, kBands, kGroups>& x, const Step& step) {
#pragma unroll
  for (int i = 0; i < kBands; ++i)
#pragma unroll
    for (int j = 0; j < kGroups; ++j)
#pragma unroll
      for (int v = 0; v < 4; ++v) step(x[i][j][v], 16 * i + 8 * (v / 2), 8 * j + v % 2);
}

// step(x, entry) with the entry of a vector over the rows of D, read once a row.
template <int kBands, int kGroups, typename Step>
__device__ __forceinline__ void with_row_vector(Pieces<float, kBands, kGroups>& x,
                                                const float* vector, const Place& place,
                                                const Step& step) {
#pragma unroll
  for (int i = 0; i < 2 * kBands; ++i) {
    const float entry = 8 * i < place.rows ? vector[place.row + 8 * i] : 0.0f;
#pragma unroll
    for (int j = 0; j < kGroups; ++j)
#pragma unroll
      for (int v = 0; v < 2; ++v) step(x[i / 2][j][i % 2 * 2 + v], entry);
  }
}

template <int kBands, int kGroups, typename Step>
__device__ __forceinline__ void with_column_vector(Pieces<float, kBands, kGroups>& x,
                                                   const float* vector, const Place& place,
                                                   const Step& step) {
#pragma unroll
  for (int j = 0; j < kGroups; ++j)
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const float entry = 8 * j + v < place.columns ? vector[place.column + 8 * j + v] : 0.0f;
#pragma unroll
      for (int i = 0; i < 2 * kBands; ++i) step(x[i / 2][j][i % 2 * 2 + v], entry);
    }
}

// ---- the steps ----------------------------------------------------------------------------------

// An operand of a step: none, one value for all of D, or a vector with an entry per row or column
// of D.
enum VectorKind { kNone = 0, kPerRow = 1, kPerColumn = 2, kPerTensor = 3 };

struct Vector {
  int kind;
  const float* values;
};

// Integer sums to f32, to nearest even.
__device__ __forceinline__ void convert(Fragments<float>& x, const Fragments<int>& sums) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int v = 0; v < 4; ++v) x[i][j][v] = __int2float_rn(sums[i][j][v]);
}

// beta * C, fused into the addition; C is not read when beta is 0.
template <typename Out, int kBands, int kGroups>
__device__ __forceinline__ void add_c(Pieces<float, kBands, kGroups>& x, float beta,
                                      const void* matrix, long long ldc, const Place& place) {
  if (beta == 0.0f) return;
#pragma unroll
  for (int i = 0; i < 2 * kBands; ++i) {
    if (8 * i >= place.rows) continue;
    const auto* c =
        static_cast<const typename Out::Stored*>(matrix) + (place.row + 8 * i) * ldc + place.column;
#pragma unroll
    for (int j = 0; j < kGroups; ++j)
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        float& value = x[i / 2][j][i % 2 * 2 + v];
        if (8 * j + v < place.columns) value = __fmaf_rn(beta, Out::load(c + 8 * j + v), value);
      }
  }
}

template <int kBands, int kGroups>
__device__ __forceinline__ void scale(Pieces<float, kBands, kGroups>& x, const Vector& scales,
                                      const Place& place) {
  const auto multiply = [](float& value, float factor) { value = __fmul_rn(value, factor); };
  if (scales.kind == kPerRow) {
    with_row_vector(x, scales.values, place, multiply);
  } else if (scales.kind == kPerColumn) {
    with_column_vector(x, scales.values, place, multiply);
  } else if (scales.kind == kPerTensor) {
    const float factor = *scales.values;
    each_value(x, [&](float& value, int, int) { multiply(value, factor); });
  }
}

template <int kBands, int kGroups>
__device__ __forceinline__ void add_bias(Pieces<float, kBands, kGroups>& x, const Vector& bias,
                                         const Place& place) {
  const auto add = [](float& value, float entry) { value = __fadd_rn(value, entry); };
  if (bias.kind == kPerRow) {
    with_row_vector(x, bias.values, place, add);
  } else if (bias.kind == kPerColumn) {
    with_column_vector(x, bias.values, place, add);
  }
}

// rint(x) + zero, for integer outputs with a zero point.
__device__ __forceinline__ void add_zero_point(Fragments<float>& x, int zero) {
  const float addend = __int2float_rn(zero);
  each_value(x, [&](float& value, int, int) {
    float nearest;
    asm("cvt.rni.f32.f32 %0, %1;" : "=f"(nearest) : "f"(value));
    value = __fadd_rn(nearest, addend);
  });
}

// NaN passes through; -0 stays -0 (it is not below zero).
template <int kBands, int kGroups>
__device__ __forceinline__ void apply_relu(Pieces<float, kBands, kGroups>& x) {
  each_value(x, [](float& value, int, int) { value = value < 0.0f ? 0.0f : value; });
}

// ---- the store ----------------------------------------------------------------------------------

// Two neighbors at once where D's rows keep pairs aligned; the last column of an odd N alone.
template <typename Out, typename T, int kBands, int kGroups>
__device__ __forceinline__ void store(const Pieces<T, kBands, kGroups>& x, void* matrix,
                                      long long ldd, const Place& place) {
  using Stored = typename Out::Stored;
  const bool pairs =
      (reinterpret_cast<Address>(matrix) % (2 * sizeof(Stored))) == 0 && ldd % 2 == 0;
#pragma unroll
  for (int i = 0; i < 2 * kBands; ++i) {
    if (8 * i >= place.rows) continue;
    Stored* d = static_cast<Stored*>(matrix) + (place.row + 8 * i) * ldd + place.column;
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
      const T x0 = x[i / 2][j][i % 2 * 2], x1 = x[i / 2][j][i % 2 * 2 + 1];
      const int left = place.columns - 8 * j;
      if (pairs && left >= 2) {
        Out::store_pair(d + 8 * j, x0, x1);
      } else {
        if (left >= 1) Out::store(d + 8 * j, x0);
        if (left >= 2) Out::store(d + 8 * j + 1, x1);
      }
    }
  }
}

template <typename Out, int kBands, int kGroups>
__device__ __forceinline__ void store_if(bool wanted, const Pieces<float, kBands, kGroups>& x,
                                         void* matrix, long long offset, long long ldd,
                                         const Place& place) {
  if (wanted) store<Out>(x, static_cast<typename Out::Stored*>(matrix) + offset, ldd, place);
}

// The same with the format chosen at run time among those listed; `offset` in elements from the
// start of D.
template <typename... Outs, int kBands, int kGroups>
__device__ __forceinline__ void store_as(int code, const Pieces<float, kBands, kGroups>& x,
                                         void* matrix, long long offset, long long ldd,
                                         const Place& place) {
  (store_if<Outs>(code == Outs::kCode, x, matrix, offset, ldd, place), ...);
}

}  // namespace device
