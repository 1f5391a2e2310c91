// SPDX-License-Identifier: MIT
// 8-bit weights w [n, k] with a scale per row, multiplied as bf16: on its way to shared memory each
// becomes bf16(fl(w * scale[row])). The rows run along the summed dimension, so the scales cannot
// wait for the epilogue.
//
// To the main loop this is one more format of 2-byte elements: S8AsBf16 has its own Operand and its
// own TileLoader.
#pragma once

#include "device/tile_loader.cuh"

namespace device {

struct S8AsBf16 {
  static constexpr int kBytes = 2;  // in shared memory
};

template <>
struct Operand<S8AsBf16> {
  Address data;
  const float* scales;  // one per row
  int extent;           // columns; rows are as long
  static constexpr bool along_k = false;

  __device__ __forceinline__ Operand(const void* first, const float* scales_, int extent_)
      : data(__cvta_generic_to_global(first)), scales(scales_), extent(extent_) {}
};

template <>
class TileLoader<S8AsBf16> {
 public:
  static constexpr int kTileK = kTileKBytes / 2;

  __device__ __forceinline__ TileLoader(const Operand<S8AsBf16>& operand, int origin, int,
                                        int thread)
      : source_(operand.data + origin), scales_(operand.scales), row_bytes_(operand.extent) {
    const int chunk = thread % 16;  // of 8 elements: 8 bytes in global memory, 16 in the stage
    k_offset_ = thread / 16;
    destination_ = swizzled_across(k_offset_, chunk);
    source_ += k_offset_ * row_bytes_ + 8 * chunk;
    scales_ += k_offset_;
    count_ = min(max(operand.extent - origin - 8 * chunk, 0), 8);
    aligned_ = (operand.data | row_bytes_) % 4 == 0;
  }

  // Fills one stage with the next step of k, of which `k_left` (1..32) rows exist.
  __device__ __forceinline__ void load(Bits32 stage, int k_left) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      Bits32 words[4] = {};
      if (k_offset_ + 16 * i < k_left)
        convert(words, source_ + 16 * i * row_bytes_, scales_[16 * i]);
      store_shared(stage + destination_ + i * (kOperandBytes / 2), words);
    }
    source_ += kTileK * row_bytes_;
    scales_ += kTileK;
  }

 private:
  // Four words of two bf16 each from eight weights of a row, or as many as there are.
  __device__ __forceinline__ void convert(Bits32 (&words)[4], Address from, float scale) const {
    Bits32 weights[2];
#pragma unroll
    for (int half = 0; half < 2; ++half)
      weights[half] = load_four(from + 4 * half, count_ - 4 * half);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Bits32 two = weights[i / 2] >> 16 * (i % 2);
      const float low = 2 * i < count_ ? weight(two, scale) : 0.0f;
      const float high = 2 * i + 1 < count_ ? weight(two >> 8, scale) : 0.0f;
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words[i]) : "f"(high), "f"(low));
    }
  }

  __device__ __forceinline__ static float weight(Bits32 byte, float scale) {
    return __fmul_rn(static_cast<float>(static_cast<signed char>(byte)), scale);
  }

  __device__ __forceinline__ Bits32 load_four(Address from, int count) const {
    if (aligned_ && count >= 4) return load_global<Bits32>(from);
    Bits32 word = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i < count) word |= static_cast<Bits32>(load_global<Bits8>(from + i)) << 8 * i;
    }
    return word;
  }

  Address source_;       // of this thread's weights in the next step of k
  const float* scales_;  // of their rows
  Address row_bytes_;
  int count_;     // weights of a chunk that exist
  int k_offset_;  // rows of k before this thread's first
  Bits32 destination_;
  bool aligned_;  // 4-byte loads are possible
};

}  // namespace device
