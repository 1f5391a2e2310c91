// SPDX-License-Identifier: MIT
// gemm_fp8: D = scale_d * relu(scale_a * scale_b * (A * B) + bias) on fp8 tensor cores, for all
// four pairs of e4m3 and e5m2, scales per tensor or per row of A and column of B, any M, N, K and
// all four operand layouts.
//
// One thread block computes a 128x128 tile of D (device/tile.cuh shows how); an m16n8k32 takes
// operands whose k is contiguous only, so the loader transposes the other layouts byte by byte
// (device/tile_loader.cuh). One f32 accumulator per output, k increasing. Formats of operands are
// entries of their own, everything else is chosen at run time. Needs sm_89.
#include "device/epilogue.cuh"
#include "device/main_loop.cuh"

namespace {

using namespace device;

// `a_along_k`: A is stored [m, k]; `b_along_k`: B is stored [n, k]. Absent tensors are null.
template <typename A, typename B>
__device__ __forceinline__ void gemm(const void* a, const void* b, const float* scale_a,
                                     const float* scale_b, const float* scale_d, const float* bias,
                                     void* d, int m, int n, int k, int batch, long long lda,
                                     long long ldb, long long ldd, long long stride_a,
                                     long long stride_b, long long stride_d, int a_along_k,
                                     int b_along_k, int scale_a_kind, int scale_b_kind,
                                     int bias_kind, int relu, int out) {
  const Operand<A> operand_a(a, lda, m, a_along_k);
  const Operand<B> operand_b(b, ldb, n, b_along_k);
  const Tile tile(m);
  const Place place(tile.first_row, tile.first_column, m, n);

  for (long long z = blockIdx.z; z < batch; z += gridDim.z) {
    Sums<A, B> sums;
    accumulate(sums, operand_a.at(z * stride_a), operand_b.at(z * stride_b), tile.first_row,
               tile.first_column, k);

    scale(sums.x, {scale_a_kind, scale_a}, place);
    scale(sums.x, {scale_b_kind, scale_b}, place);
    add_bias(sums.x, {bias_kind, bias}, place);
    if (relu) apply_relu(sums.x);
    scale(sums.x, {scale_d ? kPerTensor : kNone, scale_d}, place);
    store_as<OutBf16, OutF16, OutF32, OutE4m3>(out, sums.x, d, z * stride_d, ldd, place);

    release_stages();
  }
}

}  // namespace

// Entry points gemm_fp8_<a>_<b>; the parameters are listed, in this order, in gemm_fp8.toml.
#define GEMM_FP8_ENTRY(name, A, B)                                                                \
  extern "C" __global__ void __launch_bounds__(kThreads)                                          \
      gemm_fp8_##name(const void* a, const void* b, const float* scale_a, const float* scale_b,   \
                      const float* scale_d, const float* bias, void* d, int m, int n, int k,      \
                      int batch, long long lda, long long ldb, long long ldd, long long stride_a, \
                      long long stride_b, long long stride_d, int a_along_k, int b_along_k,       \
                      int scale_a_kind, int scale_b_kind, int bias_kind, int relu, int out) {     \
    gemm<A, B>(a, b, scale_a, scale_b, scale_d, bias, d, m, n, k, batch, lda, ldb, ldd, stride_a, \
               stride_b, stride_d, a_along_k, b_along_k, scale_a_kind, scale_b_kind, bias_kind,   \
               relu, out);                                                                        \
  }

GEMM_FP8_ENTRY(e4m3_e4m3, E4m3, E4m3)
GEMM_FP8_ENTRY(e4m3_e5m2, E4m3, E5m2)
GEMM_FP8_ENTRY(e5m2_e4m3, E5m2, E4m3)
GEMM_FP8_ENTRY(e5m2_e5m2, E5m2, E5m2)
