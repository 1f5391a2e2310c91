// SPDX-License-Identifier: MIT
// quantize_mxfp4_bf16: bf16 to MXFP4: codes of e2m1, two to a byte, and for each block of 32
// elements of a row one scale, a power of two (ue8m0). Four lanes take a block, eight elements
// each. Needs sm_100a or sm_120a for the conversion.
namespace {

using Bf16 = unsigned short;
using Byte = unsigned char;

constexpr int kThreads = 128, kLanesOfABlock = 4, kElements = 8;
constexpr unsigned int kInfinity = 0x7f80;  // bits of a bf16 without its sign; NaN is above
constexpr unsigned int kNanScale = 0xff, kLargestScale = 0xfe;
constexpr unsigned int kLargestExponent = 2;  // of e2m1: 6 is 1.5 * 2^2

// 2^(exponent of amax - 2) as the code of ue8m0, not below 2^-127; NaN where amax is.
__device__ __forceinline__ unsigned int scale_of(unsigned int amax) {
  if (amax > kInfinity) return kNanScale;
  if (amax == kInfinity) return kLargestScale;
  const unsigned int exponent = amax >> 7;
  return exponent > kLargestExponent ? exponent - kLargestExponent : 0;
}

// 1 / scale, which is exact: 2^-127 is subnormal.
__device__ __forceinline__ float reciprocal_of(unsigned int scale) {
  if (scale == kNanScale) return __uint_as_float(0x7fffffff);
  return __uint_as_float(scale == kLargestScale ? 0x400000 : (254 - scale) << 23);
}

// The low half of the byte is that of `low`.
__device__ __forceinline__ unsigned int as_e2m1(float low, float high) {
  unsigned int out;
  asm("{\n.reg .b8 both;\ncvt.rn.satfinite.e2m1x2.f32 both, %2, %1;\ncvt.u32.u8 %0, both;\n}"
      : "=r"(out)
      : "f"(low), "f"(high));
  return out;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    quantize_mxfp4_bf16(const Bf16* x, Byte* q, Byte* scale, long long m, int blocks, long long ldx,
                        long long ldq, long long lds) {
  const int part = threadIdx.x % kLanesOfABlock;
  const unsigned int together = 0xfu << (threadIdx.x % 32 - part);  // the lanes of this block
  constexpr int kBlocksAtOnce = kThreads / kLanesOfABlock;
  for (long long at = blockIdx.x * kBlocksAtOnce + threadIdx.x / kLanesOfABlock; at < m * blocks;
       at += static_cast<long long>(gridDim.x) * kBlocksAtOnce) {
    const long long row = at / blocks, block = at % blocks;
    const long long column = 32 * block + kElements * part;
    const Bf16* from = x + row * ldx + column;
    unsigned int values[kElements], amax = 0;
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      values[i] = from[i];
      amax = max(amax, values[i] & 0x7fff);
    }
    amax = max(amax, __shfl_xor_sync(together, amax, 1));
    amax = max(amax, __shfl_xor_sync(together, amax, 2));

    const unsigned int code = scale_of(amax);
    const float reciprocal = reciprocal_of(code);
    if (part == 0) scale[row * lds + block] = static_cast<Byte>(code);
    Byte* to = q + (row * ldq + column) / 2;
#pragma unroll
    for (int i = 0; i < kElements; i += 2) {
      const float low = __uint_as_float(values[i] << 16) * reciprocal;
      const float high = __uint_as_float(values[i + 1] << 16) * reciprocal;
      to[i / 2] = static_cast<Byte>(as_e2m1(low, high));
    }
  }
}
