// SPDX-License-Identifier: MIT
// GEMM operands decoded once per case: rows of A and columns of B, each contiguous along k, as f32
// values. Every input format of the catalog up to 24 significant bits is exact in f32.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/formats/tensor.h"

namespace plumbline {

struct GemmOperands {
  std::int64_t m = 0, n = 0, k = 0, batch_a = 1, batch_b = 1, batch = 1;
  // a[(batch * m + i) * k + p], b[(batch * n + j) * k + p]. An operand whose batch stride is 0 is
  // stored once (batch_a or batch_b == 1).
  std::vector<float> a, b;
  // Per row of A and column of B: it contains NaN or Inf. Those rows need class analysis, not sums;
  // in the sums non-finite elements count as 0.
  std::vector<std::uint8_t> a_special, b_special;

  const float* row(std::int64_t batch_index, std::int64_t i) const {
    return a.data() + ((batch_a == 1 ? 0 : batch_index) * m + i) * k;
  }

  const float* column(std::int64_t batch_index, std::int64_t j) const {
    return b.data() + ((batch_b == 1 ? 0 : batch_index) * n + j) * k;
  }
};

// What is subtracted from the stored elements; with 8-bit operands the difference is exact.
struct ZeroPoints {
  std::int64_t a = 0, b = 0;
};

// a: [batch, m, k], b: [batch, k, n], any strides.
GemmOperands decode_operands(const Tensor& a, const Tensor& b, int threads, ZeroPoints zero = {});

}  // namespace plumbline
