// SPDX-License-Identifier: MIT
// How operands reach 128x128 tiles of D by bulk copies: one thread of a block has nothing to do but
// to ask for them, and runs ahead of those that multiply as far as a ring of four stages in shared
// memory allows:
//
//   full[s]    one arrival, and the bytes: the stage holds 128 bytes of k of A and B
//   empty[s]   an arrival of everyone who multiplies: the stage may be overwritten
//
// A stage is the tile of A, then the tile of B, each as two boxes of 64 rows of 128 bytes.
#pragma once

#include "device/bulk_copy.cuh"
#include "device/mbarrier.cuh"
#include "device/tile.cuh"

namespace device {

constexpr int kRingStages = 4;
constexpr int kRingKBytes = 128;  // of k in a stage: the width of the swizzle
constexpr int kBoxRows = 64;
constexpr Bits32 kBoxBytes = kBoxRows * kRingKBytes;
constexpr Bits32 kRingOperandBytes = 2 * kBoxBytes;
constexpr Bits32 kRingStageBytes = 2 * kRingOperandBytes;
constexpr Bits32 kRingBytes = kRingStages * kRingStageBytes;
constexpr Bits32 kEightRows = 8 * kRingKBytes;  // after which the swizzle repeats

// True in one lane of a warp, all of which call.
__device__ __forceinline__ bool is_elected() {
  Bits32 elected;
  asm volatile(
      "{\n"
      ".reg .pred elected;\n"
      "elect.sync _|elected, 0xffffffff;\n"
      "selp.b32 %0, 1, 0, elected;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}

// One of several stages that are used in turn, and the parity of the phase its barriers are in.
template <int kStages>
struct StagePosition {
  int stage = 0;
  Bits32 parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

using RingPosition = StagePosition<kRingStages>;

// The stages, aligned to the swizzle, then the barriers; kBytes leaves what follows aligned, too.
struct Ring {
  static constexpr Bits32 kBytes = kRingBytes + kEightRows;

  Bits32 first;

  __device__ __forceinline__ Bits32 a(const RingPosition& at) const {
    return first + at.stage * kRingStageBytes;
  }

  __device__ __forceinline__ Bits32 b(const RingPosition& at) const {
    return a(at) + kRingOperandBytes;
  }

  __device__ __forceinline__ Mbarrier full(int stage) const {
    return {first + kRingBytes + stage * kMbarrierBytes};
  }

  __device__ __forceinline__ Mbarrier empty(int stage) const { return full(kRingStages + stage); }

  // By one thread, before publish_mbarriers(): `leaving` arrivals leave a stage.
  __device__ __forceinline__ void init(int leaving) const {
    for (int stage = 0; stage < kRingStages; ++stage) {
      full(stage).init(1);
      empty(stage).init(leaving);
    }
  }

  // The stage is free, and what is copied to it now counts, with `more` bytes beside the operands.
  // The first time round nobody has to leave it: hence the other parity.
  __device__ __forceinline__ void begin_copies(const RingPosition& at, Bits32 more = 0) const {
    empty(at.stage).wait(at.parity ^ 1);
    full(at.stage).arrive_and_expect(kRingStageBytes + more);
  }

  __device__ __forceinline__ void wait_for_copies(const RingPosition& at) const {
    full(at.stage).wait(at.parity);
  }

  // By every warp whose products of this stage are done.
  __device__ __forceinline__ void leave(const RingPosition& at) const {
    if (threadIdx.x % 32 == 0) empty(at.stage).arrive();
  }
};

// An operand in shared memory: rows of 128 bytes whose chunks of 16 are XOR-swizzled, in groups of
// 8 rows, `stride` bytes from one group to the next. Rows run along k, and `leading` means nothing;
// or across k, and `leading` bytes lie between one row of 128 bytes and its continuation.
__device__ __forceinline__ Bits64 operand_descriptor(Bits32 shared, Bits32 leading, Bits32 stride) {
  constexpr Bits64 kSwizzle128 = 1;
  return (shared & 0x3ffff) >> 4 | static_cast<Bits64>(leading >> 4) << 16 |
         static_cast<Bits64>(stride >> 4) << 32 | kSwizzle128 << 62;
}

// An operand of `kElementBits`: [rows, k] in memory where `kAlongK`, else [k, rows], for rows of A
// or columns of B. Its map has boxes of 64 rows and 128 bytes of k, or of 64 k and 128 bytes.
template <int kElementBits, bool kAlongK>
struct BulkOperand {
  static constexpr int kStageK = kRingKBytes * 8 / kElementBits;
  // In a stage, from one step of 32 bytes of k to the next: along a row, or 16 rows.
  static constexpr Bits32 kStep = kAlongK ? 32 : 2 * kEightRows;
  static_assert(kAlongK || kElementBits == 16, "the tensor core turns 16-bit types only");

  const TensorMap& map;

  // A tile of 128 rows from `row` on, to a stage; `matrix` of a batch, where the map has one.
  template <typename... Matrix>
  __device__ __forceinline__ void copy(Bits32 to, Mbarrier barrier, int row, int k,
                                       Matrix... matrix) const {
#pragma unroll
    for (int box = 0; box < 2; ++box, to += kBoxBytes, row += kBoxRows) {
      if constexpr (kAlongK) {
        load_box(map, to, barrier.address, k, row, matrix...);
      } else {
        load_box(map, to, barrier.address, row, k, matrix...);
      }
    }
  }

  // The tile that begins with this box, at the first step; add kStep / 16 for each that follows.
  __device__ __forceinline__ static Bits64 descriptor(Bits32 box) {
    return operand_descriptor(box, kAlongK ? 16 : kBoxBytes, kEightRows);
  }
};

// The tiles of D this block computes, one after the other: down the columns of a matrix first, then
// the next matrix of the batch. So the copies of a tile's operands overlap the stores of the last.
struct TileWalk {
  unsigned down, per_matrix, end, tile;

  __device__ __forceinline__ TileWalk(int m, int n, int batch)
      : down(tiles(m, kTileM)),
        per_matrix(down * tiles(n, kTileN)),
        end(per_matrix * batch),
        tile(blockIdx.x) {}

  __device__ __forceinline__ bool done() const { return tile >= end; }

  __device__ __forceinline__ void advance() { tile += gridDim.x; }

  __device__ __forceinline__ int row() const {
    return static_cast<int>(tile % per_matrix % down) * kTileM;
  }

  __device__ __forceinline__ int column() const {
    return static_cast<int>(tile % per_matrix / down) * kTileN;
  }

  __device__ __forceinline__ int matrix() const { return static_cast<int>(tile / per_matrix); }
};

}  // namespace device
