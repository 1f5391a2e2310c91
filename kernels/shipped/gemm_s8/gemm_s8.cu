// SPDX-License-Identifier: MIT
// gemm_s8: D = relu(scale_a * scale_b * ((A - zero_a) * (B - zero_b)) + bias), in f32 or a narrower
// format, as s8 with scale_d and zero_d, or the sums themselves as s32. A is s8 or u8, B is s8; any
// M, N, K and all four operand layouts.
//
// One thread block computes a 128x128 tile of D (device/tile.cuh shows how). Sums are exact modulo
// 2^32; the zero points are taken out of them afterwards (device/zero_point_sums.cuh), and only
// then does a sum become an f32. Formats of operands are entries of their own, everything else is
// chosen at run time. Needs sm_80.
#include "device/epilogue.cuh"
#include "device/main_loop.cuh"
#include "device/zero_point_sums.cuh"

namespace {

using namespace device;

// `a_along_k`: A is stored [m, k]; `b_along_k`: B is stored [n, k]. Absent tensors are null.
template <typename A, typename B>
__device__ __forceinline__ void gemm(const void* a, const void* b, const float* scale_a,
                                     const float* scale_b, const float* scale_d, const float* bias,
                                     void* d, int m, int n, int k, int batch, long long lda,
                                     long long ldb, long long ldd, long long stride_a,
                                     long long stride_b, long long stride_d, int a_along_k,
                                     int b_along_k, int scale_a_kind, int scale_b_kind, int zero_a,
                                     int zero_b, int zero_d, int bias_kind, int relu, int out) {
  const Operand<A> operand_a(a, lda, m, a_along_k);
  const Operand<B> operand_b(b, ldb, n, b_along_k);
  const Tile tile(m);
  const Place place(tile.first_row, tile.first_column, m, n);

  for (long long z = blockIdx.z; z < batch; z += gridDim.z) {
    ZeroPointSums<A, B> sums(zero_a, zero_b);
    accumulate(sums, operand_a.at(z * stride_a), operand_b.at(z * stride_b), tile.first_row,
               tile.first_column, k);
    sums.correct(k);

    if (out == OutS32::kCode) {
      store<OutS32>(sums.x, static_cast<int*>(d) + z * stride_d, ldd, place);
    } else {
      Fragments<float> x;
      convert(x, sums.x);
      scale(x, {scale_a_kind, scale_a}, place);
      scale(x, {scale_b_kind, scale_b}, place);
      add_bias(x, {bias_kind, bias}, place);
      if (relu) apply_relu(x);
      scale(x, {scale_d ? kPerTensor : kNone, scale_d}, place);
      if (zero_d != 0) add_zero_point(x, zero_d);
      store_as<OutBf16, OutF16, OutF32, OutS8>(out, x, d, z * stride_d, ldd, place);
    }

    release_stages();
  }
}

}  // namespace

// Entry points gemm_s8_<a>_<b>; the parameters are listed, in this order, in gemm_s8.toml.
#define GEMM_S8_ENTRY(name, A, B)                                                                 \
  extern "C" __global__ void __launch_bounds__(kThreads) gemm_s8_##name(                          \
      const void* a, const void* b, const float* scale_a, const float* scale_b,                   \
      const float* scale_d, const float* bias, void* d, int m, int n, int k, int batch,           \
      long long lda, long long ldb, long long ldd, long long stride_a, long long stride_b,        \
      long long stride_d, int a_along_k, int b_along_k, int scale_a_kind, int scale_b_kind,       \
      int zero_a, int zero_b, int zero_d, int bias_kind, int relu, int out) {                     \
    gemm<A, B>(a, b, scale_a, scale_b, scale_d, bias, d, m, n, k, batch, lda, ldb, ldd, stride_a, \
               stride_b, stride_d, a_along_k, b_along_k, scale_a_kind, scale_b_kind, zero_a,      \
               zero_b, zero_d, bias_kind, relu, out);                                             \
  }

GEMM_S8_ENTRY(s8_s8, S8, S8)
GEMM_S8_ENTRY(u8_s8, U8, S8)
