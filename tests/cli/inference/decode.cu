// SPDX-License-Identifier: MIT
// Attention as a kernel of inference on CUDA cores has it: one warp for a query of one head, every
// score by FMAs, keys in tiles of kTile, probabilities in f32. Each lane has columns lane, lane +
// 32, ... of O and makes all scores for itself.

constexpr int kTile = 16, kMostColumns = 4;

enum Lse { kNone, kNatural, kBase2 };

__device__ float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ float lg2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ float of_bf16(unsigned short bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}

// Q [heads, queries, d], K [heads, keys, d] and V [heads, keys, dv] in bf16, O [heads, queries, dv]
// in f32.
extern "C" __global__ void decode(const unsigned short* q, const unsigned short* k,
                                  const unsigned short* v, float* o, float* lse, int queries,
                                  int keys, int d, int dv, float scale, int kind) {
  const int lane = threadIdx.x, head = blockIdx.y;
  const long long row = static_cast<long long>(head) * queries + blockIdx.x;
  q += row * d;
  k += static_cast<long long>(head) * keys * d;
  v += static_cast<long long>(head) * keys * dv;
  const float infinity = __int_as_float(0x7f800000), c = __fmul_rn(scale, 1.4426950408889634f);
  float m = -infinity, l = 0, sums[kMostColumns] = {};
  for (int begin = 0; begin < keys; begin += kTile) {
    const int count = min(kTile, keys - begin);
    float z[kTile], next = m;
    for (int j = 0; j < count; ++j) {
      float score = 0;
      for (int x = 0; x < d; ++x)
        score = __fmaf_rn(of_bf16(q[x]), of_bf16(k[(begin + j) * d + x]), score);
      z[j] = score;
      next = fmaxf(next, score);
    }
    const float a = m == -infinity ? 0.0f : ex2(__fmul_rn(__fsub_rn(m, next), c));
    m = next;
    l = __fmul_rn(l, a);
    for (float& sum : sums) sum = __fmul_rn(sum, a);
    float own = 0;
    for (int j = 0; j < count; ++j) {
      const float p = ex2(__fmaf_rn(z[j], c, -__fmul_rn(m, c)));
      own = __fadd_rn(own, p);
      for (int n = 0; n < kMostColumns; ++n) {
        const int x = lane + 32 * n;
        if (x < dv) sums[n] = __fmaf_rn(p, of_bf16(v[(begin + j) * dv + x]), sums[n]);
      }
    }
    l = __fadd_rn(l, own);
  }
  for (int n = 0; n < kMostColumns; ++n) {
    const int x = lane + 32 * n;
    if (x < dv) o[row * dv + x] = keys == 0 ? 0.0f : __fdiv_rn(sums[n], l);
  }
  if (lane != 0 || kind == kNone) return;
  const float natural = __fadd_rn(__fmul_rn(m, scale), __fmul_rn(lg2(l), 0.6931471805599453f));
  const float base_2 = __fadd_rn(__fmul_rn(m, c), lg2(l));
  lse[row] = keys == 0 ? -infinity : kind == kBase2 ? base_2 : natural;
}
