// SPDX-License-Identifier: MIT
// merge_attention_states_bf16: the mean of two attention outputs, weighted by e to the power of
// their lse, and the lse of both; one warp for each head of a token. A state whose lse is -inf has
// seen no key.
#include "device/row_columns.cuh"

namespace rows {

__device__ __forceinline__ void put(float* to, float x) { *to = x; }

__device__ __forceinline__ void put(Bf16* to, float x) { *to = as_bf16(x); }

__device__ __forceinline__ float weight_of(float lse, float largest) {
  return lse == -__int_as_float(0x7f800000) ? 0.0f : __expf(__fsub_rn(lse, largest));
}

template <typename Element>
__device__ __forceinline__ void merge(Source a, const float* lse_a, Source b, const float* lse_b,
                                      Target<Element> o, float* lse, long long count, long long d) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const long long stride = static_cast<long long>(gridDim.x) * kWarps;
  for (long long i = static_cast<long long>(blockIdx.x) * kWarps + warp; i < count; i += stride) {
    const float largest = fmaxf(lse_a[i], lse_b[i]);
    const float weight_a = weight_of(lse_a[i], largest), weight_b = weight_of(lse_b[i], largest);
    const float both = __fadd_rn(weight_a, weight_b);
    const bool empty = both == 0;
    if (lane == 0) lse[i] = empty ? largest : __fadd_rn(largest, __logf(both));
    const float share_a = __fdiv_rn(weight_a, both), share_b = __fdiv_rn(weight_b, both);
    const Bf16 *from_a = a.row(i), *from_b = b.row(i);
    Element* to = o.row(i);
    for (long long c = lane; c < d; c += 32) {
      const float x = __fmul_rn(as_f32(from_a[c]), share_a);
      const float y = __fmul_rn(as_f32(from_b[c]), share_b);
      put(to + c, empty ? 0.0f : __fadd_rn(x, y));
    }
  }
}

}  // namespace rows

#define MERGE_ENTRY(name, Element)                                                           \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                               \
      name(const rows::Bf16* a, const float* lse_a, const rows::Bf16* b, const float* lse_b, \
           Element* o, float* lse, long long t, long long heads, long long d, long long lda, \
           long long ldb, long long ldo) {                                                   \
    rows::merge<Element>({a, lda}, lse_a, {b, ldb}, lse_b, {o, ldo}, lse, t * heads, d);     \
  }

MERGE_ENTRY(merge_attention_states_bf16_bf16, rows::Bf16)
MERGE_ENTRY(merge_attention_states_bf16_f32, float)
