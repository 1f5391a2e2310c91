// SPDX-License-Identifier: MIT
// Tensor memory and the tensor core that adds up in it (tcgen05): 128 lanes of 512 columns of 32
// bits for each block. One thread asks for products of 128 rows of A and 128 columns of B, both in
// shared memory; they run one after the other while the threads go on, and tell an mbarrier that
// they are done:
//
//   allocate_tensor_memory()    by a warp; another one may free it
//   multiply_...(sums, ...)     as often as you like
//   tensor_commit(barrier)      arrives once all products asked for so far are done
//   load_sums(x, sums)          by four warps, each the 32 rows that belong to it
//
// Threads that hand each other tensor memory by a barrier have before_handover() ahead of it and
// after_handover() behind it. Needs sm_100a.
#pragma once

#include "device/mbarrier.cuh"

namespace device {

// Sums in tensor memory: the address of the first column. Lanes count in the upper half of it.
using TensorAddress = Bits32;

constexpr int kTensorRows = 128, kTensorColumns = 128;  // of a product
constexpr int kRowsOfWarp = 32;                         // that it can read

// ---- allocation, by a whole warp ----------------------------------------------------------------

// The address is stored at `shared`. No other block of this kernel waits for columns: the permit
// is given back at once.
template <int kColumns>
__device__ __forceinline__ void allocate_tensor_memory(Bits32 shared) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared),
               "n"(kColumns)
               : "memory");
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
}

template <int kColumns>
__device__ __forceinline__ void free_tensor_memory(TensorAddress first) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(first), "n"(kColumns));
}

// ---- products, by one thread --------------------------------------------------------------------

// The format of an operand, as instruction descriptors count those of a kind.
struct TensorBf16 {
  static constexpr Bits32 kCode = 1;
};

struct TensorE4m3 {
  static constexpr Bits32 kCode = 0;
};

struct TensorE5m2 {
  static constexpr Bits32 kCode = 1;
};

constexpr Bits32 kTensorShape = kTensorColumns / 8 << 17;

// What a product computes, in f32. `kAcross`: rows of the tile run across k, not along it.
template <typename A, typename B, bool kAAcross = false, bool kBAcross = false,
          int kColumns = kTensorColumns>
constexpr Bits32 kProductOf =
    1u << 4 | A::kCode << 7 | B::kCode << 10 | Bits32{kAAcross} << 15 | Bits32{kBAcross} << 16 |
    Bits32{kColumns / 8} << 17 | kTensorRows / 16 << 24;

// NVFP4: e2m1 with a scale of ue4m3 for each 16 of k.
constexpr Bits32 kNvFp4Product = 1u << 7 | 1u << 10 | kTensorShape | kTensorRows / 128 << 27;

// The descriptor of an operand (bulk_pipeline.cuh), as tcgen05 has it.
__device__ __forceinline__ Bits64 tensor_descriptor(Bits64 operand) {
  return operand | Bits64{1} << 46;
}

// sums = A * B over 32 bytes of k, added to what they are where `adds`.
#define PLUMBLINE_TENSOR_PRODUCT(name, kind)                                                   \
  __device__ __forceinline__ void name(TensorAddress sums, Bits64 a, Bits64 b, Bits32 product, \
                                       bool adds) {                                            \
    asm volatile(                                                                              \
        "{\n"                                                                                  \
        ".reg .pred adds;\n"                                                                   \
        "setp.ne.b32 adds, %4, 0;\n"                                                           \
        "tcgen05.mma.cta_group::1.kind::" kind                                                 \
        " [%0], %1, %2, %3, adds;\n"                                                           \
        "}" ::"r"(sums),                                                                       \
        "l"(a), "l"(b), "r"(product), "r"(Bits32{adds})                                        \
        : "memory");                                                                           \
  }

PLUMBLINE_TENSOR_PRODUCT(multiply_f16, "f16")
PLUMBLINE_TENSOR_PRODUCT(multiply_f8, "f8f6f4")

#undef PLUMBLINE_TENSOR_PRODUCT

// The same of 16 of k with A in tensor memory: a row in each lane, two neighbors in a column.
__device__ __forceinline__ void multiply_tensor_a(TensorAddress sums, TensorAddress a, Bits64 b,
                                                  Bits32 product, bool adds) {
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      "setp.ne.b32 adds, %4, 0;\n"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, adds;\n"
      "}" ::"r"(sums),
      "r"(a), "l"(b), "r"(product), "r"(Bits32{adds})
      : "memory");
}

// The same of NVFP4, with the scales of its 64 of k in four columns each.
__device__ __forceinline__ void multiply_nvfp4(TensorAddress sums, Bits64 a, Bits64 b,
                                               TensorAddress scales_a, TensorAddress scales_b,
                                               bool adds) {
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      "setp.ne.b32 adds, %6, 0;\n"
      "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X"
      " [%0], %1, %2, %3, [%4], [%5], adds;\n"
      "}" ::"r"(sums),
      "l"(a), "l"(b), "r"(kNvFp4Product), "r"(scales_a), "r"(scales_b), "r"(Bits32{adds})
      : "memory");
}

// 512 bytes of scales, 128 rows by 4 blocks of k, from shared memory to four columns, for each of
// the four quarters of the lanes. In order with the products.
__device__ __forceinline__ void copy_scales(TensorAddress to, Bits32 shared) {
  constexpr Bits64 kEightRows = 8 * 16;
  const Bits64 descriptor =
      (shared & 0x3ffff) >> 4 | kEightRows >> 4 << 32 | Bits64{1} << 46;  // not swizzled
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(descriptor)
               : "memory");
}

