// SPDX-License-Identifier: MIT
// attention_fp8_backward: dQ, dK and dV on fp8 tensor cores, Q, K and V in e4m3 and dO in e5m2,
// with one scale for each of them and one for dS. The passes are those of attention_bf16_backward:
// delta, then one over the keys for dK and dV, and one over the queries for dQ.
//
// The arithmetic is that of the contract in attention_fp8_backward.toml, with explicit roundings
// only (and the file is compiled with -fmad=false), so the PTX fixes every bit.
#include "device/attention_backward/fp8.cuh"

#include "device/attention_backward/backward.cuh"
#include "device/attention_backward/entry.cuh"

using namespace device;

SCALED_BACKWARD_ENTRY(attention_fp8_backward_delta, row_deltas<Fp8Gradients>)

// By the width d and dv are padded to. The sums of both dK and dV would not fit the registers of a
// block at 256.
SCALED_BACKWARD_ENTRY(attention_fp8_backward_keys_128, key_gradients<128, true, true, Fp8Gradients>)
SCALED_BACKWARD_ENTRY(attention_fp8_backward_dk_256, key_gradients<256, true, false, Fp8Gradients>)
SCALED_BACKWARD_ENTRY(attention_fp8_backward_dv_256, key_gradients<256, false, true, Fp8Gradients>)

SCALED_BACKWARD_ENTRY(attention_fp8_backward_queries_128, query_gradients<128, Fp8Gradients>)
SCALED_BACKWARD_ENTRY(attention_fp8_backward_queries_256, query_gradients<256, Fp8Gradients>)
