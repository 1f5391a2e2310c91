// SPDX-License-Identifier: MIT
// gemm_w4a16_bf16: D = A W with A in bf16 and W in 4 bits, (code - zero) * scale with a scale and a
// zero point for each group along k and each column, rounded to bf16 on its way to the tensor
// cores. Sums are f32, one accumulator per element, k increasing.
#include "device/block_tile.cuh"
#include "device/main_loop.cuh"
#include "device/weights/w4_as_bf16.cuh"

namespace {

using namespace device;

template <typename Out>
__device__ __forceinline__ void gemm_tile(const void* a, const Operand<W4AsBf16>& weights, void* d,
                                          int m, int k, long long ld_a, long long ld_d) {
  const BlockTile tile(m);
  Sums<Bf16, Bf16> sums;
  accumulate(sums, Operand<Bf16>(a, ld_a, m, true), weights, tile.first_row, tile.first_column, k);
  store<Out>(sums.x, d, ld_d, tile.place(m, weights.extent));
}

}  // namespace

#define GEMM_ENTRY(name, Out)                                                                     \
  extern "C" __global__ void __launch_bounds__(kThreads)                                          \
      name(const void* a, const void* codes, const void* scale, const void* zero, void* d, int m, \
           int n, int groups, int half, long long ld_a, long long ld_codes, long long ld_scale,   \
           long long ld_zero, long long ld_d) {                                                   \
    const Operand<W4AsBf16> weights(codes, scale, zero, ld_codes, ld_scale, ld_zero, n, half);    \
    gemm_tile<Out>(a, weights, d, m, 2 * groups * half, ld_a, ld_d);                              \
  }

GEMM_ENTRY(gemm_w4a16_bf16_bf16, OutBf16)
GEMM_ENTRY(gemm_w4a16_bf16_f32, OutF32)
