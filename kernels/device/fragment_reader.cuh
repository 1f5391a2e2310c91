// SPDX-License-Identifier: MIT
// A stage to the registers of mma.sync: ldmatrix moves 8x8 matrices of 2-byte elements, or of pairs
// of 1-byte elements, which lie in the registers of m16n8k32 just as single elements do in those of
// m16n8k16.
#pragma once

#include "device/tile_loader.cuh"

namespace device {

// Where one lane's ldmatrix rows lie in an operand's part of a stage. Along k a second address
// serves the second half of the step; across k there is one address per 16 columns: that is all the
// swizzle leaves variable. `kRowBit`, `kKBit`: which bit of the matrix number (lane / 8) selects
// the upper 8 rows, and which the upper 16 bytes of k.
template <typename Format, int kParts, int kRowBit, int kKBit>
class FragmentReader {
 public:
  __device__ __forceinline__ FragmentReader(const Operand<Format>& operand, int first_row, int lane)
      : along_k_(Format::kBytes == 1 || operand.along_k) {  // the loader transposes single bytes
    const int matrix = lane / 8;
    const int upper_row = (matrix >> kRowBit) & 1, upper_k = (matrix >> kKBit) & 1;
    if (along_k_) {
      offset_[0] = swizzled(first_row + lane % 8 + 8 * upper_row, upper_k);
      offset_[1] = offset_[0] ^ 2 * kChunkBytes;
    } else {
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        offset_[part] =
            swizzled_across(lane % 8 + 8 * upper_k, first_row / 8 + 2 * part + upper_row);
    }
  }

  // Rows 16 * kPart .. 16 * kPart + 15 of this warp, bytes 32 * kHalf .. 32 * kHalf + 31 of the
  // stage's k.
  template <int kPart, int kHalf>
  __device__ __forceinline__ void read(Bits32 (&fragment)[4], Bits32 stage) const {
    if (along_k_) {
      ldmatrix<false, kPart * 16 * kRowBytes>(fragment, stage + offset_[kHalf]);
    } else {
      ldmatrix<true, kHalf * 16 * kAcrossRowBytes>(fragment, stage + offset_[kPart]);
    }
  }

 private:
  Bits32 offset_[kParts];
  bool along_k_;
};

// Fragment a of an mma: matrices are (rows 0-7, k low), (rows 8-15, k low), (rows 0-7, k high),
// (rows 8-15, k high).
template <typename Format>
using ReaderA = FragmentReader<Format, 4, 0, 1>;
// Two fragments b at once: (columns 0-7, k low), (columns 0-7, k high), (columns 8-15, k low),
// (columns 8-15, k high).
template <typename Format>
using ReaderB = FragmentReader<Format, 2, 1, 0>;

}  // namespace device
