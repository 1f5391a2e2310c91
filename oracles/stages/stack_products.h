// SPDX-License-Identifier: MIT
// The linear layers of a stack in the arithmetic of kernels: products through the nodes of a tensor
// core bit for bit, of factors in bf16, or in an 8-bit format with scales.
#pragma once

#include <algorithm>
#include <vector>

#include "oracles/stages/stack.h"
#include "oracles/stages/stack_arithmetic.h"
#include "oracles/stages/staged_sum.h"

namespace plumbline {

// A matrix as factors of a unit: values in units of a scale for each row and interval of k.
struct StackFactors {
  FormatId format = FormatId::bf16;
  RealOperands values;
  std::vector<double> scales;  // [rows, intervals]
  std::size_t rows = 0, width = 0, interval = 0;

  std::size_t intervals() const { return (width + interval - 1) / interval; }

  // Row i, of interval `at` of k.
  RealSpan part(std::size_t i, std::size_t at) const {
    const std::size_t first = at * interval;
    return RealSpan(values).sub(i * width + first, std::min(interval, width - first));
  }

  double scale(std::size_t i, std::size_t at) const { return scales[i * intervals() + at]; }
};

// Of rows. bf16 factors are what is stored; others are quantized, as a kernel before would.
// `weights`: a block of scales has 128 rows, not one.
StackFactors stack_factors(const std::vector<double>& values, std::size_t width, FormatId format,
                           StackScales scales, bool weights);

// The weights of a layer as factors.
struct StackWeights {
  StackFactors query, key, value, out, gate, up, down;

  // `prepare(matrix, inputs, format)`: of one row of so many inputs per output.
  template <typename Prepare>
  StackWeights(const StackShape& shape, const StackLayer& layer, const StackFormats& formats,
               const Prepare& prepare)
      : query(prepare(layer.query, shape.width, formats.qkv)),
        key(prepare(layer.key, shape.width, formats.qkv)),
        value(prepare(layer.value, shape.width, formats.qkv)),
        out(prepare(layer.out, shape.width, formats.out)),
        gate(prepare(layer.gate, shape.width, formats.up)),
        up(prepare(layer.up, shape.width, formats.up)),
        down(prepare(layer.down, shape.hidden, formats.down)) {}
};

class StackProducts {
 public:
  // `gradients`: what meets factors of 8 bits is e5m2, whose range gradients need; else e4m3.
  StackProducts(const StackArithmetic& arithmetic, bool gradients);

  // x W^T of the rows of x, stored in bf16. `x` is not quantized yet.
  std::vector<double> operator()(const std::vector<double>& x, const StackFactors& weights) const;

 private:
  StackArithmetic arithmetic_;
  FormatId narrow_;  // of x where the weights have 8 bits
  StagedSum wide_sum_, narrow_sum_;
};

}  // namespace plumbline
