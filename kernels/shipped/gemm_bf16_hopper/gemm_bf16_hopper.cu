// SPDX-License-Identifier: MIT
// gemm_bf16_hopper: D = relu(alpha * A * B + beta * C + bias) on Hopper's own tensor core
// instruction, for any M, N, K and all four operand layouts, as long as bulk copies can read the
// operands: rows and matrices begin at multiples of 16 bytes.
//
// device/hopper_pipeline.cuh shows how a block works. The accumulation order is what the contract
// in gemm_bf16_hopper.toml says: one f32 accumulator per output, from 0, k increasing, one
// m64n128k16 at a time; beyond k, bulk copies give zeros.
#include "device/epilogue.cuh"
#include "device/hopper_pipeline.cuh"
#include "device/staged_store.cuh"

namespace {

using namespace device;

// Where a step finds what it needs besides the operands; `d` stays null where D has a map.
struct Epilogue {
  const void* c;
  const float* bias;
  void* d;
  long long ldc, ldd, stride_c, stride_d;
  float alpha, beta;
  int bias_kind, relu;
};

// The one thread that copies. A or B that all matrices of a batch share has one matrix in its map.
template <typename A, typename B>
__device__ __forceinline__ void copy_operands(const Ring& ring, TileWalk walk, const A& a,
                                              const B& b, int steps, int matrices_a,
                                              int matrices_b) {
  prefetch(a.map);
  prefetch(b.map);
  RingPosition at;
  for (; !walk.done(); walk.advance()) {
    const int matrix_a = matrices_a > 1 ? walk.matrix() : 0;
    const int matrix_b = matrices_b > 1 ? walk.matrix() : 0;
    for (int step = 0; step < steps; ++step, at.advance()) {
      ring.begin_copies(at);
      a.copy(ring.a(at), ring.full(at.stage), walk.row(), step * A::kStageK, matrix_a);
      b.copy(ring.b(at), ring.full(at.stage), walk.column(), step * B::kStageK, matrix_b);
    }
  }
}

// One tile's sums. The products of a stage are in flight while those of the next are asked for;
// only then is the stage left.
template <bool kAAlongK, bool kBAlongK>
__device__ __forceinline__ void multiply(WarpgroupSums& sums, const Ring& ring, RingPosition& at,
                                         int steps) {
  using A = BulkOperand<16, kAAlongK>;
  using B = BulkOperand<16, kBAlongK>;
  const Bits32 box = threadIdx.x / kWarpgroupThreads * kBoxBytes;  // of A
  RingPosition last;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    ring.wait_for_copies(at);
    const Bits64 a = A::descriptor(ring.a(at) + box), b = B::descriptor(ring.b(at));
    warpgroup_fence(sums);
#pragma unroll
    for (int i = 0; i < kRingKBytes / 32; ++i)
      multiply_bf16<!kAAlongK, !kBAlongK>(sums, a + i * (A::kStep / 16), b + i * (B::kStep / 16));
    warpgroup_commit();
    warpgroup_wait<1>(sums);
    if (step > 0) ring.leave(last);
    last = at;
    at.advance();
  }
  warpgroup_wait<0>(sums);
  if (steps > 0) ring.leave(last);
}

