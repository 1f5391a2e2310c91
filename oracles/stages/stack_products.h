// SPDX-License-Identifier: MIT
// The linear layers of a stack in the arithmetic of kernels: products through the nodes of a tensor
// core bit for bit, of factors in bf16, or in an 8-bit format with one scale per row of either.
#pragma once

#include <vector>

#include "oracles/stages/stack.h"
#include "oracles/stages/stack_arithmetic.h"
#include "oracles/stages/staged_sum.h"

namespace plumbline {

// A matrix as factors of a unit: values in units of a scale per row.
struct StackFactors {
  RealOperands values;
  std::vector<double> scales;
  std::size_t width = 0;

  RealSpan row(std::size_t i) const { return RealSpan(values).sub(i * width, width); }
};

// Of rows. bf16 factors are what is stored; others are quantized row by row, as a kernel before
// would.
StackFactors stack_factors(const std::vector<double>& values, std::size_t row, FormatId format);

// The weights of a layer as factors.
struct StackWeights {
  StackFactors query, key, value, out, gate, up, down;

  // `prepare(matrix, inputs)`: of one row of so many inputs per output.
  template <typename Prepare>
  StackWeights(const StackShape& shape, const StackLayer& layer, const Prepare& prepare)
      : query(prepare(layer.query, shape.width)),
        key(prepare(layer.key, shape.width)),
        value(prepare(layer.value, shape.width)),
        out(prepare(layer.out, shape.width)),
        gate(prepare(layer.gate, shape.width)),
        up(prepare(layer.up, shape.width)),
        down(prepare(layer.down, shape.hidden)) {}
};

class StackProducts {
 public:
  // `left` and `right`: both bf16, or both of 8 bits.
  StackProducts(const StackArithmetic& arithmetic, FormatId left, FormatId right);

  // x W^T of the rows of x, stored in bf16. `x` is not quantized yet.
  std::vector<double> operator()(const std::vector<double>& x, const StackFactors& weights) const;

 private:
  StackArithmetic arithmetic_;
  FormatId left_;
  StagedSum sum_;
};

}  // namespace plumbline