__device__ __forceinline__ void tensor_commit(Mbarrier barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                   barrier.address)
               : "memory");
}

// ---- between threads ----------------------------------------------------------------------------

__device__ __forceinline__ void before_handover() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

__device__ __forceinline__ void after_handover() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// ---- sums to registers, by whole warps ----------------------------------------------------------

// What a lane holds of the 32 rows of its warp: x[i][j][v] belongs to row lane / 4 + 16 * i + 8 *
// (v / 2) and column 8 * j + lane % 4 * 2 + v % 2.
using TensorSums = float[2][kTensorColumns / 8][4];

// Where the first of these lies in a tile.
struct TensorPart {
  int warp, lane;

  __device__ __forceinline__ explicit TensorPart(int thread)
      : warp(thread / 32 % 4), lane(thread % 32) {}

  __device__ __forceinline__ int row() const { return kRowsOfWarp * warp + lane / 4; }

  __device__ __forceinline__ int column() const { return lane % 4 * 2; }
};

// clang-format off
#define PLUMBLINE_GROUP(mode, j) \
  mode(y[j][0]), mode(y[j][1]), mode(y[j][2]), mode(y[j][3])
#define PLUMBLINE_ROWS(mode)                                                                       \
  PLUMBLINE_GROUP(mode, 0), PLUMBLINE_GROUP(mode, 1), PLUMBLINE_GROUP(mode, 2),                    \
  PLUMBLINE_GROUP(mode, 3), PLUMBLINE_GROUP(mode, 4), PLUMBLINE_GROUP(mode, 5),                    \
  PLUMBLINE_GROUP(mode, 6), PLUMBLINE_GROUP(mode, 7), PLUMBLINE_GROUP(mode, 8),                    \
  PLUMBLINE_GROUP(mode, 9), PLUMBLINE_GROUP(mode, 10), PLUMBLINE_GROUP(mode, 11),                  \
  PLUMBLINE_GROUP(mode, 12), PLUMBLINE_GROUP(mode, 13), PLUMBLINE_GROUP(mode, 14),                 \
  PLUMBLINE_GROUP(mode, 15)

// 16 rows, from the lane of the address on.
__device__ __forceinline__ void load_rows(float (&y)[kTensorColumns / 8][4], TensorAddress from) {
  asm volatile(
      "tcgen05.ld.sync.aligned.16x256b.x16.b32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, [%64];"
      : PLUMBLINE_ROWS("=f")
      : "r"(from)
      : "memory");
}

// That the values pass through keeps the compiler from using them before they are there.
__device__ __forceinline__ void wait_for_rows(float (&y)[kTensorColumns / 8][4]) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" : PLUMBLINE_ROWS("+f")::"memory");
}

#undef PLUMBLINE_ROWS
#undef PLUMBLINE_GROUP
// clang-format on

// The first of the lanes that this warp reaches: warp w has 32 (w % 4) and on.
__device__ __forceinline__ TensorAddress own_lanes(TensorAddress columns) {
  return columns + (threadIdx.x / 32 % 4 * kRowsOfWarp << 16);
}

// By four warps in a row.
__device__ __forceinline__ void load_sums(TensorSums& x, TensorAddress sums) {
  const TensorAddress own = own_lanes(sums);
  load_rows(x[0], own);
  load_rows(x[1], own + (16u << 16));
  wait_for_rows(x[0]);
  wait_for_rows(x[1]);
}

// ---- a row for each thread, 32 columns at a time ------------------------------------------------

// clang-format off
#define PLUMBLINE_EIGHT(mode, y, i)                                                                \
  mode(y[i]), mode(y[i + 1]), mode(y[i + 2]), mode(y[i + 3]), mode(y[i + 4]), mode(y[i + 5]),      \
  mode(y[i + 6]), mode(y[i + 7])
#define PLUMBLINE_32(mode, y)                                                                      \
  PLUMBLINE_EIGHT(mode, y, 0), PLUMBLINE_EIGHT(mode, y, 8), PLUMBLINE_EIGHT(mode, y, 16),          \
  PLUMBLINE_EIGHT(mode, y, 24)

// Columns of this warp's lanes; to be waited for.
__device__ __forceinline__ void load_columns(float (&y)[32], TensorAddress from) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x32.b32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"
      : PLUMBLINE_32("=f", y)
      : "r"(own_lanes(from))
      : "memory");
}

__device__ __forceinline__ void wait_for_columns(float (&y)[32]) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" : PLUMBLINE_32("+f", y)::"memory");
}

#define PLUMBLINE_STORE_COLUMNS(Type, mode)                                                        \
  __device__ __forceinline__ void store_columns(TensorAddress to, const Type (&y)[32]) {           \
    asm volatile(                                                                                  \
        "tcgen05.st.sync.aligned.32x32b.x32.b32 [%32], "                                           \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                  \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31};"         \
        ::PLUMBLINE_32(mode, y), "r"(own_lanes(to))                                                \
        : "memory");                                                                               \
  }

PLUMBLINE_STORE_COLUMNS(float, "f")
PLUMBLINE_STORE_COLUMNS(Bits32, "r")

#undef PLUMBLINE_STORE_COLUMNS
#undef PLUMBLINE_32
#undef PLUMBLINE_EIGHT
// clang-format on

// Before others are told of what this warp has stored.
__device__ __forceinline__ void wait_for_stored_columns() {
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

}  // namespace device
