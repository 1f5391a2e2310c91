// SPDX-License-Identifier: MIT
// gemm_bf16_tcgen05: D = relu(alpha * A * B + beta * C + bias) on the tensor cores of sm_100, for
// any M, N, K and all four operand layouts, as long as bulk copies can read the operands: rows and
// matrices begin at multiples of 16 bytes.
//
// device/tcgen05_pipeline.cuh shows how a block works. The accumulation order is what the contract
// in gemm_bf16_tcgen05.toml says: one f32 accumulator per output, k increasing, one m128n128k16 at
// a time; beyond k, bulk copies give zeros.
#include "device/epilogue.cuh"
#include "device/tcgen05_pipeline.cuh"

namespace {

using namespace device;

// Where a step finds what it needs besides the operands.
struct Epilogue {
  const void* c;
  const float* bias;
  void* d;
  long long ldc, ldd, stride_c, stride_d;
  float alpha, beta;
  int bias_kind, relu;
};

// A or B that all matrices of a batch share has one matrix in its map.
template <bool kAAlongK, bool kBAlongK, typename Out>
__device__ __forceinline__ void gemm(const TensorMap& map_a, const TensorMap& map_b, int m, int n,
                                     int k, int batch, int matrices_a, int matrices_b,
                                     const Epilogue& epilogue) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  constexpr int kColumns = kTileSums * kTensorColumns;
  TensorBlock block{{static_cast<Bits32>(__cvta_generic_to_shared(shared_memory))}};
  block.begin<kColumns>();
  const Ring& ring = block.ring;
  using A = BulkOperand<16, kAAlongK>;
  using B = BulkOperand<16, kBAlongK>;
  const A a{map_a};
  const B b{map_b};
  const auto copy = [&](const RingPosition& at, const TileWalk& walk, int step) {
    ring.begin_copies(at);
    a.copy(ring.a(at), ring.full(at.stage), walk.row(), step * A::kStageK,
           matrices_a > 1 ? walk.matrix() : 0);
    b.copy(ring.b(at), ring.full(at.stage), walk.column(), step * B::kStageK,
           matrices_b > 1 ? walk.matrix() : 0);
  };
  const auto multiply = [&](const RingPosition& at, TensorAddress sums, int step) {
    constexpr Bits32 kProduct = kProductOf<TensorBf16, TensorBf16, !kAAlongK, !kBAlongK>;
    const Bits64 tile_a = tensor_descriptor(A::descriptor(ring.a(at)));
    const Bits64 tile_b = tensor_descriptor(B::descriptor(ring.b(at)));
#pragma unroll
    for (int i = 0; i < kRingKBytes / 32; ++i)
      multiply_f16(sums, tile_a + i * (A::kStep / 16), tile_b + i * (B::kStep / 16), kProduct,
                   step > 0 || i > 0);
  };
  const auto finish = [&](TensorSums& x, const TileWalk& walk) {
    const Place place(walk.row(), walk.column(), m, n, TensorPart(threadIdx.x));
    const long long matrix = walk.matrix();
    each_value(x, [&](float& value, int, int) { value = __fmul_rn(epilogue.alpha, value); });
    add_c<Out>(x, epilogue.beta,
               static_cast<const typename Out::Stored*>(epilogue.c) + matrix * epilogue.stride_c,
               epilogue.ldc, place);
    add_bias(x, {epilogue.bias_kind, epilogue.bias}, place);
    if (epilogue.relu) apply_relu(x);
    store<Out>(x, static_cast<typename Out::Stored*>(epilogue.d) + matrix * epilogue.stride_d,
               epilogue.ldd, place);
  };
  compute_tiles<kColumns>(block, TileWalk(m, n, batch), static_cast<int>(tiles(k, A::kStageK)),
                          copy, multiply, finish);
}

}  // namespace

// Entry points gemm_bf16_tcgen05_<layout>_<out>; the parameters are listed, in this order, in
// gemm_bf16_tcgen05.toml.
#define GEMM_BF16_TCGEN05_ENTRY(name, a_along_k, b_along_k, Out)                                 \
  extern "C" __global__ void __launch_bounds__(kTcgen05Threads, 1) gemm_bf16_tcgen05_##name(     \
      const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,          \
      const void* c, const float* bias, void* d, int m, int n, int k, int batch, int matrices_a, \
      int matrices_b, long long ldc, long long ldd, long long stride_c, long long stride_d,      \
      float alpha, float beta, int bias_kind, int relu) {                                        \
    gemm<a_along_k, b_along_k, Out>(                                                             \
        map_a, map_b, m, n, k, batch, matrices_a, matrices_b,                                    \
        {c, bias, d, ldc, ldd, stride_c, stride_d, alpha, beta, bias_kind, relu});               \
  }

GEMM_BF16_TCGEN05_ENTRY(nn_bf16, true, false, OutBf16)
GEMM_BF16_TCGEN05_ENTRY(nt_bf16, true, true, OutBf16)
GEMM_BF16_TCGEN05_ENTRY(tn_bf16, false, false, OutBf16)
GEMM_BF16_TCGEN05_ENTRY(tt_bf16, false, true, OutBf16)
GEMM_BF16_TCGEN05_ENTRY(nn_f32, true, false, OutF32)
GEMM_BF16_TCGEN05_ENTRY(nt_f32, true, true, OutF32)
GEMM_BF16_TCGEN05_ENTRY(tn_f32, false, false, OutF32)
GEMM_BF16_TCGEN05_ENTRY(tt_f32, false, true, OutF32)
