// SPDX-License-Identifier: MIT
// Matrix products of four warps, a warpgroup (wgmma): 64 rows of A times 128 columns of B over 32
// bytes of k, both operands in shared memory, sums in registers. They run on while the warps do:
//
//   warpgroup_fence(sums)      after registers of sums were written by anything else
//   multiply_...(sums, ...)    as often as you like
//   warpgroup_commit()         closes a group
//   warpgroup_wait<n>(sums)    until all but the newest n groups are done
//
// Before that, the sums must not be touched nor the operands overwritten. Needs sm_90a.
#pragma once

#include "device/instructions.cuh"

namespace device {

constexpr int kWarpgroupThreads = 128;

// What a lane holds of the 16 rows of its warp: x[0][j][v] belongs to row lane / 4 + 8 * (v / 2)
// and column 8 * j + lane % 4 * 2 + v % 2.
using WarpgroupSums = float[1][16][4];

// Where the first of these lies in a tile, of which each warp has 16 rows.
struct WarpgroupPart {
  int warp, lane;

  __device__ __forceinline__ explicit WarpgroupPart(int thread)
      : warp(thread / 32), lane(thread % 32) {}

  __device__ __forceinline__ int row() const { return 16 * warp + lane / 4; }

  __device__ __forceinline__ int column() const { return lane % 4 * 2; }
};

// clang-format off
#define PLUMBLINE_GROUP(j) "+f"(x[j][0]), "+f"(x[j][1]), "+f"(x[j][2]), "+f"(x[j][3])
#define PLUMBLINE_SUMS                                                                             \
  PLUMBLINE_GROUP(0), PLUMBLINE_GROUP(1), PLUMBLINE_GROUP(2), PLUMBLINE_GROUP(3),                  \
  PLUMBLINE_GROUP(4), PLUMBLINE_GROUP(5), PLUMBLINE_GROUP(6), PLUMBLINE_GROUP(7),                  \
  PLUMBLINE_GROUP(8), PLUMBLINE_GROUP(9), PLUMBLINE_GROUP(10), PLUMBLINE_GROUP(11),                \
  PLUMBLINE_GROUP(12), PLUMBLINE_GROUP(13), PLUMBLINE_GROUP(14), PLUMBLINE_GROUP(15)

// `adds` is a predicate: whether the product is added to the sums or replaces them.
#define PLUMBLINE_WGMMA(shape_and_types, immediates)                                               \
  "{\n"                                                                                            \
  ".reg .pred adds;\n"                                                                             \
  "setp.ne.b32 adds, %66, 0;\n"                                                                    \
  "wgmma.mma_async.sync.aligned." shape_and_types " "                                              \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                        \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "               \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "               \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "              \
  "%64, %65, adds, " immediates ";\n"                                                              \
  "}"

// clang-format on

// That the sums pass through keeps the compiler from moving what writes them behind the fence, and
// what reads them before the wait.
__device__ __forceinline__ void warpgroup_fence(WarpgroupSums& sums) {
  auto& x = sums[0];
  asm volatile("wgmma.fence.sync.aligned;" : PLUMBLINE_SUMS::"memory");
}

template <int kPending>
__device__ __forceinline__ void warpgroup_wait(WarpgroupSums& sums) {
  auto& x = sums[0];
  asm volatile("wgmma.wait_group.sync.aligned %64;" : PLUMBLINE_SUMS : "n"(kPending) : "memory");
}

__device__ __forceinline__ void warpgroup_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// sums += A * B over 16 of k. `kAAcross`: rows of A's tile run across k, not along it.
template <bool kAAcross, bool kBAcross>
__device__ __forceinline__ void multiply_bf16(WarpgroupSums& sums, Bits64 a, Bits64 b) {
  auto& x = sums[0];
  asm volatile(PLUMBLINE_WGMMA("m64n128k16.f32.bf16.bf16", "1, 1, %67, %68")
               : PLUMBLINE_SUMS
               : "l"(a), "l"(b), "n"(1), "n"(int{kAAcross}), "n"(int{kBAcross})
               : "memory");
}

// The same over 32 of k; `kAdds` false: sums = A * B. Rows of both tiles run along k.
template <bool kAdds>
__device__ __forceinline__ void multiply_e4m3(WarpgroupSums& sums, Bits64 a, Bits64 b) {
  auto& x = sums[0];
  asm volatile(PLUMBLINE_WGMMA("m64n128k32.f32.e4m3.e4m3", "1, 1")
               : PLUMBLINE_SUMS
               : "l"(a), "l"(b), "n"(int{kAdds})
               : "memory");
}

#undef PLUMBLINE_WGMMA
#undef PLUMBLINE_SUMS
#undef PLUMBLINE_GROUP

// ---- registers, which the warpgroups of a block may hand each other; all of a warpgroup calls ---

template <int kRegisters>
__device__ __forceinline__ void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace device
