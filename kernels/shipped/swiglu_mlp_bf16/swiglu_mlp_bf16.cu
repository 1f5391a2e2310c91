// SPDX-License-Identifier: MIT
// swiglu_mlp_bf16: the MLP of a transformer block in two launches,
//
//   h = silu(x w_gate^T) * (x w_up^T)     one GEMM over both weights; their sums meet in registers
//   y = h w_down^T                        of h as it was stored
//
// Sums are f32, one accumulator per element, k increasing; silu and the product are f32 too; h is
// rounded to bf16 once. Weights are stored [out, in] (nk) or [in, out] (kn).
#include "device/block_tile.cuh"
#include "device/paired_operand.cuh"
#include "device/silu.cuh"

namespace {

using namespace device;

// x [tokens, d], weights [hidden, d], h [tokens, hidden].
template <bool kAlongK>
__device__ __forceinline__ void hidden_tile(const void* x, const void* gate, const void* up,
                                            void* h, int tokens, int d, int hidden, long long ld_x,
                                            long long ld_weights, long long ld_h) {
  const unsigned down = tiles(tokens, kTileM);
  const int first_row = static_cast<int>(blockIdx.x % down) * kTileM;
  const int first_column = static_cast<int>(blockIdx.x / down) * kPairedTileN;
  Sums<Bf16, Bf16> sums;
  accumulate(sums, Operand<Bf16>(x, ld_x, tokens, true),
             Operand<PairedBf16>(gate, up, ld_weights, hidden, kAlongK), first_row, first_column,
             d);
  float product[4][2][4];
  combine_pairs(sums.x, product, [](float g, float u) { return __fmul_rn(silu(g), u); });
  store<OutBf16>(product, h, ld_h, paired_place(first_row, first_column, tokens, hidden));
}

// h [tokens, hidden], weights [d_out, hidden], y [tokens, d_out].
template <bool kAlongK, typename Out>
__device__ __forceinline__ void output_tile(const void* h, const void* down, void* y, int tokens,
                                            int hidden, int d_out, long long ld_h,
                                            long long ld_weights, long long ld_y) {
  const BlockTile tile(tokens);
  Sums<Bf16, Bf16> sums;
  accumulate(sums, Operand<Bf16>(h, ld_h, tokens, true),
             Operand<Bf16>(down, ld_weights, d_out, kAlongK), tile.first_row, tile.first_column,
             hidden);
  store<Out>(sums.x, y, ld_y, tile.place(tokens, d_out));
}

}  // namespace

#define HIDDEN_ENTRY(weights, along_k)                                                         \
  extern "C" __global__ void __launch_bounds__(kThreads) swiglu_mlp_bf16_hidden_##weights(     \
      const void* x, const void* gate, const void* up, void* h, int tokens, int d, int hidden, \
      long long ld_x, long long ld_weights, long long ld_h) {                                  \
    hidden_tile<along_k>(x, gate, up, h, tokens, d, hidden, ld_x, ld_weights, ld_h);           \
  }

HIDDEN_ENTRY(nk, true)
HIDDEN_ENTRY(kn, false)

#define OUTPUT_ENTRY(weights, out, along_k, Out)                                                   \
  extern "C" __global__ void __launch_bounds__(kThreads) swiglu_mlp_bf16_output_##weights##_##out( \
      const void* h, const void* down, void* y, int tokens, int hidden, int d_out, long long ld_h, \
      long long ld_weights, long long ld_y) {                                                      \
    output_tile<along_k, Out>(h, down, y, tokens, hidden, d_out, ld_h, ld_weights, ld_y);          \
  }

OUTPUT_ENTRY(nk, bf16, true, OutBf16)
OUTPUT_ENTRY(nk, f32, true, OutF32)
OUTPUT_ENTRY(kn, bf16, false, OutBf16)
OUTPUT_ENTRY(kn, f32, false, OutF32)
