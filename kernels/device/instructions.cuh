// SPDX-License-Identifier: MIT
// The instructions CUDA C++ has no words for: asynchronous copies and matrix loads, one function
// each. Needs sm_80 or later and, like every file here, no header: nvcc and NVRTC both compile it.
#pragma once

namespace device {

using Bits8 = unsigned char;
using Bits16 = unsigned short;
using Bits32 = unsigned int;
using Bits64 = unsigned long long;
// Of global memory; wraps without harm where it is never dereferenced.
using Address = unsigned long long;

// Copies `bytes` (0..16) and fills the rest of the 16 bytes with zeros; nothing is read past
// `bytes`.
__device__ __forceinline__ void cp_async(Bits32 shared, Address global, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

template <bool kTransposed, int kOffset>
__device__ __forceinline__ void ldmatrix(Bits32 (&r)[4], Bits32 shared) {
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4+%5];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared), "n"(kOffset)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4+%5];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared), "n"(kOffset)
                 : "memory");
  }
}

__device__ __forceinline__ Bits32 load_shared(Bits32 shared) {
  Bits32 word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(shared) : "memory");
  return word;
}

__device__ __forceinline__ void store_shared(Bits32 shared, Bits32 word) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(shared), "r"(word) : "memory");
}

__device__ __forceinline__ void store_shared(Bits32 shared, Bits32 w0, Bits32 w1) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(shared), "r"(w0), "r"(w1) : "memory");
}

__device__ __forceinline__ void store_shared(Bits32 shared, const Bits32 (&w)[4]) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(shared), "r"(w[0]), "r"(w[1]),
               "r"(w[2]), "r"(w[3])
               : "memory");
}

// T is Bits8, Bits16 or Bits32: an element, or several at an address that allows it.
template <typename T>
__device__ __forceinline__ T load_global(Address from) {
  return *static_cast<const T*>(__cvta_global_to_generic(from));
}

}  // namespace device
