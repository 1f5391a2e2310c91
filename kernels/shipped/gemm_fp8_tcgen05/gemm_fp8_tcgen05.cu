// SPDX-License-Identifier: MIT
// gemm_fp8_tcgen05: D = relu(scale_a * scale_b * (A * B) + bias) on the tensor cores of sm_100, for
// all four pairs of e4m3 and e5m2, A stored [m, k] and B [n, k], scales per tensor or per row of A
// and column of B. Any M, N, K, as long as rows begin at multiples of 16 bytes.
//
// device/tcgen05_pipeline.cuh shows how a block works. One f32 accumulator per output, k
// increasing, one m128n128k32 at a time; beyond k, bulk copies give zeros.
#include "device/epilogue.cuh"
#include "device/tcgen05_pipeline.cuh"

namespace {

using namespace device;

// What a step finds besides the operands. Absent tensors are null.
struct Epilogue {
  const float *scale_a, *scale_b, *bias;
  void* d;
  long long ldd;
  int scale_a_kind, scale_b_kind, bias_kind, relu, out;
};

template <typename A, typename B>
__device__ __forceinline__ void gemm(const TensorMap& map_a, const TensorMap& map_b, int m, int n,
                                     int k, const Epilogue& epilogue) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  constexpr int kColumns = kTileSums * kTensorColumns;
  TensorBlock block{{static_cast<Bits32>(__cvta_generic_to_shared(shared_memory))}};
  block.begin<kColumns>();
  const Ring& ring = block.ring;
  using Operand = BulkOperand<8, true>;
  const Operand a{map_a}, b{map_b};
  const auto copy = [&](const RingPosition& at, const TileWalk& walk, int step) {
    ring.begin_copies(at);
    a.copy(ring.a(at), ring.full(at.stage), walk.row(), step * Operand::kStageK);
    b.copy(ring.b(at), ring.full(at.stage), walk.column(), step * Operand::kStageK);
  };
  const auto multiply = [&](const RingPosition& at, TensorAddress sums, int step) {
    const Bits64 tile_a = tensor_descriptor(Operand::descriptor(ring.a(at)));
    const Bits64 tile_b = tensor_descriptor(Operand::descriptor(ring.b(at)));
#pragma unroll
    for (int i = 0; i < kRingKBytes / 32; ++i)
      multiply_f8(sums, tile_a + i * (Operand::kStep / 16), tile_b + i * (Operand::kStep / 16),
                  kProductOf<A, B>, step > 0 || i > 0);
  };
  const auto finish = [&](TensorSums& x, const TileWalk& walk) {
    const Place place(walk.row(), walk.column(), m, n, TensorPart(threadIdx.x));
    scale(x, {epilogue.scale_a_kind, epilogue.scale_a}, place);
    scale(x, {epilogue.scale_b_kind, epilogue.scale_b}, place);
    add_bias(x, {epilogue.bias_kind, epilogue.bias}, place);
    if (epilogue.relu) apply_relu(x);
    store_as<OutBf16, OutF16, OutF32>(epilogue.out, x, epilogue.d, 0, epilogue.ldd, place);
  };
  compute_tiles<kColumns>(block, TileWalk(m, n, 1), static_cast<int>(tiles(k, Operand::kStageK)),
                          copy, multiply, finish);
}

}  // namespace

// Entry points gemm_fp8_tcgen05_<a>_<b>; the parameters are listed, in this order, in
// gemm_fp8_tcgen05.toml.
#define GEMM_FP8_TCGEN05_ENTRY(name, A, B)                                                         \
  extern "C" __global__ void __launch_bounds__(kTcgen05Threads, 1) gemm_fp8_tcgen05_##name(        \
      const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,            \
      const float* scale_a, const float* scale_b, const float* bias, void* d, int m, int n, int k, \
      long long ldd, int scale_a_kind, int scale_b_kind, int bias_kind, int relu, int out) {       \
    gemm<A, B>(                                                                                    \
        map_a, map_b, m, n, k,                                                                     \
        {scale_a, scale_b, bias, d, ldd, scale_a_kind, scale_b_kind, bias_kind, relu, out});       \
  }

GEMM_FP8_TCGEN05_ENTRY(e4m3_e4m3, TensorE4m3, TensorE4m3)
GEMM_FP8_TCGEN05_ENTRY(e4m3_e5m2, TensorE4m3, TensorE5m2)
GEMM_FP8_TCGEN05_ENTRY(e5m2_e4m3, TensorE5m2, TensorE4m3)
GEMM_FP8_TCGEN05_ENTRY(e5m2_e5m2, TensorE5m2, TensorE5m2)
