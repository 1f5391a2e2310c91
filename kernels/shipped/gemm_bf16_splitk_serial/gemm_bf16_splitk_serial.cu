// SPDX-License-Identifier: MIT
// gemm_bf16_splitk_serial: D = relu(alpha * A * B + beta * C + bias) with k cut into parts that are
// added in turns. The blocks of a tile add to one f32 matrix [m, n] one after the other, in the
// order of their parts; the last one finishes D. So the result is the same on every run, and one
// matrix is enough; the price is waiting.
//
// Each tile has a counter, zeroed by the first launch: the part whose turn it is. A block computes
// first and only then waits. The wait ends because blocks of earlier parts come earlier in the
// grid and have been started: CUDA does not promise that order, but all chips keep it, and CUTLASS
// relies on it too. A counter from which blocks take their part would need no such order.
#include "device/gemm_epilogue.cuh"
#include "device/split_k.cuh"

using namespace device;

namespace {

// The whole block returns when it is the turn of `part`; what earlier parts wrote is then visible
// to it.
__device__ __forceinline__ void wait_for_turn(const Bits32* turn, int part) {
  if (threadIdx.x == 0) {
    Bits32 now;
    do {
      asm volatile("ld.acquire.gpu.global.b32 %0, [%1];"
                   : "=r"(now)
                   : "l"(__cvta_generic_to_global(turn))
                   : "memory");
    } while (now != static_cast<Bits32>(part));
  }
  __syncthreads();
}

// Ends the turn when the whole block has written.
__device__ __forceinline__ void pass_turn(Bits32* turn, int part) {
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(__cvta_generic_to_global(turn)),
                 "r"(part + 1)
                 : "memory");
  }
}

__device__ __forceinline__ void add_part_in_turn(const Operand<Bf16>& a, const Operand<Bf16>& b,
                                                 float* workspace, Bits32* turns, int k, int splits,
                                                 const GemmEpilogue& epilogue) {
  const int m = a.extent, n = b.extent;
  const BlockTile tile(m);
  const SplitK<Bf16> split(k, splits);
  if (split.empty()) return;
  Sums<Bf16, Bf16> sums;
  sum_part(sums, a, b, tile, split);

  const Place place = tile.place(m, n);
  Bits32* const turn = turns + blockIdx.x;
  wait_for_turn(turn, split.part);
  if (split.part > 0) add_partial(sums.x, workspace, n, place);
  if (split.part == split.parts - 1) {
    epilogue.finish(sums.x, place);
  } else {
    store<OutF32>(sums.x, workspace, n, place);
    pass_turn(turn, split.part);
  }
}

}  // namespace

// The counters lie behind the matrix, one for each tile.
extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_bf16_splitk_serial_zero(float* workspace, int m, int n, int counters) {
  const long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < counters) reinterpret_cast<Bits32*>(workspace + static_cast<long long>(m) * n)[i] = 0;
}

// Second launch: gemm_bf16_splitk_serial_<layout>.
#define TURN(layout, a_along_k, b_along_k)                                                         \
  extern "C" __global__ void __launch_bounds__(kThreads) gemm_bf16_splitk_serial_##layout(         \
      const void* a, const void* b, float* workspace, const void* c, const float* bias, void* d,   \
      int m, int n, int k, int splits, long long lda, long long ldb, long long ldc, long long ldd, \
      float alpha, float beta, int bias_kind, int relu, int out) {                                 \
    Bits32* const turns = reinterpret_cast<Bits32*>(workspace + static_cast<long long>(m) * n);    \
    const GemmEpilogue epilogue{                                                                   \
        {}, {}, alpha, beta, c, ldc, {bias_kind, bias}, relu, d, ldd, out};                        \
    add_part_in_turn(Operand<Bf16>(a, lda, m, a_along_k), Operand<Bf16>(b, ldb, n, b_along_k),     \
                     workspace, turns, k, splits, epilogue);                                       \
  }

TURN(nn, true, false)
TURN(nt, true, true)
TURN(tn, false, false)
TURN(tt, false, true)
