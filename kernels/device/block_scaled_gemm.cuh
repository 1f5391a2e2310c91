// SPDX-License-Identifier: MIT
// D = alpha * A * B with block scales: A stored [m, k] and B [n, k], a scale of each row and column
// per block of k. Lengths along k are in bytes.
#pragma once

#include "device/block_scaled_sums.cuh"
#include "device/epilogue.cuh"
#include "device/main_loop.cuh"

namespace device {

template <typename Unit, typename A, typename B>
__device__ __forceinline__ void block_scaled_gemm(const void* a, const void* b,
                                                  const Bits8* scale_a, const Bits8* scale_b,
                                                  void* d, int m, int n, int k, int blocks,
                                                  long long lda, long long ldb, long long ldd,
                                                  float alpha, int tiled, int out) {
  const Tile tile(m);
  BlockScaledSums<Unit> sums({scale_a, m, blocks, tiled != 0}, {scale_b, n, blocks, tiled != 0},
                             tile);
  accumulate(sums, Operand<A>(a, lda, m, true), Operand<B>(b, ldb, n, true), tile.first_row,
             tile.first_column, k);
  each_value(sums.x, [&](float& value, int, int) { value = __fmul_rn(alpha, value); });
  store_as<OutBf16, OutF32>(out, sums.x, d, 0, ldd, Place(tile.first_row, tile.first_column, m, n));
}

}  // namespace device

// An entry; the parameters are listed, in this order, in the kernel's manifest.
#define PLUMBLINE_BLOCK_SCALED_ENTRY(name, Unit, A, B)                                            \
  extern "C" __global__ void __launch_bounds__(device::kThreads)                                  \
      name(const void* a, const void* b, const device::Bits8* scale_a,                            \
           const device::Bits8* scale_b, void* d, int m, int n, int k, int blocks, long long lda, \
           long long ldb, long long ldd, float alpha, int tiled, int out) {                       \
    device::block_scaled_gemm<device::Unit, device::A, device::B>(                                \
        a, b, scale_a, scale_b, d, m, n, k, blocks, lda, ldb, ldd, alpha, tiled, out);            \
  }
