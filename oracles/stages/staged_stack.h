// SPDX-License-Identifier: MIT
// The stack of stack.h in the arithmetic of kernels: products through the nodes of a tensor core
// bit for bit (stack_products.h), attention by the steps of its contract, norms, SiLU and additions
// in f32 (stack_machine.h), every tensor between kernels stored in bf16. It runs the stage models,
// not emulated kernels: a layer of 64 costs milliseconds, and any format or rounding can be tried.
#pragma once

#include <vector>

#include "oracles/stages/stack_machine.h"
#include "oracles/stages/stack_products.h"

namespace plumbline {

// The layers' weights prepared once. `stack` outlives it.
class StagedStack {
 public:
  StagedStack(const Stack& stack, const StackArithmetic& arithmetic);

  // x after one layer, from any x.
  std::vector<double> layer(std::size_t index, const std::vector<double>& x) const;

  // The same behind the tokens in `cache`, whose rows are as stored; appends its own.
  std::vector<double> layer(std::size_t index, const std::vector<double>& x,
                            KeyValues<double>& cache) const;

  // What a layer's kernels leave behind for the backward pass.
  struct Activations {
    // h: what the products of attention and of the MLP take; middle: between these two.
    std::vector<double> x, attention_h, q, k, v, middle, mlp_h, gate, up, activated;
    StackMachine::Attended attended;
    std::vector<double> result;
  };

  Activations activations(std::size_t index, const std::vector<double>& x,
                          KeyValues<double>& cache) const;

  // Keys or values as the cache stores them.
  std::vector<double> cached(std::vector<double> rows) const;

  // RMS or layer normalization as the layers have it, stored in bf16.
  std::vector<double> normalized(const std::vector<double>& x) const;

 private:
  const Stack& stack_;
  StackArithmetic arithmetic_;
  StackMachine machine_;
  StackProducts multiply_;
  std::vector<StackWeights> weights_;
};

}  // namespace plumbline
