// SPDX-License-Identifier: MIT
// Attention forward with e4m3 in Q, K, V and P, whose blocks may have scales. Those of V cannot
// wait for the end of the row: a tile's products with V are added from zero, and their sum times
// the scale to O, as GEMMs with block scales promote theirs. A tile that lies in two blocks of V
// has two such sums, each of the keys of one block.
#pragma once

#include "device/attention/products_e4m3.cuh"

#include "device/attention/block_scales.cuh"

namespace device {

template <>
struct AttentionProducts<E4m3> {
  using Value = E4m3;

  __device__ __forceinline__ static BlockLogits logits(const ForwardArguments& x,
                                                       const OwnQueries& rows, float scale) {
    return BlockLogits(x, rows, scale);
  }
};

// Of a tile's probabilities those of keys [first, end), the others 0.
__device__ __forceinline__ void select_keys(Bits32 (&own)[2][4], const Bits32 (&p)[2][4], int first,
                                            int end) {
  // The bytes of four keys from `key` on that come before `limit`.
  const auto before = [](int limit, int key) {
    const int bytes = min(max(limit - key, 0), 4);
    return bytes == 4 ? 0xffffffffu : (1u << 8 * bytes) - 1;
  };
#pragma unroll
  for (int k = 0; k < 2; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = 32 * k + i / 2 * 16 + static_cast<int>(threadIdx.x) % 4 * 4;
      own[k][i] = p[k][i] & before(end, key) & ~before(first, key);
    }
}

// x += scale * (P * B), the sum in brackets by itself, then rounded once. It takes 16 columns at a
// time: registers for all of them twice would be too many.
template <int kWidth>
__device__ __forceinline__ void add_scaled_product(Strip<kWidth>& x, const Bits32 (&p)[2][4],
                                                   Bits32 b, int width, float scale) {
  using Tile = AttentionTile<kWidth, E4m3>;
  const Bits32 from = paired_rows<Tile>(b);
#pragma unroll
  for (int n = 0; n < kWidth; n += 16) {
    if (n >= width) break;
    Strip<16> product = {};
    each_constant<2>([&](auto k) {
      multiply_columns<32 * k.value, Tile, E4m3, E4m3>(product[0], product[1], p[k.value], from, n);
    });
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int v = 0; v < 4; ++v)
        x[n / 8 + j][v] = __fmaf_rn(product[j][v], scale, x[n / 8 + j][v]);
  }
}

template <>
class ValueProducts<E4m3> {
 public:
  __device__ __forceinline__ ValueProducts(const ForwardArguments& x, const QueryTile& tile)
      : scales_(x.v_blocks, x, tile) {}

  template <int kWidth>
  __device__ __forceinline__ void add(Strip<kWidth>& o, const Bits32 (&p)[2][4], Bits32 tile,
                                      int width, int first_key) const {
    if (!scales_.any()) {
      multiply_strip<kWidth, E4m3>(o, p, tile, width);
      return;
    }
    const TileScales scales = scales_.of_tile(first_key);
#pragma unroll 1
    for (int first = 0; first < kAttentionRows;) {
      const int end = first == 0 ? scales.boundary : kAttentionRows;
      Bits32 own[2][4];
      select_keys(own, p, first, end);
      add_scaled_product<kWidth>(o, own, tile, width, first == 0 ? scales.first : scales.second);
      first = end;
    }
  }

 private:
  KeyScales scales_;
};

}  // namespace device
