// SPDX-License-Identifier: MIT
// A GEMM of CUTLASS 3.x for sm_90a as CollectiveBuilder makes it: A by rows, B by columns, D by
// rows, clusters of one block, as many stages as fit into shared memory. The kernel is
// cutlass::device_kernel, unchanged, with its Params by value.
#pragma once

#include "cutlass/cutlass.h"

#include "cute/tensor.hpp"
#include "cutlass/device_kernel.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/kernel/gemm_universal.hpp"

template <typename Element, typename Out, typename Tile, typename MainloopSchedule,
          typename EpilogueSchedule>
struct Collective {
  static constexpr int kAligned = 16 / sizeof(Element), kOutAligned = 16 / sizeof(Out);
  using Row = cutlass::layout::RowMajor;
  using Column = cutlass::layout::ColumnMajor;
  using Cluster = cute::Shape<cute::_1, cute::_1, cute::_1>;
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, Out, Row, kOutAligned, Out,
      Row, kOutAligned, EpilogueSchedule>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, Row, kAligned, Element, Column,
      kAligned, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Epilogue::SharedStorage))>,
      MainloopSchedule>::CollectiveOp;
  using Gemm =
      cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>;
};

#define COLLECTIVE_ENTRY(kernel)                                                  \
  template __global__ void cutlass::device_kernel<kernel>(const __grid_constant__ \
                                                          typename kernel::Params);
