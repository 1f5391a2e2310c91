// SPDX-License-Identifier: MIT
// CUTLASS 2.x, s8 on sm_80: 128x128x64, three stages; D in s8, clamped, or in s32.
#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/epilogue/thread/linear_combination_clamp.h"
#include "cutlass/gemm/kernel/default_gemm_universal.h"
#include "universal_2x.h"

using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;

template <typename Out, typename Epilogue>
using Gemm = typename cutlass::gemm::kernel::DefaultGemmUniversal<
    int8_t, Row, cutlass::ComplexTransform::kNone, 16, int8_t, Column,
    cutlass::ComplexTransform::kNone, 16, Out, Row, int32_t, cutlass::arch::OpClassTensorOp,
    cutlass::arch::Sm80, cutlass::gemm::GemmShape<128, 128, 64>,
    cutlass::gemm::GemmShape<64, 64, 64>, cutlass::gemm::GemmShape<16, 8, 32>, Epilogue,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3,
    cutlass::arch::OpMultiplyAddSaturate>::GemmKernel;

using ToS8 =
    Gemm<int8_t, cutlass::epilogue::thread::LinearCombinationClamp<int8_t, 8, int32_t, float>>;

UNIVERSAL_ENTRY(gemm_s8_s8, ToS8)
