// SPDX-License-Identifier: MIT
// CUTLASS 2.x, bf16 on sm_80: 128x128x32, four stages, operands by cp.async of 16 bytes.
#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/gemm/kernel/default_gemm_universal.h"
#include "universal_2x.h"

using Bf16 = cutlass::bfloat16_t;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;

template <typename LayoutA, typename LayoutB>
using Gemm = typename cutlass::gemm::kernel::DefaultGemmUniversal<
    Bf16, LayoutA, cutlass::ComplexTransform::kNone, 8, Bf16, LayoutB,
    cutlass::ComplexTransform::kNone, 8, Bf16, Row, float, cutlass::arch::OpClassTensorOp,
    cutlass::arch::Sm80, cutlass::gemm::GemmShape<128, 128, 32>,
    cutlass::gemm::GemmShape<64, 64, 32>, cutlass::gemm::GemmShape<16, 8, 16>,
    cutlass::epilogue::thread::LinearCombination<Bf16, 8, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 4,
    cutlass::arch::OpMultiplyAdd>::GemmKernel;

UNIVERSAL_ENTRY(gemm_bf16_nn, Gemm<Row, Row>)
UNIVERSAL_ENTRY(gemm_bf16_nt, Gemm<Row, Column>)
UNIVERSAL_ENTRY(gemm_bf16_tn, Gemm<Column, Row>)
UNIVERSAL_ENTRY(gemm_bf16_tt, Gemm<Column, Column>)
