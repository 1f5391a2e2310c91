// SPDX-License-Identifier: MIT
// attention_bf16_backward: dQ, dK and dV on bf16 tensor cores, from dO and what the forward pass
// left (O and LSE). First delta, the row sums of dO * O; then a pass over the keys for dK and dV,
// and one over the queries for dQ: every gradient is one sum in a fixed order, so the bits are the
// same on every run.
//
// The arithmetic is that of the contract in attention_bf16_backward.toml, with explicit roundings
// only (and the file is compiled with -fmad=false), so the PTX fixes every bit.
#include "device/attention_backward/backward.cuh"
#include "device/attention_backward/entry.cuh"

using namespace device;

BACKWARD_ENTRY(attention_bf16_backward_delta, row_deltas<Bf16Gradients>)

// By the width d and dv are padded to. The sums of both dK and dV would not fit the registers of a
// block at 256.
BACKWARD_ENTRY(attention_bf16_backward_keys_64, key_gradients<64, true, true, Bf16Gradients>)
BACKWARD_ENTRY(attention_bf16_backward_keys_128, key_gradients<128, true, true, Bf16Gradients>)
BACKWARD_ENTRY(attention_bf16_backward_dk_256, key_gradients<256, true, false, Bf16Gradients>)
BACKWARD_ENTRY(attention_bf16_backward_dv_256, key_gradients<256, false, true, Bf16Gradients>)

BACKWARD_ENTRY(attention_bf16_backward_queries_64, query_gradients<64, Bf16Gradients>)
BACKWARD_ENTRY(attention_bf16_backward_queries_128, query_gradients<128, Bf16Gradients>)
BACKWARD_ENTRY(attention_bf16_backward_queries_256, query_gradients<256, Bf16Gradients>)
