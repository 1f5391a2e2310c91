// SPDX-License-Identifier: MIT
// gemm_fp8_blockwise: D = sum over blocks of 128 of k of scale_a * scale_b * (A * B), e4m3
// operands, one f32 scale per 1x128 of A and per 128x128 of B; any M, N, K and all four operand
// layouts.
//
// One thread block computes a 128x128 tile of D (device/tile.cuh shows how), so a block of B's
// scales covers its columns exactly. The tensor core adds up 128 of k, two steps of the main loop;
// f32 takes over from there (device/scaled_sums.cuh), which also keeps a long k from losing bits in
// the tensor core's accumulator. Needs sm_89.
#include "device/epilogue.cuh"
#include "device/main_loop.cuh"
#include "device/scaled_sums.cuh"

namespace {

using namespace device;

constexpr int kBlock = 128;  // of k, and of n in B

struct BlockScales {
  const float* a;  // of the lane's first row, block 0
  const float* b;  // of the tile's columns, block 0
  int blocks_k, blocks_n;
  int rows;  // that A has from the lane's first on

  __device__ __forceinline__ float row(int i, int block) const {
    return 8 * i < rows ? a[static_cast<long long>(8 * i) * blocks_k + block] : 0.0f;
  }

  __device__ __forceinline__ float column(int, int, int block) const {
    return b[static_cast<long long>(block) * blocks_n];
  }
};

}  // namespace

// The parameters are listed, in this order, in gemm_fp8_blockwise.toml. `a_along_k`: A is stored
// [m, k]; `b_along_k`: B is stored [n, k].
extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_fp8_blockwise(const void* a, const void* b, const float* scale_a, const float* scale_b,
                       void* d, int m, int n, int k, long long lda, long long ldb, long long ldd,
                       int a_along_k, int b_along_k, int out) {
  const Tile tile(m);
  const Place place(tile.first_row, tile.first_column, m, n);
  const int blocks_k = static_cast<int>(tiles(k, kBlock)),
            blocks_n = static_cast<int>(tiles(n, kBlock));
  const BlockScales scales{scale_a + place.row * blocks_k, scale_b + tile.first_column / kBlock,
                           blocks_k, blocks_n, place.rows};

  ScaledSums<E4m3, E4m3, kBlock / 32, BlockScales> sums(scales, k);
  accumulate(sums, Operand<E4m3>(a, lda, m, a_along_k), Operand<E4m3>(b, ldb, n, b_along_k),
             tile.first_row, tile.first_column, k);
  store_as<OutBf16, OutF32>(out, sums.x, d, 0, ldd, place);
}
