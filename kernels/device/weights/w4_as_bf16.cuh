// SPDX-License-Identifier: MIT
// 4-bit weights with a scale and a zero point for each group along k and each column, multiplied as
// bf16: on its way to shared memory each becomes bf16(fl((code - zero) * scale)).
//
// Codes are [k / 2, n] bytes, each of two neighbors along k, the first in its lower half. To the
// main loop this is one more format of 2-byte elements whose rows run across k: W4AsBf16 has its
// own Operand and its own TileLoader, as S8AsBf16 has.
#pragma once

#include "device/tile_loader.cuh"

namespace device {

struct W4AsBf16 {
  static constexpr int kBytes = 2;  // in shared memory
};

template <>
struct Operand<W4AsBf16> {
  Address codes, scale, zero;             // [k / 2, n], [groups, n] of bf16, [groups, n]
  long long ld_codes, ld_scale, ld_zero;  // elements from row to row
  int extent;                             // columns
  int half;                               // rows of codes in a group
  static constexpr bool along_k = false;

  __device__ __forceinline__ Operand(const void* codes_, const void* scale_, const void* zero_,
                                     long long ld_codes_, long long ld_scale_, long long ld_zero_,
                                     int extent_, int half_)
      : codes(__cvta_generic_to_global(codes_)),
        scale(__cvta_generic_to_global(scale_)),
        zero(__cvta_generic_to_global(zero_)),
        ld_codes(ld_codes_),
        ld_scale(ld_scale_),
        ld_zero(ld_zero_),
        extent(extent_),
        half(half_) {}
};

// A thread has eight columns of one row of codes, which are two rows of k.
template <>
class TileLoader<W4AsBf16> {
 public:
  static constexpr int kTileK = kTileKBytes / 2;

  __device__ __forceinline__ TileLoader(const Operand<W4AsBf16>& operand, int origin, int,
                                        int thread)
      : operand_(operand), chunk_(thread % 16), row_(thread / 16), in_step_(2 * row_) {
    const int column = origin + 8 * chunk_;
    count_ = min(max(operand.extent - column, 0), 8);
    operand_.codes += column;
    operand_.scale += 2ll * column;
    operand_.zero += column;
  }

  // Fills one stage with the next step of k, of which `k_left` (1..32) rows exist.
  __device__ __forceinline__ void load(Bits32 stage, int k_left) {
    Bits32 words[2][4] = {};
    if (in_step_ < k_left) convert(words);
    store_shared(stage + swizzled_across(in_step_, chunk_), words[0]);
    store_shared(stage + swizzled_across(in_step_ + 1, chunk_), words[1]);
    row_ += kTileK / 2;
  }

 private:
  // Two bf16 a word, of the first and of the second row of k.
  __device__ __forceinline__ void convert(Bits32 (&words)[2][4]) const {
    const int group = row_ / operand_.half;
    const Address codes = operand_.codes + row_ * operand_.ld_codes;
    const Address scale = operand_.scale + 2 * group * operand_.ld_scale;
    const Address zero = operand_.zero + group * operand_.ld_zero;
    float weights[2][8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      weights[0][i] = weights[1][i] = 0.0f;
      if (i >= count_) continue;
      const int both = load_global<Bits8>(codes + i), origin = load_global<Bits8>(zero + i);
      const float factor = __uint_as_float(Bits32{load_global<Bits16>(scale + 2 * i)} << 16);
      weights[0][i] = __fmul_rn(static_cast<float>(both % 16 - origin), factor);
      weights[1][i] = __fmul_rn(static_cast<float>(both / 16 - origin), factor);
    }
#pragma unroll
    for (int row = 0; row < 2; ++row)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
            : "=r"(words[row][i])
            : "f"(weights[row][2 * i + 1]), "f"(weights[row][2 * i]));
  }

  Operand<W4AsBf16> operand_;  // from this thread's first column
  int chunk_, count_;          // columns that exist
  int row_;                    // of codes, in the next step of k
  int in_step_;                // its first row of k, within the step
};

}  // namespace device
