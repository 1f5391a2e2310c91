// SPDX-License-Identifier: MIT
// The main loop: one 128x128 tile of A * B over a range of k, through the ring of stages.
#pragma once

#include "device/fragment_reader.cuh"
#include "device/sums.cuh"
#include "device/tile_loader.cuh"

namespace device {

// The dynamic shared memory of a kernel: kStages * kStageBytes.
__device__ __forceinline__ Bits32 shared_stages() {
  extern __shared__ __align__(128) unsigned char shared_memory[];
  return static_cast<Bits32>(__cvta_generic_to_shared(shared_memory));
}

// 6 ldmatrix, and what `sums` does with them.
template <int kHalf, typename Sums, typename A, typename B>
__device__ __forceinline__ void multiply_half(Sums& sums, const ReaderA<A>& reader_a,
                                              const ReaderB<B>& reader_b, Bits32 stage, int slice) {
  Bits32 a[4][4], b[2][4];
  reader_b.template read<0, kHalf>(b[0], stage + kOperandBytes);
  reader_b.template read<1, kHalf>(b[1], stage + kOperandBytes);
  reader_a.template read<0, kHalf>(a[0], stage);
  reader_a.template read<1, kHalf>(a[1], stage);
  reader_a.template read<2, kHalf>(a[2], stage);
  reader_a.template read<3, kHalf>(a[3], stage);
  sums.multiply(a, b, slice);
}

// Adds A * B over the first k elements of both operands to `sums`, for the tile whose first row and
// column are given (both below the operands' extents). For another range of k pass
// operand.from_k(first) and the range's length.
template <typename Sums, typename A, typename B>
__device__ __forceinline__ void accumulate(Sums& sums, const Operand<A>& operand_a,
                                           const Operand<B>& operand_b, int first_row,
                                           int first_column, int k) {
  static_assert(A::kBytes == B::kBytes);
  constexpr int kTileK = TileLoader<A>::kTileK;
  const Bits32 shared = shared_stages();
  const int thread = threadIdx.x;
  const WarpPart part(thread);
  const ReaderA<A> reader_a(operand_a, part.first_row, part.lane);
  const ReaderB<B> reader_b(operand_b, part.first_column, part.lane);
  TileLoader<A> load_a(operand_a, first_row, k, thread);
  TileLoader<B> load_b(operand_b, first_column, k, thread);
  const int steps = static_cast<int>(tiles(k, kTileK));

  // Stages 0 and 1 in flight. A group is committed even when it is empty, so that "all but the
  // newest kStages - 2" always means "the stage about to be read".
  int k_left = k;
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (k_left > 0) {
      load_a.load(shared + stage * kStageBytes, min(k_left, kTileK));
      load_b.load(shared + stage * kStageBytes + kOperandBytes, min(k_left, kTileK));
    }
    cp_async_commit();
    k_left -= kTileK;
  }

  Bits32 read = shared, write = shared + (kStages - 1) * kStageBytes;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    // After these, the current stage is complete for all warps, and all warps are done with the
    // stage to be filled.
    cp_async_wait<kStages - 2>();
    __syncthreads();
    if (k_left > 0) {
      load_a.load(write, min(k_left, kTileK));
      load_b.load(write + kOperandBytes, min(k_left, kTileK));
    }
    cp_async_commit();
    k_left -= kTileK;

    multiply_half<0>(sums, reader_a, reader_b, read, 2 * step);
    multiply_half<1>(sums, reader_a, reader_b, read, 2 * step + 1);

    write = read;
    read = read == shared + (kStages - 1) * kStageBytes ? shared : read + kStageBytes;
  }
}

// Before the same block calls accumulate again: nothing is in flight, and no warp reads a stage any
// more.
__device__ __forceinline__ void release_stages() {
  cp_async_wait<0>();
  __syncthreads();
}

}  // namespace device
