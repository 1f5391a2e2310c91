// SPDX-License-Identifier: MIT
// The formats of C and D: how a value is read, and how one or two neighbors are rounded and stored.
// kCode is what a kernel with a format chosen at run time takes as its parameter `out`.
#pragma once

#include "device/instructions.cuh"

namespace device {

struct OutF32 {
  using Stored = float;
  static constexpr int kCode = 0;

  __device__ __forceinline__ static float load(const Stored* from) { return *from; }

  __device__ __forceinline__ static void store(Stored* to, float x) { *to = x; }

  __device__ __forceinline__ static void store_pair(Stored* to, float x0, float x1) {
    *reinterpret_cast<float2*>(to) = make_float2(x0, x1);
  }
};

struct OutBf16 {
  using Stored = Bits16;
  static constexpr int kCode = 1;

  __device__ __forceinline__ static float load(const Stored* from) {
    return __uint_as_float(static_cast<Bits32>(*from) << 16);
  }

  __device__ __forceinline__ static void store(Stored* to, float x) {
    Bits16 rounded;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(x));
    *to = rounded;
  }

  __device__ __forceinline__ static void store_pair(Stored* to, float x0, float x1) {
    Bits32 rounded;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(rounded) : "f"(x1), "f"(x0));
    *reinterpret_cast<Bits32*>(to) = rounded;
  }
};

struct OutF16 {
  using Stored = Bits16;
  static constexpr int kCode = 2;

  __device__ __forceinline__ static void store(Stored* to, float x) {
    Bits16 rounded;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded) : "f"(x));
    *to = rounded;
  }

  __device__ __forceinline__ static void store_pair(Stored* to, float x0, float x1) {
    Bits32 rounded;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(rounded) : "f"(x1), "f"(x0));
    *reinterpret_cast<Bits32*>(to) = rounded;
  }
};

// Saturates at 448; needs sm_89.
struct OutE4m3 {
  using Stored = Bits8;
  static constexpr int kCode = 3;

  __device__ __forceinline__ static void store(Stored* to, float x) {
    *to = static_cast<Stored>(rounded(x, 0.0f));
  }

  __device__ __forceinline__ static void store_pair(Stored* to, float x0, float x1) {
    *reinterpret_cast<Bits16*>(to) = rounded(x0, x1);
  }

 private:
  __device__ __forceinline__ static Bits16 rounded(float low, float high) {
    Bits16 pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
    return pair;
  }
};

// Nearest even, saturating to [-128, 127]; NaN becomes 0.
struct OutS8 {
  using Stored = Bits8;
  static constexpr int kCode = 4;

  __device__ __forceinline__ static void store(Stored* to, float x) {
    *to = static_cast<Stored>(rounded(x));
  }

  __device__ __forceinline__ static void store_pair(Stored* to, float x0, float x1) {
    *reinterpret_cast<Bits16*>(to) =
        static_cast<Bits16>((rounded(x0) & 0xff) | (rounded(x1) & 0xff) << 8);
  }

 private:
  __device__ __forceinline__ static int rounded(float x) {
    int nearest;
    asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(nearest) : "f"(x));
    return nearest;
  }
};

// For sums of integers that are not converted at all.
struct OutS32 {
  using Stored = int;
  static constexpr int kCode = 5;

  __device__ __forceinline__ static void store(Stored* to, int x) { *to = x; }

  __device__ __forceinline__ static void store_pair(Stored* to, int x0, int x1) {
    *reinterpret_cast<int2*>(to) = make_int2(x0, x1);
  }
};

}  // namespace device
