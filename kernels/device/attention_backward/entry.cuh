// SPDX-License-Identifier: MIT
// Entry points of attention backward. All have the same parameters, which the manifests list in
// this order; BACKWARD_ENTRY(name, body) passes them on to body(const BackwardArguments&).
// SCALED_BACKWARD_ENTRY does with the scales after them.
#pragma once

#include "device/attention_backward/weights.cuh"

// clang-format off
#define BACKWARD_PARAMETERS                                                                       \
  const void* q, const void* k, const void* v, const void* o, const void* d_o,                    \
      const float* lse, const float* bias, const int* query_starts, const int* key_starts,        \
      void* dq, void* dk, void* dv, float* workspace, int batch, int heads, int group,            \
      int queries, int keys, int d, int width_v, int causal, int window_left, int window_right,   \
      float softcap, float scale, long long q_batch, long long q_head,                            \
      long long q_row, long long k_batch, long long k_head, long long k_row, long long v_batch,   \
      long long v_head, long long v_row, long long o_batch, long long o_head, long long o_row,    \
      long long dk_batch, long long dv_batch, int out

#define BACKWARD_ARGUMENTS                                                                        \
        q, k, v, o, d_o, lse, bias, dq, dk, dv, workspace,                                        \
        {batch, queries, keys, query_starts, key_starts}, heads, group, d, width_v,               \
        causal, window_left, window_right, softcap, scale,                                        \
        {q_batch, q_head, q_row}, {k_batch, k_head, k_row}, {v_batch, v_head, v_row},             \
        {o_batch, o_head, o_row}, {dk_batch, k_head, k_row}, {dv_batch, v_head, v_row}, out

#define BACKWARD_ENTRY(name, ...)                                                                 \
  extern "C" __global__ void __launch_bounds__(device::kAttentionThreads) name(                   \
      BACKWARD_PARAMETERS) {                                                                      \
    __VA_ARGS__(device::BackwardArguments{BACKWARD_ARGUMENTS});                                   \
  }

#define SCALED_BACKWARD_ENTRY(name, ...)                                                          \
  extern "C" __global__ void __launch_bounds__(device::kAttentionThreads) name(                   \
      BACKWARD_PARAMETERS, const float* q_scale, const float* k_scale, const float* v_scale,      \
      const float* do_scale, const float* ds_scale) {                                             \
    __VA_ARGS__(device::BackwardArguments{BACKWARD_ARGUMENTS, q_scale, k_scale, v_scale,          \
                                          do_scale, ds_scale});                                   \
  }
// clang-format on
