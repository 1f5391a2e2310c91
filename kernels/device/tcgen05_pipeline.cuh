// SPDX-License-Identifier: MIT
// How a block of six warps computes 128x128 tiles of D with tcgen05. One thread asks for bulk
// copies of the operands (bulk_pipeline.cuh), one thread of another warp for products, and four
// warps finish the sums. Two sets of sums in tensor memory are used in turn, so that the products
// of a tile run while the one before is finished:
//
//   full[s], empty[s]    of the ring: a stage is left once the products that read it are done
//   sums_full[t]         one arrival: all products of the tile are done
//   sums_empty[t]        one arrival of each of the four warps: the sums are in registers
#pragma once

#include "device/bulk_pipeline.cuh"
#include "device/tensor_memory.cuh"

namespace device {

constexpr int kFinishingWarps = 4, kCopyingWarp = 4, kProductWarp = 5;
constexpr int kTcgen05Threads = 6 * 32;
constexpr int kTileSums = 2;  // sets of sums

using SumsPosition = StagePosition<kTileSums>;

// Where a block keeps what its warps share. The barriers of the sums and the address of tensor
// memory lie behind those of the ring.
struct TensorBlock {
  Ring ring;
  TensorAddress memory;

  __device__ __forceinline__ Mbarrier sums_full(int stage) const {
    return {ring.full(2 * kRingStages).address + stage * kMbarrierBytes};
  }

  __device__ __forceinline__ Mbarrier sums_empty(int stage) const {
    return sums_full(kTileSums + stage);
  }

  __device__ __forceinline__ TensorAddress sums(const SumsPosition& at) const {
    return memory + at.stage * kTensorColumns;
  }

  // By all threads of the block, before anything else.
  template <int kColumns>
  __device__ __forceinline__ void begin() {
    const Bits32 address = sums_full(2 * kTileSums).address;
    if (threadIdx.x == 0) {
      ring.init(1);
      for (int stage = 0; stage < kTileSums; ++stage) {
        sums_full(stage).init(1);
        sums_empty(stage).init(kFinishingWarps);
      }
      publish_mbarriers();
    }
    if (threadIdx.x / 32 == kProductWarp) allocate_tensor_memory<kColumns>(address);
    before_handover();
    __syncthreads();
    after_handover();
    memory = load_shared(address);
  }

  // copy(at, walk, step) asks for what the stage is to hold.
  template <typename Copy>
  __device__ __forceinline__ void copy_tiles(TileWalk walk, int steps, const Copy& copy) const {
    RingPosition at;
    for (; !walk.done(); walk.advance())
      for (int step = 0; step < steps; ++step, at.advance()) copy(at, walk, step);
  }

  // multiply(at, sums, step) asks for the products of a stage.
  template <typename Multiply>
  __device__ __forceinline__ void multiply_tiles(TileWalk walk, int steps,
                                                 const Multiply& multiply) const {
    RingPosition at;
    for (SumsPosition tile; !walk.done(); walk.advance(), tile.advance()) {
      sums_empty(tile.stage).wait(tile.parity ^ 1);
      after_handover();
      for (int step = 0; step < steps; ++step, at.advance()) {
        ring.wait_for_copies(at);
        multiply(at, sums(tile), step);
        tensor_commit(ring.empty(at.stage));
      }
      tensor_commit(sums_full(tile.stage));
    }
  }

  // finish(x, walk) has the sums of a tile, 0 where there are no products.
  template <typename Finish>
  __device__ __forceinline__ void finish_tiles(TileWalk walk, int steps,
                                               const Finish& finish) const {
    for (SumsPosition tile; !walk.done(); walk.advance(), tile.advance()) {
      TensorSums x = {};
      sums_full(tile.stage).wait(tile.parity);
      after_handover();
      if (steps > 0) load_sums(x, sums(tile));
      before_handover();
      __syncwarp();
      if (threadIdx.x % 32 == 0) sums_empty(tile.stage).arrive();
      finish(x, walk);
    }
  }
};

// All tiles of a block. `kColumns` of tensor memory, a power of two: the sums, and what else the
// products need.
template <int kColumns, typename Copy, typename Multiply, typename Finish>
__device__ __forceinline__ void compute_tiles(TensorBlock& block, const TileWalk& walk, int steps,
                                              const Copy& copy, const Multiply& multiply,
                                              const Finish& finish) {
  const int warp = threadIdx.x / 32;
  if (warp == kCopyingWarp) {
    if (is_elected()) block.copy_tiles(walk, steps, copy);
  } else if (warp == kProductWarp) {
    if (is_elected()) block.multiply_tiles(walk, steps, multiply);
  } else {
    block.finish_tiles(walk, steps, finish);
  }
  __syncwarp();
  before_handover();
  __syncthreads();
  if (warp == kProductWarp) free_tensor_memory<kColumns>(block.memory);
}

}  // namespace device
