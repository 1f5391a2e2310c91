// SPDX-License-Identifier: MIT
// The backward pass of stack_gradient.h in the arithmetic of kernels, as staged_stack.h is the
// forward pass. Gradients meet transposed weights in the linear layers (both quantized anew where
// factors have 8 bits, gradients to e5m2) and are stored in bf16 in between; the gradient along the
// residual stream is stored as the stream is.
#pragma once

#include <vector>

#include "oracles/reference/staged_stack.h"

namespace plumbline {

// `stack` outlives it.
class StagedStackGradient {
 public:
  StagedStackGradient(const Stack& stack, const StackArithmetic& arithmetic);

  // The gradient by a layer's input, from that by its result.
  std::vector<double> layer(std::size_t index, const StagedStack::Activations& left,
                            std::vector<double> g) const;

 private:
  // Of x, one row per input: dx = dy (W^T)^T.
  struct Weights {
    StackFactors query, key, value, out, gate, up, down;
  };

  const Stack& stack_;
  StackArithmetic arithmetic_;
  StackMachine machine_;
  StackProducts multiply_;
  std::vector<Weights> weights_;
};

}  // namespace plumbline
