// SPDX-License-Identifier: MIT
// Scaled quantization of a row-major matrix x [m, n] to 8 bits: one scale for the whole tensor, for
// each row, or for each 1x128 block of a row.
//
//   amax  = max |x|, NaN if any element is NaN
//   scale = amax == 0 ? 1 : max(amax / largest, 2^-126), `largest` being the largest finite code
//   q     = convert(x / scale), to nearest even, saturating
//
// The maximum is taken over bit patterns: without its sign, an f32 compares as an unsigned integer,
// and a NaN is above infinity. So NaN wins without a branch, the result does not depend on the
// order, and no maximum instruction that ignores NaN comes near the data.
#pragma once

namespace quantize {

using Bits32 = unsigned int;

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kBlockElements = 128;  // a 1x128 block: one warp, four elements a lane

enum InputKind { kInputF32 = 0, kInputBf16 = 1 };

enum CodeKind { kCodeE4m3 = 0, kCodeE5m2 = 1, kCodeS8 = 2 };

struct Input {
  const void* x;
  long long m, n, ldx;
  int kind;

  __device__ __forceinline__ float at(long long row, long long column) const {
    const long long i = row * ldx + column;
    if (kind == kInputF32) return static_cast<const float*>(x)[i];
    return __uint_as_float(static_cast<Bits32>(static_cast<const unsigned short*>(x)[i]) << 16);
  }

  // The bit pattern of |x|.
  __device__ __forceinline__ Bits32 magnitude(long long row, long long column) const {
    return __float_as_uint(at(row, column)) & 0x7fffffffu;
  }
};

struct Codes {
  void* q;
  long long ldq;
  int kind;

  __device__ __forceinline__ void put(long long row, long long column, float x, float scale) const {
    static_cast<unsigned char*>(q)[row * ldq + column] = encode(__fdiv_rn(x, scale));
  }

  __device__ __forceinline__ unsigned char encode(float x) const {
    if (kind == kCodeS8) {
      int code;  // NaN becomes 0
      asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(code) : "f"(x));
      return static_cast<unsigned char>(code);
    }
    unsigned short pair = 0;  // the second operand is the low byte
#if __CUDA_ARCH__ >= 890      // quantize_s8 runs on older chips too
    if (kind == kCodeE4m3) {
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    } else {
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    }
#endif
    return static_cast<unsigned char>(pair);
  }

  __device__ __forceinline__ float largest() const {
    return kind == kCodeE4m3 ? 448.0f : kind == kCodeE5m2 ? 57344.0f : 127.0f;
  }

  // Written so that NaN passes: a NaN is not below the smallest scale.
  __device__ __forceinline__ float scale(float amax) const {
    if (amax == 0.0f) return 1.0f;
    constexpr float kSmallest = 0x1p-126f;  // smaller ones would be subnormal
    const float scale = __fdiv_rn(amax, largest());
    return scale < kSmallest ? kSmallest : scale;
  }
};

// ---- the maximum of a warp and of a block of threads --------------------------------------------

