// SPDX-License-Identifier: MIT
// Barriers in shared memory (mbarrier). A phase of a barrier is complete when as many threads have
// arrived as it was made for and all bytes have come that a thread said to expect; then the next
// phase begins. Who waits names the parity of a phase: 0 for the first, 1 for the second, 0 again.
// So a thread may be late by one phase, never by two. Needs sm_90.
#pragma once

#include "device/instructions.cuh"

namespace device {

constexpr Bits32 kMbarrierBytes = 8;

struct Mbarrier {
  Bits32 address;  // in shared memory, a multiple of 8

  // By one thread; the others may use it after publish_mbarriers() and __syncthreads().
  __device__ __forceinline__ void init(Bits32 arrivals) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(arrivals)
                 : "memory");
  }

  // Releases what this thread has read and written.
  __device__ __forceinline__ void arrive() const {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
  }

  __device__ __forceinline__ void arrive_and_expect(Bits32 bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes)
                 : "memory");
  }

  // Until the phase of this parity is complete. Before the first phase the barrier is as if one of
  // parity 1 had just been completed.
  __device__ __forceinline__ void wait(Bits32 parity) const {
    while (!is_complete(parity)) {
    }
  }

 private:
  // Sleeps for a while where it is not.
  __device__ __forceinline__ bool is_complete(Bits32 parity) const {
    Bits32 complete;
    asm volatile(
        "{\n"
        ".reg .pred complete;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
        "selp.b32 %0, 1, 0, complete;\n"
        "}"
        : "=r"(complete)
        : "r"(address), "r"(parity)
        : "memory");
    return complete != 0;
  }
};

// Makes the barriers this thread has initialized known to the unit that copies.
__device__ __forceinline__ void publish_mbarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

}  // namespace device
