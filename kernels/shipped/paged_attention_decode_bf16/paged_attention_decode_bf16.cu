// SPDX-License-Identifier: MIT
// paged_attention_decode_bf16: attention of one token of each sequence to keys and values in pages
// that a table names; one block of threads for each head of a sequence. Its logits lie in shared
// memory, so that the largest is known before the first power. A warp takes every fourth token, a
// lane eight neighboring columns of it.
#include "device/row_sums.cuh"

namespace rows {

// Rows of the cache: of tokens and kv heads, in pages that one sequence's table names.
struct Pages {
  const int* table;
  int page;
  long long kv, head;

  __device__ __forceinline__ long long row(int token) const {
    const long long slot = token % page;
    return (table[token / page] * static_cast<long long>(page) + slot) * kv + head;
  }
};

// A lane's columns of a row, zeros after the last.
__device__ __forceinline__ Values load_own(const Bf16* row, Columns own, bool aligned) {
  if (aligned) return load(row, own);
  Values values{};
  for_each_of(own, [&](int j) { values.at[j] = as_f32(row[own.first + j]); });
  return values;
}

template <typename Element>
__device__ __forceinline__ void store_own(Element* row, Columns own, bool aligned,
                                          const Values& values) {
  if (aligned) return store(row, own, values);
  for_each_of(own, [&](int j) { store(row, Columns{own.first + j, 1}, {values.at[j]}); });
}

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

// Adds the other warps' sums to those of the first.
__device__ __forceinline__ void add_warps(Values& sums) {
  __shared__ float of_threads[kVector][kThreads];
#pragma unroll
  for (int j = 0; j < kVector; ++j) of_threads[j][threadIdx.x] = sums.at[j];
  __syncthreads();
  if (threadIdx.x >= 32) return;
  for (int other = threadIdx.x + 32; other < kThreads; other += 32) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) sums.at[j] = __fadd_rn(sums.at[j], of_threads[j][other]);
  }
}

template <typename Element>
__device__ __forceinline__ void decode(const Bf16* q, Source k, Source v, Pages pages, int length,
                                       int d, float scale, bool q_aligned, Element* o,
                                       bool o_aligned) {
  extern __shared__ float powers[];  // logits at first, one for each token
  const int warp = threadIdx.x / 32, first = threadIdx.x % 32 * kVector;
  const Columns own{first, min(kVector, d - first)};
  const bool k_aligned = k.aligned(), v_aligned = v.aligned();

  const Values query = load_own(q, own, q_aligned);
  float largest = -__int_as_float(0x7f800000);
  for (int token = warp; token < length; token += kWarps) {
    const Values key = load_own(k.row(pages.row(token)), own, k_aligned);
    float sum = 0;
    for_each_of(own, [&](int j) { sum = fmaf(query.at[j], key.at[j], sum); });
    const float logit = __fmul_rn(scale, warp_sum(sum));
    largest = fmaxf(largest, logit);
    if (first == 0) powers[token] = logit;
  }
  largest = block_max(largest);

  float total = 0;
  for (int token = threadIdx.x; token < length; token += kThreads) {
    powers[token] = __expf(__fsub_rn(powers[token], largest));
    total = __fadd_rn(total, powers[token]);
  }
  total = block_sum(total);

  Values sums{};
  for (int token = warp; token < length; token += kWarps) {
    const Values value = load_own(v.row(pages.row(token)), own, v_aligned);
    const float power = powers[token];
    for_each_of(own, [&](int j) { sums.at[j] = fmaf(power, value.at[j], sums.at[j]); });
  }
  add_warps(sums);
  if (warp != 0) return;
  for_each_of(own, [&](int j) { sums.at[j] = length == 0 ? 0.0f : __fdiv_rn(sums.at[j], total); });
  store_own(o, own, o_aligned, sums);
}

template <typename Element>
__device__ __forceinline__ void decode_block(Source q, Source k, Source v, const int* table,
                                             const int* length, Target<Element> o, long long kv,
                                             long long group, int d, int page, long long ld_table,
                                             float scale) {
  const long long row = blockIdx.x, heads = kv * group, sequence = row / heads;
  const Pages pages{table + sequence * ld_table, page, kv, row % heads / group};
  decode(q.row(row), k, v, pages, length[sequence], d, scale, q.aligned(), o.row(row), o.aligned());
}

}  // namespace rows

#define DECODE_ENTRY(name, Element)                                                               \
  extern "C" __global__ void __launch_bounds__(rows::kThreads)                                    \
      name(const rows::Bf16* q, const rows::Bf16* k, const rows::Bf16* v, const int* table,       \
           const int* length, Element* o, long long kv, long long group, int d, int page,         \
           long long ldq, long long ldk, long long ldv, long long ldo, long long ld_table,        \
           float scale) {                                                                         \
    rows::decode_block<Element>({q, ldq}, {k, ldk}, {v, ldv}, table, length, {o, ldo}, kv, group, \
                                d, page, ld_table, scale);                                        \
  }

DECODE_ENTRY(paged_attention_decode_bf16_bf16, rows::Bf16)
DECODE_ENTRY(paged_attention_decode_bf16_f32, float)