__device__ __forceinline__ Bits32 warp_max(Bits32 x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    x = max(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

// All threads get the result.
__device__ __forceinline__ Bits32 block_max(Bits32 x) {
  __shared__ Bits32 of_warps[kWarps];
  x = warp_max(x);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = of_warps[0];
#pragma unroll
  for (int warp = 1; warp < kWarps; ++warp) x = max(x, of_warps[warp]);
  __syncthreads();  // a second call may overwrite them
  return x;
}

// This thread's part of the maximum of a row.
__device__ __forceinline__ Bits32 thread_max(const Input& in, long long row) {
  Bits32 largest = 0;
  for (long long column = threadIdx.x; column < in.n; column += kThreads)
    largest = max(largest, in.magnitude(row, column));
  return largest;
}

__device__ __forceinline__ void quantize_row(const Input& in, const Codes& out, long long row,
                                             float scale) {
  for (long long column = threadIdx.x; column < in.n; column += kThreads)
    out.put(row, column, in.at(row, column), scale);
}

// ---- one scale for the tensor: two launches of the same grid, at most kThreads blocks -----------

// First launch: block b leaves the maximum of rows b, b + gridDim.x, ... in partial[b].
__device__ __forceinline__ void tensor_amax(const Input& in, Bits32* partial) {
  Bits32 largest = 0;
  for (long long row = blockIdx.x; row < in.m; row += gridDim.x)
    largest = max(largest, thread_max(in, row));
  largest = block_max(largest);
  if (threadIdx.x == 0) partial[blockIdx.x] = largest;
}

// Second launch: every block joins the partial maxima, then converts the same rows.
__device__ __forceinline__ void tensor_codes(const Input& in, const Codes& out,
                                             const Bits32* partial, float* amax, float* scale) {
  const float largest =
      __uint_as_float(block_max(threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0));
  const float divisor = out.scale(largest);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *amax = largest;
    *scale = divisor;
  }
  for (long long row = blockIdx.x; row < in.m; row += gridDim.x)
    quantize_row(in, out, row, divisor);
}

// ---- one scale for each row: one block of threads a row -----------------------------------------

__device__ __forceinline__ void rows(const Input& in, const Codes& out, float* amax, float* scale) {
  for (long long row = blockIdx.x; row < in.m; row += gridDim.x) {
    const float largest = __uint_as_float(block_max(thread_max(in, row)));
    const float divisor = out.scale(largest);
    if (threadIdx.x == 0) {
      amax[row] = largest;
      scale[row] = divisor;
    }
    quantize_row(in, out, row, divisor);
  }
}

// ---- one scale for each 1x128 block: one warp a block, kWarps neighbors at once -----------------

__device__ __forceinline__ void blocks(const Input& in, const Codes& out, float* amax,
                                       float* scale) {
  const long long per_row = (in.n + kBlockElements - 1) / kBlockElements;
  const long long first = static_cast<long long>(blockIdx.x) * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  for (long long i = first; i < in.m * per_row; i += static_cast<long long>(gridDim.x) * kWarps) {
    const long long row = i / per_row;
    const long long column = i % per_row * kBlockElements + lane;  // and 32, 64, 96 further on
    Bits32 bits = 0;
#pragma unroll
    for (int part = 0; part < kBlockElements; part += 32)
      if (column + part < in.n) bits = max(bits, in.magnitude(row, column + part));
    const float largest = __uint_as_float(warp_max(bits));
    const float divisor = out.scale(largest);
    if (lane == 0) {
      amax[i] = largest;
      scale[i] = divisor;
    }
#pragma unroll
    for (int part = 0; part < kBlockElements; part += 32)
      if (column + part < in.n) out.put(row, column + part, in.at(row, column + part), divisor);
  }
}

}  // namespace quantize

// The entry points of a quantize kernel: <name>_amax and <name>_tensor (two launches), <name>_row,
// <name>_1x128. All take the parameters that the manifests list, in that order.
#define QUANTIZE_ENTRY(name, call)                                                             \
  extern "C" __global__ void __launch_bounds__(quantize::kThreads) name(                       \
      const void* x, void* q, float* scale, float* amax, unsigned int* workspace, long long m, \
      long long n, long long ldx, long long ldq, int input_kind, int code_kind) {              \
    const quantize::Input in{x, m, n, ldx, input_kind};                                        \
    [[maybe_unused]] const quantize::Codes out{q, ldq, code_kind};                             \
    quantize::call;                                                                            \
  }

#define QUANTIZE_ENTRIES(name)                                                 \
  QUANTIZE_ENTRY(name##_amax, tensor_amax(in, workspace))                      \
  QUANTIZE_ENTRY(name##_tensor, tensor_codes(in, out, workspace, amax, scale)) \
  QUANTIZE_ENTRY(name##_row, rows(in, out, amax, scale))                       \
  QUANTIZE_ENTRY(name##_1x128, blocks(in, out, amax, scale))
