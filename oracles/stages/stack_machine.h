// SPDX-License-Identifier: MIT
// The other kernels of a stack (staged_stack.h) in their arithmetic: norms, attention and the
// residual stream, forward and backward. Norms and additions are f32, attention goes by the steps
// of its contracts; what leaves a kernel is stored in bf16.
#pragma once

#include <vector>

#include "oracles/stages/stack.h"
#include "oracles/stages/stack_arithmetic.h"
#include "oracles/stages/stack_gradient.h"

namespace plumbline {

class StackMachine {
 public:
  using Rows = std::vector<double>;

  StackMachine(const StackShape& shape, const StackArithmetic& arithmetic)
      : shape_(shape), arithmetic_(arithmetic) {}

  // The sums by 32 lanes as a warp has them. Modulated where there is a layer that does.
  Rows normalized(const StackLayer* layer, std::size_t half, const Rows& x) const;

  // Added to the gradient of the residual stream.
  void add_normalized_gradient(const StackLayer& layer, std::size_t half, const Rows& x,
                               const Rows& dh, Rows& g) const;

  struct Attended {
    Rows o;
    std::vector<Rows> lse;  // by head
  };

  Attended attention(const Rows& q, const KeyValues<double>& cache) const;

  // Of tokens that nothing precedes; `forward` as attention() left it.
  stack_definition::AttentionGradientTensors<double> attention_gradient(
      const Rows& q, const Rows& k, const Rows& v, const Attended& forward, const Rows& d_o) const;

  // x + r y in f32, stored as the residual stream is.
  void add(const StackLayer& layer, std::size_t half, const Rows& y, Rows& x) const;

  // r g: what the last product of a branch is given.
  Rows branch_gradient(const StackLayer& layer, std::size_t half, const Rows& g) const;

 private:
  std::size_t width() const { return static_cast<std::size_t>(shape_.width); }

  // Of one row, in f32.
  struct RowMoments {
    double mean = 0, inverse = 0;  // mean 0 for RMSNorm
  };

  RowMoments moments(const double* row) const;

  // f32(sum / width) of what term(p) gives.
  template <typename Term>
  double mean_of(const Term& term) const;

  StackShape shape_;
  StackArithmetic arithmetic_;
};

}  // namespace plumbline
