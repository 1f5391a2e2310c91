// SPDX-License-Identifier: MIT
// gemm_nvfp4_tcgen05: D = alpha * A * B on the tensor cores of sm_100 with NVFP4 operands: e2m1,
// two in a byte, A stored [m, k] and B [n, k], and a ue4m3 scale per 16 of k in tiles of 128 rows
// and 4 blocks, which the instruction applies; `alpha` is the product of the two f32 scales per
// tensor. Any M and N, K in multiples of 64, rows that begin at multiples of 16 bytes.
//
// device/tcgen05_pipeline.cuh shows how a block works. A stage has 256 of k: four products of 64,
// and for each of them a tile of scales of A and of B, which one bulk copy brings to shared memory
// and the thread that multiplies copies to tensor memory, in order with the products.
#include "device/epilogue.cuh"
#include "device/tcgen05_pipeline.cuh"

namespace {

using namespace device;

constexpr int kStepK = 64;               // of a product
constexpr Bits32 kScaleTileBytes = 512;  // 128 rows, 4 blocks of 16
constexpr int kScaleTileColumns = 4;     // of tensor memory
constexpr int kStageProducts = 4;
constexpr Bits32 kStageScaleBytes = kStageProducts * kScaleTileBytes;  // of A; of B likewise

// A power of two that the sums and the scales of a stage fit in.
constexpr int kColumns = 512;

using Operand = BulkOperand<4, true>;

static_assert(Operand::kStageK == kStageProducts * kStepK);

template <typename Out>
__device__ __forceinline__ void gemm(const TensorMap& map_a, const TensorMap& map_b,
                                     const Bits8* scale_a, const Bits8* scale_b, void* d, int m,
                                     int n, int k, long long ldd, float alpha) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  TensorBlock block{{static_cast<Bits32>(__cvta_generic_to_shared(shared_memory))}};
  block.begin<kColumns>();
  const Ring& ring = block.ring;
  const Operand a{map_a}, b{map_b};
  const int products = k / kStepK;
  // Of the last stage, which may be shorter.
  const auto products_of = [&](int step) {
    return min(kStageProducts, products - step * kStageProducts);
  };
  const auto staged_scales = [&](const RingPosition& at) {
    return ring.first + Ring::kBytes + at.stage * 2 * kStageScaleBytes;
  };
  const auto copy = [&](const RingPosition& at, const TileWalk& walk, int step) {
    const Bits32 bytes = products_of(step) * kScaleTileBytes;
    ring.begin_copies(at, 2 * bytes);
    const Mbarrier full = ring.full(at.stage);
    a.copy(ring.a(at), full, walk.row(), step * Operand::kStageK);
    b.copy(ring.b(at), full, walk.column(), step * Operand::kStageK);
    const auto tile = [&](const Bits8* scales, int first) {
      const long long number = static_cast<long long>(first / kTensorRows) * products;
      return scales + (number + step * kStageProducts) * kScaleTileBytes;
    };
    load_bytes(staged_scales(at), tile(scale_a, walk.row()), bytes, full.address);
    load_bytes(staged_scales(at) + kStageScaleBytes, tile(scale_b, walk.column()), bytes,
               full.address);
  };
  const auto multiply = [&](const RingPosition& at, TensorAddress sums, int step) {
    const Bits64 tile_a = tensor_descriptor(Operand::descriptor(ring.a(at)));
    const Bits64 tile_b = tensor_descriptor(Operand::descriptor(ring.b(at)));
    const TensorAddress scales = block.memory + kTileSums * kTensorColumns;
#pragma unroll
    for (int i = 0; i < kStageProducts; ++i) {
      if (i >= products_of(step)) break;
      const TensorAddress of_a = scales + 2 * i * kScaleTileColumns;
      const TensorAddress of_b = of_a + kScaleTileColumns;
      const Bits32 from = staged_scales(at) + i * kScaleTileBytes;
      copy_scales(of_a, from);
      copy_scales(of_b, from + kStageScaleBytes);
      multiply_nvfp4(sums, tile_a + i * (Operand::kStep / 16), tile_b + i * (Operand::kStep / 16),
                     of_a, of_b, step > 0 || i > 0);
    }
  };
  const auto finish = [&](TensorSums& x, const TileWalk& walk) {
    const Place place(walk.row(), walk.column(), m, n, TensorPart(threadIdx.x));
    each_value(x, [&](float& value, int, int) { value = __fmul_rn(alpha, value); });
    store<Out>(x, d, ldd, place);
  };
  compute_tiles<kColumns>(block, TileWalk(m, n, 1), static_cast<int>(tiles(k, Operand::kStageK)),
                          copy, multiply, finish);
}

}  // namespace

// Entry points gemm_nvfp4_tcgen05_<out>; the parameters are listed, in this order, in
// gemm_nvfp4_tcgen05.toml.
#define GEMM_NVFP4_TCGEN05_ENTRY(name, Out)                                                    \
  extern "C" __global__ void __launch_bounds__(kTcgen05Threads, 1) gemm_nvfp4_tcgen05_##name(  \
      const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,        \
      const Bits8* scale_a, const Bits8* scale_b, void* d, int m, int n, int k, long long ldd, \
      float alpha) {                                                                           \
    gemm<Out>(map_a, map_b, scale_a, scale_b, d, m, n, k, ldd, alpha);                         \
  }

GEMM_NVFP4_TCGEN05_ENTRY(bf16, OutBf16)
GEMM_NVFP4_TCGEN05_ENTRY(f32, OutF32)
