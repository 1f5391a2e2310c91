// SPDX-License-Identifier: MIT
// Sums of mma.sync with block scales (sm_120): the instruction multiplies every product by the
// scales of its block of k, and adds to one f32 accumulator. m16n8k32 of 8-bit formats takes one
// scale per row and column, m16n8k64 of e2m1 two or four; the depth is 32 bytes either way, and so
// are the registers. `Unit` is the instruction: kScales of a slice, multiply().
#pragma once

#include "device/operand_formats.cuh"
#include "device/tile.cuh"

namespace device {

// Two elements of e2m1 in a byte, the first in its lower half. An operand's k, leading dimension
// and offsets are in bytes then.
struct E2m1x2 : OneByte {};

// The scales of a lane's registers: those of the rows g and g + 8 of A come from its lanes 0 and 1
// of four, those of column g of B from lane 0 (byte 0 on).
#define PLUMBLINE_BLOCK_SCALED_MMA(Name, scales, instruction)                                    \
  struct Name {                                                                                  \
    static constexpr int kScales = scales;                                                       \
    __device__ __forceinline__ static void multiply(float (&d)[4], const Bits32 (&a)[4],         \
                                                    Bits32 b0, Bits32 b1, Bits32 scale_a,        \
                                                    Bits32 scale_b) {                            \
      asm volatile("mma.sync.aligned." instruction                                               \
                   " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3},"            \
                   " %10, {0, 0}, %11, {0, 0};"                                                  \
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                              \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(scale_a), \
                     "r"(scale_b));                                                              \
    }                                                                                            \
  };

#define PLUMBLINE_MXFP8_MMA(Name, a, b)                                                  \
  PLUMBLINE_BLOCK_SCALED_MMA(Name, 1,                                                    \
                             "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X" \
                             ".f32." a "." b ".f32.ue8m0")

PLUMBLINE_MXFP8_MMA(MxE4m3E4m3, "e4m3", "e4m3")
PLUMBLINE_MXFP8_MMA(MxE4m3E5m2, "e4m3", "e5m2")
PLUMBLINE_MXFP8_MMA(MxE5m2E4m3, "e5m2", "e4m3")
PLUMBLINE_MXFP8_MMA(MxE5m2E5m2, "e5m2", "e5m2")
PLUMBLINE_BLOCK_SCALED_MMA(MxFp4, 2,
                           "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X"
                           ".f32.e2m1.e2m1.f32.ue8m0")
PLUMBLINE_BLOCK_SCALED_MMA(NvFp4, 4,
                           "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X"
                           ".f32.e2m1.e2m1.f32.ue4m3")

#undef PLUMBLINE_MXFP8_MMA
#undef PLUMBLINE_BLOCK_SCALED_MMA

// One byte for each row of A (column of B) and block of k: row after row, or in tiles of 128 rows
// and 4 blocks, of which the 4 bytes of row r are number r % 32 * 4 + r / 32.
struct ScaleTensor {
  const Bits8* data;
  int vectors, blocks;
  bool tiled;

  __device__ __forceinline__ long long at(int vector, int block) const {
    if (!tiled) return static_cast<long long>(vector) * blocks + block;
    const long long tile = static_cast<long long>(vector / 128) * tiles(blocks, 4) + block / 4;
    return tile * 512 + vector % 32 * 16 + vector / 32 % 4 * 4 + block % 4;
  }

  // kCount blocks from `block` on, as the instruction wants them; 0 outside.
  template <int kCount>
  __device__ __forceinline__ Bits32 word(int vector, int block) const {
    Bits32 word = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (vector < vectors && block + i < blocks)
        word |= static_cast<Bits32>(data[at(vector, block + i)]) << 8 * i;
    }
    return word;
  }
};

template <typename Unit>
struct BlockScaledSums {
  Fragments<float> x = {};

  __device__ __forceinline__ BlockScaledSums(const ScaleTensor& scale_a, const ScaleTensor& scale_b,
                                             const Tile& tile)
      : scale_a_(scale_a), scale_b_(scale_b) {
    const WarpPart part(threadIdx.x);
    row_ = tile.first_row + part.first_row + part.lane / 4 + part.lane % 2 * 8;
    column_ = tile.first_column + part.first_column + part.lane / 4;
  }

  __device__ __forceinline__ void multiply(const Bits32 (&a)[4][4], const Bits32 (&b)[2][4],
                                           int slice) {
    Bits32 of_rows[4], of_columns[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      of_rows[i] = scale_a_.template word<Unit::kScales>(row_ + 16 * i, slice * Unit::kScales);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      of_columns[j] = scale_b_.template word<Unit::kScales>(column_ + 8 * j, slice * Unit::kScales);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        Unit::multiply(x[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1], of_rows[i],
                       of_columns[j]);
  }

 private:
  ScaleTensor scale_a_, scale_b_;
  int row_, column_;  // whose scales this lane brings, for i = j = 0
};

}  // namespace device
