// SPDX-License-Identifier: MIT
// Attention with the keys of every sequence cut into parts, so that one query with many keys still
// fills the device. A block takes 64 queries of one head and one part, and leaves what it has in
// the workspace: sums that are not divided, relative to the part's own maxima. A warp for each row
// then joins the parts, in their order.
//
// Part p has tiles p * n ... (p + 1) * n - 1 of its sequence's keys, n = ceil(all tiles / parts),
// for every row. A part may be empty, or hidden from a row: its sums are 0.
#pragma once

#include "device/attention/forward.cuh"
#include "device/attention/output.cuh"

namespace device {

__device__ __forceinline__ KeyRange tiles_of_part(int keys, int parts, int part) {
  const int all = keys / kAttentionRows + (keys % kAttentionRows != 0);
  const int tiles = (all + parts - 1) / parts;
  return {min(all, part * tiles), min(all, (part + 1) * tiles)};
}

// What the parts have of every row of O, counted as LSE's elements are:
// o [parts, rows, width], then maxima and sums [parts, rows].
struct PartialRows {
  float *o, *maxima, *sums;
  long long rows;
  int width;

  __device__ __forceinline__ PartialRows(float* workspace, int parts, long long rows_, int width_)
      : o(workspace),
        maxima(workspace + parts * rows_ * width_),
        sums(maxima + parts * rows_),
        rows(rows_),
        width(width_) {}

  __device__ __forceinline__ long long at(int part, long long row) const {
    return part * rows + row;
  }
};

// One block's part of its rows.
template <int kWidth>
__device__ __forceinline__ void attend_part(const ForwardArguments& x, float* workspace,
                                            int parts) {
  const OwnQueries rows(x);
  if (rows.tile.queries == 0) return;
  const int head = blockIdx.y, part = blockIdx.z;
  const Logits logits(x.scale, x.softcap, x.bias || x.sink);
  Strip<kWidth> o = {};
  SoftmaxRow softmax[2];
  KeyRange tiles = tiles_of_part(rows.tile.keys, parts, part);
  tiles.first = max(tiles.first, rows.key_tiles.first);
  tiles.end = min(tiles.end, rows.key_tiles.end);
  attend<kWidth>(o, softmax, x, logits, rows, tiles);

  const PartialRows partial(workspace, parts, x.all_rows(), x.width_v);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float sum = sum_of_row(softmax[i].sum);
    if (!rows.exists(i)) continue;
    const int query = rows.tile.first_query + rows.query[i];
    const long long row = partial.at(part, x.row(rows.tile.batch, head, query));
    store_row<OutF32, kWidth, Bf16>(o, i, partial.o, row * x.width_v, x.width_v);
    if (threadIdx.x % 4 == 0) {
      partial.maxima[row] = softmax[i].maximum;
      partial.sums[row] = sum;
    }
  }
}

// One lane's columns of the row that its warp has.
__device__ __forceinline__ void join_parts(const ForwardArguments& x, float* workspace, int parts) {
  const long long row = (blockIdx.x * static_cast<long long>(kAttentionThreads) + threadIdx.x) / 32;
  if (row >= x.all_rows()) return;
  const PartialRows partial(workspace, parts, x.all_rows(), x.width_v);
  const Logits logits(x.scale, x.softcap, x.bias || x.sink);
  const int query = static_cast<int>(row % x.length());
  const int head = static_cast<int>(row / x.length() % x.heads);
  const int batch = static_cast<int>(row / x.length() / x.heads);

  SoftmaxRow softmax;  // of all parts
  const float sink = x.sink ? x.sink[head] : minus_infinity();
  for (int part = 0; part < parts; ++part)
    softmax.maximum = fmaxf(softmax.maximum, partial.maxima[partial.at(part, row)]);
  softmax.maximum = fmaxf(softmax.maximum, sink);
  const auto factor = [&](int part) {
    const float maximum = partial.maxima[partial.at(part, row)];
    return exp2_approximate(__fmul_rn(__fsub_rn(maximum, softmax.base()), logits.exponent));
  };
  for (int part = 0; part < parts; ++part)
    softmax.sum =
        __fadd_rn(softmax.sum, __fmul_rn(partial.sums[partial.at(part, row)], factor(part)));
  if (x.sink) softmax.sum = __fadd_rn(softmax.sum, softmax.probability(sink, logits.exponent));

  const bool empty = softmax.empty(softmax.sum);
  const float divisor = __frcp_rn(softmax.sum);
  const long long offset = x.strides_o.at(batch, head, query);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int column = lane; column < x.width_v; column += 32) {
    float sum = 0.0f;
    for (int part = 0; part < parts; ++part) {
      const float value = partial.o[partial.at(part, row) * x.width_v + column];
      sum = __fadd_rn(sum, __fmul_rn(value, factor(part)));
    }
    const float result = empty ? 0.0f : __fmul_rn(sum, divisor);
    if (x.out == OutBf16::kCode) {
      OutBf16::store(static_cast<Bits16*>(x.o) + offset + column, result);
    } else {
      OutF32::store(static_cast<float*>(x.o) + offset + column, result);
    }
  }
  if (lane == 0) x.lse[row] = softmax.log_sum_exp(softmax.sum, logits.scale_left);
}

}  // namespace device
