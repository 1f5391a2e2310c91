// SPDX-License-Identifier: MIT
// CUTLASS 2.x, e4m3 on sm_89: 128x128x64, three stages. With fast accumulation one accumulator goes
// through all of k; without it a second one takes 64 of k at a time and is added in f32.
#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/gemm/kernel/default_gemm_universal.h"
#include "universal_2x.h"

using E4m3 = cutlass::float_e4m3_t;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;

template <typename Operator>
using Gemm = typename cutlass::gemm::kernel::DefaultGemmUniversal<
    E4m3, Row, cutlass::ComplexTransform::kNone, 16, E4m3, Column, cutlass::ComplexTransform::kNone,
    16, cutlass::bfloat16_t, Row, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm89,
    cutlass::gemm::GemmShape<128, 128, 64>, cutlass::gemm::GemmShape<64, 64, 64>,
    cutlass::gemm::GemmShape<16, 8, 32>,
    cutlass::epilogue::thread::LinearCombination<cutlass::bfloat16_t, 8, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3, Operator>::GemmKernel;

UNIVERSAL_ENTRY(gemm_e4m3_fast, Gemm<cutlass::arch::OpMultiplyAddFastAccum>)
UNIVERSAL_ENTRY(gemm_e4m3_staged, Gemm<cutlass::arch::OpMultiplyAdd>)
