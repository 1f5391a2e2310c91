// SPDX-License-Identifier: MIT
// The backward pass of stack_gradient.h in the arithmetic of kernels, as staged_stack.h is the
// forward pass. Gradients meet transposed weights in the linear layers (both quantized anew where
// factors have 8 bits, gradients to e5m2) and are stored in bf16 in between; the gradient along the
// residual stream is stored as the stream is. Gradients by weights are products over the tokens,
// along which 8-bit factors have their scales there, and stored in bf16 too.
#pragma once

#include <vector>

#include "oracles/stages/staged_stack.h"

namespace plumbline {

// `stack` outlives it.
class StagedStackGradient {
 public:
  StagedStackGradient(const Stack& stack, const StackArithmetic& arithmetic);

  // The gradient by a layer's input, from that by its result; and those by its weights where they
  // are asked for.
  std::vector<double> layer(std::size_t index, const StagedStack::Activations& left,
                            std::vector<double> g,
                            WeightGradients<double>* by_weights = nullptr) const;

 private:
  std::vector<double> weight_gradient(const std::vector<double>& dy, const std::vector<double>& x,
                                      std::int64_t inputs, FormatId format) const;

  const Stack& stack_;
  StackArithmetic arithmetic_;
  StackMachine machine_;
  StackProducts multiply_;
  std::vector<StackWeights> weights_;  // of x, one row per input: dx = dy (W^T)^T
};

}  // namespace plumbline
