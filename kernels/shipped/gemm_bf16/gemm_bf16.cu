// SPDX-License-Identifier: MIT
// gemm_bf16: D = relu(alpha * A * B + beta * C + bias) on bf16 tensor cores, for any M, N, K and
// all four operand layouts.
//
// One thread block computes a 128x128 tile of D (device/tile.cuh shows how). The accumulation order
// is what the contract in gemm_bf16.toml says: one f32 accumulator per output, k increasing, one
// m16n8k16 at a time. The epilogue uses explicit roundings only (and the file is compiled with
// -fmad=false), so the PTX fixes every bit.
#include "device/epilogue.cuh"
#include "device/main_loop.cuh"

namespace {

using namespace device;

// `kTransA`: A is stored [k, m]; `kTransB`: B is stored [n, k]. Batches beyond the grid's z
// dimension are looped over.
template <bool kTransA, bool kTransB, typename Out>
__device__ __forceinline__ void gemm(const void* a, const void* b, const void* c, const float* bias,
                                     void* d, int m, int n, int k, int batch, long long lda,
                                     long long ldb, long long ldc, long long ldd,
                                     long long stride_a, long long stride_b, long long stride_c,
                                     long long stride_d, float alpha, float beta, int bias_kind,
                                     int relu) {
  const Operand<Bf16> operand_a(a, lda, m, !kTransA), operand_b(b, ldb, n, kTransB);
  const Tile tile(m);
  const Place place(tile.first_row, tile.first_column, m, n);

  for (long long z = blockIdx.z; z < batch; z += gridDim.z) {
    Sums<Bf16, Bf16> sums;
    accumulate(sums, operand_a.at(z * stride_a), operand_b.at(z * stride_b), tile.first_row,
               tile.first_column, k);

    each_value(sums.x, [&](float& x, int, int) { x = __fmul_rn(alpha, x); });
    add_c<Out>(sums.x, beta, static_cast<const typename Out::Stored*>(c) + z * stride_c, ldc,
               place);
    add_bias(sums.x, {bias_kind, bias}, place);
    if (relu) apply_relu(sums.x);
    store<Out>(sums.x, static_cast<typename Out::Stored*>(d) + z * stride_d, ldd, place);

    release_stages();
  }
}

}  // namespace

// Entry points gemm_bf16_<layout>_<out>; the parameters are listed, in this order, in
// gemm_bf16.toml.
#define GEMM_BF16_ENTRY(name, trans_a, trans_b, Out)                                               \
  extern "C" __global__ void __launch_bounds__(kThreads) gemm_bf16_##name(                         \
      const void* a, const void* b, const void* c, const float* bias, void* d, int m, int n,       \
      int k, int batch, long long lda, long long ldb, long long ldc, long long ldd,                \
      long long stride_a, long long stride_b, long long stride_c, long long stride_d, float alpha, \
      float beta, int bias_kind, int relu) {                                                       \
    gemm<trans_a, trans_b, Out>(a, b, c, bias, d, m, n, k, batch, lda, ldb, ldc, ldd, stride_a,    \
                                stride_b, stride_c, stride_d, alpha, beta, bias_kind, relu);       \
  }

GEMM_BF16_ENTRY(nn_bf16, false, false, OutBf16)
GEMM_BF16_ENTRY(nt_bf16, false, true, OutBf16)
GEMM_BF16_ENTRY(tn_bf16, true, false, OutBf16)
GEMM_BF16_ENTRY(tt_bf16, true, true, OutBf16)
GEMM_BF16_ENTRY(nn_f32, false, false, OutF32)
GEMM_BF16_ENTRY(nt_f32, false, true, OutF32)
GEMM_BF16_ENTRY(tn_f32, true, false, OutF32)
GEMM_BF16_ENTRY(tt_f32, true, true, OutF32)
