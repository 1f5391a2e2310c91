// SPDX-License-Identifier: MIT
// gemm_mxfp8: D = sum over blocks of 32 of k of scale_a * scale_b * (A * B) with the OCP
// microscaling formats: operands are e4m3 or e5m2 in every pair, and 32 elements along k share a
// ue8m0 scale, a power of two; any M, N, K and all four operand layouts.
//
// One thread block computes a 128x128 tile of D (device/tile.cuh shows how). A block of 32 is just
// one m16n8k32, whose sum is then scaled into an f32 (device/scaled_sums.cuh): mma.sync of sm_89
// and sm_90 knows no scales. Formats of operands are entries of their own, everything else is
// chosen at run time.
#include "device/epilogue.cuh"
#include "device/main_loop.cuh"
#include "device/scaled_sums.cuh"

namespace {

using namespace device;

constexpr int kBlock = 32;  // of k

// ue8m0: code c is 2^(c - 127), from 2^-127, which is subnormal in f32, to 2^127; 255 is NaN.
__device__ __forceinline__ float power_of_two(Bits8 code) {
  const Bits32 bits = code == 0     ? 0x00400000u
                      : code == 255 ? 0x7fc00000u
                                    : static_cast<Bits32>(code) << 23;
  return __uint_as_float(bits);
}

struct MicroScales {
  const Bits8* a;  // of the lane's first row, block 0
  const Bits8* b;  // of the lane's first column, block 0
  int blocks_k, n;
  int rows, columns;  // that D has from the lane's first on

  __device__ __forceinline__ float row(int i, int block) const {
    return 8 * i < rows ? power_of_two(a[static_cast<long long>(8 * i) * blocks_k + block]) : 0.0f;
  }

  __device__ __forceinline__ float column(int j, int v, int block) const {
    return 8 * j + v < columns ? power_of_two(b[static_cast<long long>(block) * n + 8 * j + v])
                               : 0.0f;
  }
};

// `a_along_k`: A is stored [m, k]; `b_along_k`: B is stored [n, k].
template <typename A, typename B>
__device__ __forceinline__ void gemm(const void* a, const void* b, const Bits8* scale_a,
                                     const Bits8* scale_b, void* d, int m, int n, int k,
                                     long long lda, long long ldb, long long ldd, int a_along_k,
                                     int b_along_k, int out) {
  const Tile tile(m);
  const Place place(tile.first_row, tile.first_column, m, n);
  const int blocks_k = static_cast<int>(tiles(k, kBlock));
  const MicroScales scales{scale_a + place.row * blocks_k,
                           scale_b + place.column,
                           blocks_k,
                           n,
                           place.rows,
                           place.columns};

  ScaledSums<A, B, 1, MicroScales> sums(scales, k);
  accumulate(sums, Operand<A>(a, lda, m, a_along_k), Operand<B>(b, ldb, n, b_along_k),
             tile.first_row, tile.first_column, k);
  store_as<OutBf16, OutF32>(out, sums.x, d, 0, ldd, place);
}

}  // namespace

// Entry points gemm_mxfp8_<a>_<b>; the parameters are listed, in this order, in gemm_mxfp8.toml.
#define GEMM_MXFP8_ENTRY(name, A, B)                                                               \
  extern "C" __global__ void __launch_bounds__(kThreads)                                           \
      gemm_mxfp8_##name(const void* a, const void* b, const Bits8* scale_a, const Bits8* scale_b,  \
                        void* d, int m, int n, int k, long long lda, long long ldb, long long ldd, \
                        int a_along_k, int b_along_k, int out) {                                   \
    gemm<A, B>(a, b, scale_a, scale_b, d, m, n, k, lda, ldb, ldd, a_along_k, b_along_k, out);      \
  }

GEMM_MXFP8_ENTRY(e4m3_e4m3, E4m3, E4m3)
GEMM_MXFP8_ENTRY(e4m3_e5m2, E4m3, E5m2)
GEMM_MXFP8_ENTRY(e5m2_e4m3, E5m2, E4m3)
GEMM_MXFP8_ENTRY(e5m2_e5m2, E5m2, E5m2)
