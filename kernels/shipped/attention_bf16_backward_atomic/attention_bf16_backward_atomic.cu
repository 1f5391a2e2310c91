// SPDX-License-Identifier: MIT
// attention_bf16_backward_atomic: as attention_bf16_backward, but dQ is added up atomically by the
// blocks that compute dK: five products instead of seven, in an order that differs from run to run.
#include "device/attention_backward/atomic.cuh"
#include "device/attention_backward/entry.cuh"

namespace {

using namespace device;

__device__ __forceinline__ void prepare(const BackwardArguments& x) {
  row_deltas<Bf16Gradients>(x);
  clear_dq(x);
}

template <int kWidth, bool kOfV>
__device__ __forceinline__ void key_and_query_gradients(const BackwardArguments& x) {
  key_gradients<kWidth, true, kOfV, Bf16Gradients>(
      x, [&](const auto&... tile) { add_to_dq<kWidth>(x, tile...); });
}

}  // namespace

BACKWARD_ENTRY(attention_bf16_backward_atomic_prepare, prepare)

// By the width d and dv are padded to. The sums of both dK and dV would not fit the registers of a
// block at 256.
BACKWARD_ENTRY(attention_bf16_backward_atomic_keys_64, key_and_query_gradients<64, true>)
BACKWARD_ENTRY(attention_bf16_backward_atomic_keys_128, key_and_query_gradients<128, true>)
BACKWARD_ENTRY(attention_bf16_backward_atomic_dk_256, key_and_query_gradients<256, false>)
BACKWARD_ENTRY(attention_bf16_backward_atomic_dv_256,
               key_gradients<256, false, true, Bf16Gradients>)

BACKWARD_ENTRY(attention_bf16_backward_atomic_finish, finish_dq)
