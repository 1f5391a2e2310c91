// SPDX-License-Identifier: MIT
// gemm_fp8_hopper: D = sum over blocks of 128 of k of scale_a * scale_b * (A * B), e4m3 operands
// stored [m, k] and [n, k], one f32 scale per 1x128 of A and per 128x128 of B, on Hopper's own
// tensor core instruction. Any M, N, K, as long as rows begin at multiples of 16 bytes.
//
// device/hopper_pipeline.cuh shows how a block works. A stage holds 128 of k: the tensor core,
// which keeps only 14 bits here, adds these up, four m64n128k32 in a fresh accumulator, and f32
// takes over from there as in gemm_fp8_blockwise.
#include "device/epilogue.cuh"
#include "device/hopper_pipeline.cuh"

namespace {

using namespace device;

constexpr int kBlock = 128;  // of k, and of n in B

using Operand = BulkOperand<8, true>;

static_assert(Operand::kStageK == kBlock && kTileN == kBlock);

// The one thread that copies.
__device__ __forceinline__ void copy_operands(const Ring& ring, TileWalk walk, const Operand& a,
                                              const Operand& b, int blocks) {
  prefetch(a.map);
  prefetch(b.map);
  RingPosition at;
  for (; !walk.done(); walk.advance()) {
    for (int block = 0; block < blocks; ++block, at.advance()) {
      ring.begin_copies(at);
      a.copy(ring.a(at), ring.full(at.stage), walk.row(), block * kBlock);
      b.copy(ring.b(at), ring.full(at.stage), walk.column(), block * kBlock);
    }
  }
}

// products = A * B over the block of k that a stage holds.
__device__ __forceinline__ void multiply_block(WarpgroupSums& products, const Ring& ring,
                                               const RingPosition& at) {
  const Bits32 box = threadIdx.x / kWarpgroupThreads * kBoxBytes;  // of A
  const Bits64 a = Operand::descriptor(ring.a(at) + box), b = Operand::descriptor(ring.b(at));
  constexpr Bits32 kStep = Operand::kStep / 16;
  ring.wait_for_copies(at);
  warpgroup_fence(products);
  multiply_e4m3<false>(products, a, b);
#pragma unroll
  for (int i = 1; i < kRingKBytes / 32; ++i)
    multiply_e4m3<true>(products, a + i * kStep, b + i * kStep);
  warpgroup_commit();
  warpgroup_wait<0>(products);
  ring.leave(at);
}

// The scales of the two rows a lane has, and of the tile's columns.
struct BlockScales {
  float row[2], column;

  __device__ __forceinline__ BlockScales(const float* scale_a, const float* scale_b, int block,
                                         int blocks, int blocks_n, const Place& place,
                                         int first_column)
      : column(scale_b[static_cast<long long>(block) * blocks_n + first_column / kBlock]) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
      row[i] = 8 * i < place.rows ? scale_a[(place.row + 8 * i) * blocks + block] : 0.0f;
  }
};

// sum = fma(product, scale_a * scale_b, sum); the product of the scales is rounded.
__device__ __forceinline__ void promote(WarpgroupSums& sums, const WarpgroupSums& products,
                                        const BlockScales& scales) {
  const float scale[2] = {__fmul_rn(scales.row[0], scales.column),
                          __fmul_rn(scales.row[1], scales.column)};
#pragma unroll
  for (int j = 0; j < 16; ++j)
#pragma unroll
    for (int v = 0; v < 4; ++v)
      sums[0][j][v] = __fmaf_rn(products[0][j][v], scale[v / 2], sums[0][j][v]);
}

template <typename Out>
__device__ __forceinline__ void gemm(const TensorMap& map_a, const TensorMap& map_b,
                                     const float* scale_a, const float* scale_b, void* d, int m,
                                     int n, int k, long long ldd) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  const Ring ring = hopper_ring(shared_memory);
  TileWalk walk(m, n, 1);
  const int blocks = static_cast<int>(tiles(k, kBlock));
  const int blocks_n = static_cast<int>(tiles(n, kBlock));

  if (threadIdx.x / kWarpgroupThreads == kMultiplying) {
    keep_registers<kCopyingRegisters>();
    if (threadIdx.x / 32 == kMultiplying * kWarpgroupThreads / 32 && is_elected())
      copy_operands(ring, walk, Operand{map_a}, Operand{map_b}, blocks);
    return;
  }

  take_registers<kMultiplyingRegisters>();
  for (RingPosition at; !walk.done(); walk.advance()) {
    const Place place(walk.row(), walk.column(), m, n, WarpgroupPart(threadIdx.x));
    WarpgroupSums sums = {}, products = {};
#pragma unroll 1
    for (int block = 0; block < blocks; ++block, at.advance()) {
      const BlockScales scales(scale_a, scale_b, block, blocks, blocks_n, place, walk.column());
      multiply_block(products, ring, at);
      promote(sums, products, scales);
    }
    store<Out>(sums, d, ldd, place);
  }
}

}  // namespace

// Entry points gemm_fp8_hopper_<out>; the parameters are listed, in this order, in
// gemm_fp8_hopper.toml.
#define GEMM_FP8_HOPPER_ENTRY(name, Out)                                                         \
  extern "C" __global__ void __launch_bounds__(kHopperThreads, 1) gemm_fp8_hopper_##name(        \
      const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,          \
      const float* scale_a, const float* scale_b, void* d, int m, int n, int k, long long ldd) { \
    gemm<Out>(map_a, map_b, scale_a, scale_b, d, m, n, k, ldd);                                  \
  }

GEMM_FP8_HOPPER_ENTRY(bf16, OutBf16)
GEMM_FP8_HOPPER_ENTRY(f32, OutF32)
