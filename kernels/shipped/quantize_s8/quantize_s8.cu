// SPDX-License-Identifier: MIT
// quantize_s8: f32 or bf16 to s8 with scales per tensor, per row or per 1x128 block. The
// arithmetic and the four entry points are shared with quantize_fp8; only the codes differ.
#include "device/quantize.cuh"

QUANTIZE_ENTRIES(quantize_s8)