// `map_d` null: D is stored value by value.
template <bool kAAlongK, bool kBAlongK, typename Out>
__device__ __forceinline__ void gemm(const TensorMap& map_a, const TensorMap& map_b,
                                     const TensorMap* map_d, int m, int n, int k, int batch,
                                     int matrices_a, int matrices_b, const Epilogue& epilogue) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  const Ring ring = hopper_ring(shared_memory);
  TileWalk walk(m, n, batch);
  const BulkOperand<16, kAAlongK> a{map_a};
  const BulkOperand<16, kBAlongK> b{map_b};
  const int steps = static_cast<int>(tiles(k, a.kStageK));

  if (threadIdx.x / kWarpgroupThreads == kMultiplying) {
    keep_registers<kCopyingRegisters>();
    if (threadIdx.x / 32 == kMultiplying * kWarpgroupThreads / 32 && is_elected())
      copy_operands(ring, walk, a, b, steps, matrices_a, matrices_b);
    return;
  }

  take_registers<kMultiplyingRegisters>();
  const WarpgroupPart part(threadIdx.x);
  const StagedStore staged(ring.first + Ring::kBytes, threadIdx.x);
  for (RingPosition at; !walk.done(); walk.advance()) {
    WarpgroupSums x = {};
    multiply<kAAlongK, kBAlongK>(x, ring, at, steps);

    const Place place(walk.row(), walk.column(), m, n, part);
    const long long matrix = walk.matrix();
    each_value(x, [&](float& value, int, int) { value = __fmul_rn(epilogue.alpha, value); });
    add_c<Out>(x, epilogue.beta,
               static_cast<const typename Out::Stored*>(epilogue.c) + matrix * epilogue.stride_c,
               epilogue.ldc, place);
    add_bias(x, {epilogue.bias_kind, epilogue.bias}, place);
    if (epilogue.relu) apply_relu(x);
    if (map_d != nullptr) {
      staged.store(x, *map_d, walk.row(), walk.column(), walk.matrix());
    } else {
      store<Out>(x, static_cast<typename Out::Stored*>(epilogue.d) + matrix * epilogue.stride_d,
                 epilogue.ldd, place);
    }
  }
  if (map_d != nullptr) staged.finish();
}

}  // namespace

// Entry points gemm_bf16_hopper_<layout>_<out> store D value by value, and
// gemm_bf16_hopper_<layout>_bulk in bulk, in bf16; the parameters of both are listed, in this
// order, in gemm_bf16_hopper.toml.
#define GEMM_BF16_HOPPER_ENTRY(name, a_along_k, b_along_k, Out)                                  \
  extern "C" __global__ void __launch_bounds__(kHopperThreads, 1) gemm_bf16_hopper_##name(       \
      const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,          \
      const void* c, const float* bias, void* d, int m, int n, int k, int batch, int matrices_a, \
      int matrices_b, long long ldc, long long ldd, long long stride_c, long long stride_d,      \
      float alpha, float beta, int bias_kind, int relu) {                                        \
    gemm<a_along_k, b_along_k, Out>(                                                             \
        map_a, map_b, nullptr, m, n, k, batch, matrices_a, matrices_b,                           \
        {c, bias, d, ldc, ldd, stride_c, stride_d, alpha, beta, bias_kind, relu});               \
  }

#define GEMM_BF16_HOPPER_BULK_ENTRY(name, a_along_k, b_along_k)                                \
  extern "C" __global__ void __launch_bounds__(kHopperThreads, 1) gemm_bf16_hopper_##name(     \
      const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,        \
      const __grid_constant__ TensorMap map_d, const void* c, const float* bias, int m, int n, \
      int k, int batch, int matrices_a, int matrices_b, long long ldc, long long stride_c,     \
      float alpha, float beta, int bias_kind, int relu) {                                      \
    gemm<a_along_k, b_along_k, OutBf16>(                                                       \
        map_a, map_b, &map_d, m, n, k, batch, matrices_a, matrices_b,                          \
        {c, bias, nullptr, ldc, 0, stride_c, 0, alpha, beta, bias_kind, relu});                \
  }

GEMM_BF16_HOPPER_ENTRY(nn_bf16, true, false, OutBf16)
GEMM_BF16_HOPPER_ENTRY(nt_bf16, true, true, OutBf16)
GEMM_BF16_HOPPER_ENTRY(tn_bf16, false, false, OutBf16)
GEMM_BF16_HOPPER_ENTRY(tt_bf16, false, true, OutBf16)
GEMM_BF16_HOPPER_ENTRY(nn_f32, true, false, OutF32)
GEMM_BF16_HOPPER_ENTRY(nt_f32, true, true, OutF32)
GEMM_BF16_HOPPER_ENTRY(tn_f32, false, false, OutF32)
GEMM_BF16_HOPPER_ENTRY(tt_f32, false, true, OutF32)
GEMM_BF16_HOPPER_BULK_ENTRY(nn_bulk, true, false)
GEMM_BF16_HOPPER_BULK_ENTRY(nt_bulk, true, true)
GEMM_BF16_HOPPER_BULK_ENTRY(tn_bulk, false, false)
GEMM_BF16_HOPPER_BULK_ENTRY(tt_bulk, false, true)
