// SPDX-License-Identifier: MIT
// What DeepGEMM's host does before a GEMM with scales per 1x128 of A
// (get_mn_major_tma_aligned_tensor): it stores them by columns, whose length is a multiple of 16
// bytes, so that a bulk copy can take those of a tile. What stands in the rows after the last is
// not written there, and may be anything: here it is a NaN.
#pragma once

#include <cstdint>

extern "C" __global__ void scales_by_columns(const float* scales, float* columns, uint32_t rows,
                                             uint32_t blocks) {
  const uint32_t column = (rows + 3) / 4 * 4;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < column; i += gridDim.x * blockDim.x)
    for (uint32_t block = 0; block < blocks; ++block)
      columns[uint64_t{column} * block + i] =
          i < rows ? scales[uint64_t{blocks} * i + block] : __int_as_float(0x7fc00000);
}
