// SPDX-License-Identifier: MIT
// Runs a kernel of CUTLASS 2.x, cutlass::gemm::kernel::GemmUniversal, from plain arguments. CUTLASS
// fills its Params on the host, where it precomputes the steps of its iterators; the constructors
// that do so compile for the device as well, so a kernel can fill them itself. All arithmetic,
// every address and every barrier are CUTLASS's own.
#pragma once

#include "cutlass/gemm/gemm.h"

struct Matrices {
  const void* a;
  const void* b;
  const void* c;
  void* d;
  int m, n, k, batch;
  long long ld_a, ld_b, ld_c, ld_d;
  long long batch_stride_a, batch_stride_b, batch_stride_c, batch_stride_d;  // in elements
};

// A GEMM, a batch of them, or one whose k is split over blocks that take turns: the semaphores, one
// for each tile, are 0.
template <typename Gemm>
__device__ void run_universal(const Matrices& matrices,
                              typename Gemm::EpilogueOutputOp::Params epilogue, int splits = 1,
                              int k_per_split = 0, int* semaphores = nullptr) {
  extern __shared__ __align__(16) unsigned char shared[];
  using Swizzle = typename Gemm::ThreadblockSwizzle;
  using Tile = typename Gemm::ThreadblockShape;
  typename Gemm::Params params;
  params.mode = matrices.batch > 1 ? cutlass::gemm::GemmUniversalMode::kBatched
                                   : cutlass::gemm::GemmUniversalMode::kGemm;
  params.problem_size = {matrices.m, matrices.n, matrices.k};
  params.batch_count = splits > 1 ? splits : matrices.batch;
  params.grid_tiled_shape = Swizzle::get_tiled_shape(
      params.problem_size, {Tile::kM, Tile::kN, Tile::kK}, params.batch_count);
  params.swizzle_log_tile = Swizzle::get_log_tile(params.grid_tiled_shape);
  params.gemm_k_size = splits > 1 ? k_per_split : matrices.k;
  params.semaphore = semaphores;
  params.params_A = typename Gemm::LayoutA(matrices.ld_a);
  params.params_B = typename Gemm::LayoutB(matrices.ld_b);
  params.params_C = typename Gemm::LayoutC(matrices.ld_c);
  params.params_D = typename Gemm::LayoutC(matrices.ld_d);
  params.output_op = epilogue;
  params.ptr_A = const_cast<void*>(matrices.a);
  params.ptr_B = const_cast<void*>(matrices.b);
  params.ptr_C = const_cast<void*>(matrices.c);
  params.ptr_D = matrices.d;
  params.batch_stride_A = matrices.batch_stride_a;
  params.batch_stride_B = matrices.batch_stride_b;
  params.batch_stride_C = matrices.batch_stride_c;
  params.batch_stride_D = matrices.batch_stride_d;
  params.ptr_gather_A_indices = nullptr;
  params.ptr_gather_B_indices = nullptr;
  params.ptr_scatter_D_indices = nullptr;
  Gemm::invoke(params, *reinterpret_cast<typename Gemm::SharedStorage*>(shared));
}

// The entry point NAME for one kernel, with alpha and beta.
#define UNIVERSAL_ENTRY(name, ...)                                                               \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__::kThreadCount)                        \
      name(const void* a, const void* b, const void* c, void* d, int m, int n, int k, int batch, \
           long long ld_a, long long ld_b, long long ld_c, long long ld_d,                       \
           long long batch_stride_a, long long batch_stride_b, long long batch_stride_c,         \
           long long batch_stride_d, float alpha, float beta) {                                  \
    run_universal<__VA_ARGS__>({a, b, c, d, m, n, k, batch, ld_a, ld_b, ld_c, ld_d,              \
                                batch_stride_a, batch_stride_b, batch_stride_c, batch_stride_d}, \
                               {alpha, beta});                                                   \
  }
