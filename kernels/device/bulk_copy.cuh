// SPDX-License-Identifier: MIT
// Bulk tensor copies (TMA): one thread asks for a box of a tensor, and a unit of the chip copies it
// between global and shared memory. The tensor's address, sizes and strides, the size of the box
// and how its 16-byte chunks change places in shared memory are in a tensor map, which the host has
// made. What lies outside the tensor is read as zero and never written. Needs sm_90.
#pragma once

#include "device/instructions.cuh"

namespace device {

// What the host calls CUtensorMap; a parameter of the kernel, `const __grid_constant__`.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

__device__ __forceinline__ void prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// ---- global to shared: `barrier` is told of every byte that has come ----------------------------

// (x, y): the element, innermost coordinate first, the box begins with.
__device__ __forceinline__ void load_box(const TensorMap& map, Bits32 shared, Bits32 barrier, int x,
                                         int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void load_box(const TensorMap& map, Bits32 shared, Bits32 barrier, int x,
                                         int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void load_box(const TensorMap& map, Bits32 shared, Bits32 barrier, int x,
                                         int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier)
      : "memory");
}

// Bytes as they lie, a multiple of 16 from a multiple of 16 on.
__device__ __forceinline__ void load_bytes(Bits32 shared, const void* from, Bits32 bytes,
                                           Bits32 barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

// ---- shared to global: in groups, which the thread that asked for them waits for ----------------

__device__ __forceinline__ void store_box(const TensorMap& map, Bits32 shared, int x, int y,
                                          int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group"
      " [%0, {%1, %2, %3}], [%4];" ::"l"(&map),
      "r"(x), "r"(y), "r"(z), "r"(shared)
      : "memory");
}

// Makes plain stores to shared memory visible to the copies of it that follow.
__device__ __forceinline__ void fence_before_bulk_store() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until shared memory may be written again: all copies of this thread have read it.
__device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

}  // namespace device
