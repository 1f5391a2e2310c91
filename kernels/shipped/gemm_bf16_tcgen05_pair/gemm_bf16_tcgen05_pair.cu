// SPDX-License-Identifier: MIT
// gemm_bf16_tcgen05_pair: D = A * B by pairs of blocks on sm_100, A stored [m, k] and B [n, k]. Any
// M, N, K, as long as rows begin at multiples of 16 bytes.
//
// A pair computes tiles of 256x128. Each block copies its 128 rows of A and 64 of the columns of B;
// all bytes of a stage count at the barrier of the first block, which asks for the products. When
// they are done, both blocks are told that the stage is free, and later that the sums are complete;
// four warps of each store the block's own 128 rows:
//
//   full[s]        of the first block: one arrival, and 48 KiB from both
//   empty[s]       of both: the stage may be overwritten
//   sums_full      of both: all products of the tile are done
//   sums_empty     of the first block: one arrival of each of the eight warps
//
// One f32 accumulator per output, k increasing, one m256n128k16 at a time.
#include "device/bulk_pipeline.cuh"
#include "device/epilogue.cuh"
#include "device/tensor_pair.cuh"

namespace {

using namespace device;

constexpr int kFinishingWarps = 4, kCopyingWarp = 4, kProductWarp = 5;
constexpr int kThreadsOfBlock = 6 * 32;
constexpr int kColumnsOfBlock = kTensorColumns / 2;              // of B
constexpr Bits32 kBytesOfBlock = kRingOperandBytes + kBoxBytes;  // of a stage
constexpr int kColumns = kTensorColumns;  // of tensor memory: one set of sums

using Operand = BulkOperand<16, true>;

// What the blocks of a pair share, each at the same place of its memory. A stage of the ring has
// room for twice as much of B.
struct Pair {
  Ring ring;
  Bits32 rank;
  TensorAddress sums;

  __device__ __forceinline__ Mbarrier sums_full() const {
    return {ring.full(2 * kRingStages).address};
  }

  __device__ __forceinline__ Mbarrier sums_empty() const {
    return {sums_full().address + kMbarrierBytes};
  }

  __device__ __forceinline__ void begin() {
    const Bits32 address = sums_empty().address + kMbarrierBytes;
    rank = rank_in_pair();
    if (threadIdx.x == 0) {
      ring.init(1);
      sums_full().init(1);
      sums_empty().init(2 * kFinishingWarps);
      publish_mbarriers();
    }
    if (threadIdx.x / 32 == kProductWarp) allocate_pair_memory<kColumns>(address);
    before_handover();
    pair_barrier();
    after_handover();
    sums = load_shared(address);
  }
};

// Tiles of 256x128 that the pair computes, one after the other.
struct PairWalk {
  unsigned down, end, tile;

  __device__ __forceinline__ PairWalk(int m, int n)
      : down(tiles(m, kPairRows)), end(down * tiles(n, kTileN)), tile(blockIdx.x / 2) {}

  __device__ __forceinline__ bool done() const { return tile >= end; }

  __device__ __forceinline__ void advance() { tile += gridDim.x / 2; }

  // Of the block in the pair.
  __device__ __forceinline__ int row(Bits32 rank) const {
    return static_cast<int>(tile % down * kPairRows + rank * kTileM);
  }

  __device__ __forceinline__ int column() const { return static_cast<int>(tile / down) * kTileN; }
};

// The one thread of each block that copies.
__device__ __forceinline__ void copy_tiles(const Pair& pair, PairWalk walk, const TensorMap& map_a,
                                           const TensorMap& map_b, int steps) {
  RingPosition at;
  for (; !walk.done(); walk.advance()) {
    const int row = walk.row(pair.rank);
    const int column = walk.column() + static_cast<int>(pair.rank) * kColumnsOfBlock;
    for (int step = 0; step < steps; ++step, at.advance()) {
      const int k = step * Operand::kStageK;
      pair.ring.empty(at.stage).wait(at.parity ^ 1);
      const Mbarrier full = pair.ring.full(at.stage);
      if (pair.rank == 0) full.arrive_and_expect(2 * kBytesOfBlock);
      const Bits32 counts = of_first_block(full);
      load_box_of_pair(map_a, pair.ring.a(at), counts, k, row);
      load_box_of_pair(map_a, pair.ring.a(at) + kBoxBytes, counts, k, row + kBoxRows);
      load_box_of_pair(map_b, pair.ring.b(at), counts, k, column);
    }
  }
}

// The one thread of the first block that asks for products.
__device__ __forceinline__ void multiply_tiles(const Pair& pair, PairWalk walk, int steps) {
  RingPosition at;
  for (Bits32 parity = 0; !walk.done(); walk.advance(), parity ^= 1) {
    pair.sums_empty().wait(parity ^ 1);
    after_handover();
    for (int step = 0; step < steps; ++step, at.advance()) {
      pair.ring.wait_for_copies(at);
      const Bits64 a = tensor_descriptor(Operand::descriptor(pair.ring.a(at)));
      const Bits64 b = tensor_descriptor(Operand::descriptor(pair.ring.b(at)));
#pragma unroll
      for (int i = 0; i < kRingKBytes / 32; ++i)
        multiply_pair(pair.sums, a + i * (Operand::kStep / 16), b + i * (Operand::kStep / 16),
                      step > 0 || i > 0);
      commit_pair(pair.ring.empty(at.stage));
    }
    commit_pair(pair.sums_full());
  }
}

__device__ __forceinline__ void finish_tiles(const Pair& pair, PairWalk walk, int steps, void* d,
                                             int m, int n, long long ldd) {
  for (Bits32 parity = 0; !walk.done(); walk.advance(), parity ^= 1) {
    TensorSums x = {};
    pair.sums_full().wait(parity);
    after_handover();
    if (steps > 0) load_sums(x, pair.sums);
    before_handover();
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive_at_first_block(pair.sums_empty());
    store<OutBf16>(x, d, ldd,
                   Place(walk.row(pair.rank), walk.column(), m, n, TensorPart(threadIdx.x)));
  }
}

}  // namespace

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(kThreadsOfBlock, 1)
    gemm_bf16_tcgen05_pair(const __grid_constant__ TensorMap map_a,
                           const __grid_constant__ TensorMap map_b, void* d, int m, int n, int k,
                           long long ldd) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  Pair pair{{static_cast<Bits32>(__cvta_generic_to_shared(shared_memory))}};
  pair.begin();
  const PairWalk walk(m, n);
  const int steps = static_cast<int>(tiles(k, Operand::kStageK));
  const int warp = threadIdx.x / 32;
  if (warp == kCopyingWarp) {
    if (is_elected()) copy_tiles(pair, walk, map_a, map_b, steps);
  } else if (warp == kProductWarp) {
    if (pair.rank == 0 && is_elected()) multiply_tiles(pair, walk, steps);
  } else {
    finish_tiles(pair, walk, steps, d, m, n, ldd);
  }
  __syncwarp();
  before_handover();
  pair_barrier();
  if (warp == kProductWarp) free_pair_memory<kColumns>(pair.sums);
}
