// SPDX-License-Identifier: MIT
// GEMM: D = epilogue(alpha * A * B, beta * C, bias) over a batch, with scales and zero points of
// quantized operands. This header is the operation's data; the definition over MPFR numbers is
// gemm/definition.h, the exact fast paths are oracles/exact, the verdict is gemm/oracle.h.
#pragma once

#include <cstdint>
#include <memory>

#include "oracles/bounds/contract/contract.h"
#include "oracles/exact/block_scales.h"
#include "oracles/formats/tensor.h"

namespace plumbline {

// One value per row i of D, or per column j.
enum class BiasKind : std::uint8_t { none, per_row, per_column };

// What one entry of a scale tensor covers: `vectors` rows of A (columns of B) by `depth` elements
// of k; 0 is all there are. A tensor scale is {0, 0}, one per row or column {1, 0}, a 128 x 128
// block {128, 128}.
struct ScaleBlock {
  std::int64_t vectors = 0, depth = 0;

  bool along_k() const { return depth > 0; }

  bool operator==(const ScaleBlock&) const = default;
};

inline constexpr ScaleBlock kTensorScale{}, kVectorScale{1, 0};

inline bool is_in_tiles(const TensorLayout& scale) { return scale.shape.size() == 5; }

// Pointers are not owned. Logical shapes; the layouts' strides carry transposition, padding and
// batching:
//   a [batch, m, k]   b [batch, k, n]   c, d [batch, m, n]   bias [m] or [n]
//   scale_a [row blocks, k blocks]   scale_b [k blocks, column blocks]   scale_d [1], shared by all
//   batches; dimensions of one block may be left out, as only the row-major index is used. Scales
//   along k may lie in tiles of 128 x 4: [tiles of vectors, 4, 32, tiles of k blocks, 4] for both,
//   of which the row-major index is that of [vectors, k blocks] padded to whole tiles
//
// Scales along k are applied at the promotion of each k block (Promotion::scaled_fma; depths are
// multiples of its interval) or by the instruction (Contract::block_scale), the others in the
// epilogue. Zero points are subtracted from the
// stored integers of A and B.
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  const Tensor* a = nullptr;
  const Tensor* b = nullptr;
  std::shared_ptr<const Tensor> dequantized_b{};   // what b points to where it is no input
  std::shared_ptr<const GemmProblem> quantized{};  // then: the same with the B that is stored
  const Tensor* c = nullptr;                       // null when the problem has none (beta == 0)
  const Tensor* bias = nullptr;                    // null for BiasKind::none
  float alpha = 1, beta = 0;
  BiasKind bias_kind = BiasKind::none;
  Activation activation = Activation::none;
  FormatId output = FormatId::f32;
  const Tensor* scale_a = nullptr;  // null: none
  const Tensor* scale_b = nullptr;
  const Tensor* scale_d = nullptr;
  ScaleBlock scale_a_block = {}, scale_b_block = {};
  std::int64_t zero_a = 0, zero_b = 0, zero_d = 0;
  // What the product of two scales along k is, and what scales of a dequantized B below 2^-126 are:
  // part of the function.
  ScaleProducts scale_products = ScaleProducts::f32;

  std::int64_t outputs() const { return batch * m * n; }

  bool block_scaled() const {
    return (scale_a != nullptr && scale_a_block.along_k()) ||
           (scale_b != nullptr && scale_b_block.along_k());
  }
};

}  // namespace plumbline
