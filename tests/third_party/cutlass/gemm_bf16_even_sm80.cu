// SPDX-License-Identifier: MIT
// CUTLASS 2.x, bf16 on sm_80, for rows that begin at any even element: cp.async of 4 bytes.
#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/gemm/kernel/default_gemm_universal.h"
#include "universal_2x.h"

using Bf16 = cutlass::bfloat16_t;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;

template <int alignment, int stages>
using Gemm = typename cutlass::gemm::kernel::DefaultGemmUniversal<
    Bf16, Row, cutlass::ComplexTransform::kNone, alignment, Bf16, Column,
    cutlass::ComplexTransform::kNone, alignment, Bf16, Row, float, cutlass::arch::OpClassTensorOp,
    cutlass::arch::Sm80, cutlass::gemm::GemmShape<64, 64, 32>, cutlass::gemm::GemmShape<32, 32, 32>,
    cutlass::gemm::GemmShape<16, 8, 16>,
    cutlass::epilogue::thread::LinearCombination<Bf16, 1, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, stages,
    cutlass::arch::OpMultiplyAdd>::GemmKernel;

using Even = Gemm<2, 3>;

UNIVERSAL_ENTRY(gemm_bf16_even, Even)
