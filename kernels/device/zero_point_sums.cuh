// SPDX-License-Identifier: MIT
// Integer sums with zero points: sum of (a - zero_a) * (b - zero_b), modulo 2^32, as
//
//   sum a * b  -  zero_a * sum b  -  zero_b * sum a  +  k * zero_a * zero_b
//
// The sums of single operands come from the tensor core as well, as products with ones: they then
// lie in the same lanes and registers as the sums they correct, and the zeros beyond the matrices'
// edges need no thought.
#pragma once

#include "device/sums.cuh"

namespace device {

template <typename A, typename B>
struct ZeroPointSums {
  Fragments<int> x = {};

  __device__ __forceinline__ ZeroPointSums(int zero_a, int zero_b)
      : zero_a_(zero_a), zero_b_(zero_b) {}

  __device__ __forceinline__ void multiply(const Bits32 (&a)[4][4], const Bits32 (&b)[2][4],
                                           int slice) {
    constexpr Bits32 kOnes = 0x01010101, kAllOnes[4] = {kOnes, kOnes, kOnes, kOnes};
    multiply_slice<A, B>(x, a, b);
    if (zero_b_ != 0) {
#pragma unroll
      for (int i = 0; i < 4; ++i) Mma<A, B>::multiply(row_sum_[i], a[i], kOnes, kOnes);
    }
    if (zero_a_ != 0) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        Mma<A, B>::multiply(column_sum_[j], kAllOnes, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }

  // After the last slice. Unsigned, because these products and sums may wrap.
  __device__ __forceinline__ void correct(int k) {
    const Bits32 zero_a = zero_a_, zero_b = zero_b_, constant = k * zero_a * zero_b;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          const Bits32 columns = zero_a * column_sum_[j][v], rows = zero_b * row_sum_[i][v];
          x[i][j][v] = static_cast<int>(x[i][j][v] - columns - rows + constant);
        }
  }

 private:
  int row_sum_[4][4] = {};     // of A; the same in every column
  int column_sum_[4][4] = {};  // of B; the same in every row
  int zero_a_, zero_b_;
};

}  // namespace device
