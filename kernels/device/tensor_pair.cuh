// SPDX-License-Identifier: MIT
// Tensor cores of two blocks that work as one (tcgen05 with .cta_group::2): a cluster of two. A
// product has 256 rows; each block has 128 rows of A and of the sums, and half of the columns of B,
// in its own memory. The first block of the pair asks for the products of both. Needs sm_100a.
#pragma once

#include "device/bulk_copy.cuh"
#include "device/tensor_memory.cuh"

namespace device {

constexpr int kPairRows = 256;

// 0 in the block that asks for products.
__device__ __forceinline__ Bits32 rank_in_pair() {
  Bits32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of both blocks. What they wrote before is seen behind it.
__device__ __forceinline__ void pair_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

// The barrier at this place of shared memory in the first block, as both blocks address it.
__device__ __forceinline__ Bits32 of_first_block(Mbarrier barrier) {
  Bits32 address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(address) : "r"(barrier.address));
  return address;
}

__device__ __forceinline__ void arrive_at_first_block(Mbarrier barrier) {
  asm volatile(
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(of_first_block(barrier))
      : "memory");
}

// In both blocks, as allocate_tensor_memory() and free_tensor_memory().
template <int kColumns>
__device__ __forceinline__ void allocate_pair_memory(Bits32 shared) {
  asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared),
               "n"(kColumns)
               : "memory");
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
}

template <int kColumns>
__device__ __forceinline__ void free_pair_memory(TensorAddress first) {
  asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(first), "n"(kColumns));
}

// A box to the shared memory of this block; the barrier that counts its bytes may be the other's.
__device__ __forceinline__ void load_box_of_pair(const TensorMap& map, Bits32 shared,
                                                 Bits32 barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile"
      ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

// The product of a tile of 256x128 in bf16, by the first block.
constexpr Bits32 kPairProduct = 1u << 4 | TensorBf16::kCode << 7 | TensorBf16::kCode << 10 |
                                kTensorShape | kPairRows / 16 << 24;

__device__ __forceinline__ void multiply_pair(TensorAddress sums, Bits64 a, Bits64 b, bool adds) {
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      "setp.ne.b32 adds, %4, 0;\n"
      "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, adds;\n"
      "}" ::"r"(sums),
      "l"(a), "l"(b), "r"(kPairProduct), "r"(Bits32{adds})
      : "memory");
}

// Arrives at this place of shared memory in both blocks.
__device__ __forceinline__ void commit_pair(Mbarrier barrier) {
  constexpr Bits16 kBoth = 3;
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64"
      " [%0], %1;" ::"r"(barrier.address),
      "h"(kBoth)
      : "memory");
}

}  // namespace device
