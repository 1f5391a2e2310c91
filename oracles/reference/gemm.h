// SPDX-License-Identifier: MIT
// GEMM: D = epilogue(alpha * A * B, beta * C, bias) over a batch. This header is the operation's data; the definition
// over MPFR numbers is gemm_definition.h, the exact fast path gemm_exact.h, the verdict gemm_oracle.h.
#pragma once

#include <cstdint>

#include "oracles/formats/tensor.h"

namespace plumbline {

enum class BiasKind : std::uint8_t { none, per_row, per_column };  // one value per row i of D, or per column j
enum class Activation : std::uint8_t { none, relu };

// Pointers are not owned. Logical shapes; the layouts' strides carry transposition, padding and batching:
//   a [batch, m, k]   b [batch, k, n]   c, d [batch, m, n]   bias [m] or [n]
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  const Tensor* a = nullptr;
  const Tensor* b = nullptr;
  const Tensor* c = nullptr;     // null when the problem has none (beta == 0)
  const Tensor* bias = nullptr;  // null for BiasKind::none
  float alpha = 1, beta = 0;
  BiasKind bias_kind = BiasKind::none;
  Activation activation = Activation::none;
  FormatId output = FormatId::f32;

  std::int64_t outputs() const { return batch * m * n; }
};

}  // namespace plumbline
