// SPDX-License-Identifier: MIT
// quantize_fp8: f32 or bf16 to e4m3 or e5m2 with scales per tensor, per row or per 1x128 block.
// Needs sm_89 or later for the conversions. The arithmetic and the four entry points are shared
// with quantize_s8.
#include "device/quantize.cuh"

QUANTIZE_ENTRIES(quantize_fp8)
