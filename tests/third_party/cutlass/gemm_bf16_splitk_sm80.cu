// SPDX-License-Identifier: MIT
// CUTLASS 2.x, bf16 on sm_80 with split-K: blocks of a tile take turns at adding to D, which is f32
// (serial split-K).
#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/gemm/kernel/default_gemm_universal.h"
#include "universal_2x.h"

using Bf16 = cutlass::bfloat16_t;
using Gemm = typename cutlass::gemm::kernel::DefaultGemmUniversal<
    Bf16, cutlass::layout::ColumnMajor, cutlass::ComplexTransform::kNone, 8, Bf16,
    cutlass::layout::RowMajor, cutlass::ComplexTransform::kNone, 8, float,
    cutlass::layout::RowMajor, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<64, 64, 32>, cutlass::gemm::GemmShape<32, 32, 32>,
    cutlass::gemm::GemmShape<16, 8, 16>,
    cutlass::epilogue::thread::LinearCombination<float, 4, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3,
    cutlass::arch::OpMultiplyAdd>::GemmKernel;

// As the host does it: cudaMemsetAsync in UniversalParamsBase::init_workspace().
extern "C" __global__ void clear_semaphores(int* semaphores, int tiles) {
  const int tile = blockIdx.x * blockDim.x + threadIdx.x;
  if (tile < tiles) semaphores[tile] = 0;
}

// `splits` parts of k that are not empty, each of `k_per_split`, as
// UniversalParamsBase::init_grid_tiled_shape() has them.
extern "C" __global__ void __launch_bounds__(Gemm::kThreadCount)
    gemm_bf16_splitk(const void* a, const void* b, void* d, int m, int n, int k, long long ld_a,
                     long long ld_b, long long ld_d, int splits, int k_per_split, int* semaphores) {
  run_universal<Gemm>({a, b, d, d, m, n, k, 1, ld_a, ld_b, ld_d, ld_d, 0, 0, 0, 0}, {1.0f, 0.0f},
                      splits, k_per_split, semaphores);
}
