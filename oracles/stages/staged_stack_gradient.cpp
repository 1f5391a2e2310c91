// SPDX-License-Identifier: MIT
#include "oracles/stages/staged_stack_gradient.h"

#include "oracles/bounds/contract/swiglu.h"

namespace plumbline {
namespace {

using Rows = std::vector<double>;

// Of rows of `width`.
template <typename Value>
Rows transposed(const std::vector<Value>& matrix, std::int64_t width) {
  const auto columns = static_cast<std::size_t>(width), rows = matrix.size() / columns;
  Rows turned;
  turned.reserve(matrix.size());
  for (std::size_t p = 0; p < columns; ++p) {
    for (std::size_t o = 0; o < rows; ++o)
      turned.push_back(static_cast<double>(matrix[o * columns + p]));
  }
  return turned;
}

}  // namespace

StagedStackGradient::StagedStackGradient(const Stack& stack, const StackArithmetic& arithmetic)
    : stack_(stack),
      arithmetic_(arithmetic),
      machine_(stack.shape, arithmetic),
      multiply_(arithmetic, true) {
  // One row per input.
  const auto prepared = [&](const std::vector<float>& weights, std::int64_t inputs, FormatId id) {
    return stack_factors(transposed(weights, inputs),
                         weights.size() / static_cast<std::size_t>(inputs), id, arithmetic.scales,
                         true);
  };
  for (const StackLayer& layer : stack.layers)
    weights_.emplace_back(stack.shape, layer, arithmetic.factors, prepared);
}

// dy^T x, both with one row per token.
Rows StagedStackGradient::weight_gradient(const Rows& dy, const Rows& x, std::int64_t inputs,
                                          FormatId id) const {
  const std::size_t tokens = x.size() / static_cast<std::size_t>(inputs);
  return multiply_(transposed(dy, static_cast<std::int64_t>(dy.size() / tokens)),
                   stack_factors(transposed(x, inputs), tokens, id, arithmetic_.scales, false));
}

Rows StagedStackGradient::layer(std::size_t index, const StagedStack::Activations& left, Rows g,
                                WeightGradients<double>* by_weights) const {
  const StackLayer& layer = stack_.layers[index];
  const StackWeights& weights = weights_[index];
  // Gradients that come from several products are added as they are stored.
  const auto added = [&](Rows& to, const Rows& more) {
    for (std::size_t n = 0; n < to.size(); ++n) to[n] = arithmetic_.stored(to_f32(to[n] + more[n]));
  };

  const Rows d_mlp = machine_.branch_gradient(layer, 1, g);
  Rows d_up = multiply_(d_mlp, weights.down), d_gate = d_up;
  for (std::size_t n = 0; n < d_up.size(); ++n) {
    const auto gate = static_cast<float>(left.gate[n]), up = static_cast<float>(left.up[n]),
               dh = static_cast<float>(d_up[n]);
    const float divisor = nearest_silu_divisor(gate), sigmoid = 1 / divisor,
                slope = sigmoid * (1 + gate * (1 - sigmoid));
    d_gate[n] = arithmetic_.stored(static_cast<double>(dh * up * slope));
    d_up[n] = arithmetic_.stored(static_cast<double>(dh * (gate / divisor)));
  }
  Rows dh = multiply_(d_gate, weights.gate);
  added(dh, multiply_(d_up, weights.up));
  machine_.add_normalized_gradient(layer, 1, left.middle, dh, g);

  const Rows d_attention = machine_.branch_gradient(layer, 0, g);
  const auto of_attention = machine_.attention_gradient(left.q, left.k, left.v, left.attended,
                                                        multiply_(d_attention, weights.out));
  dh = multiply_(of_attention.q, weights.query);
  added(dh, multiply_(of_attention.k, weights.key));
  added(dh, multiply_(of_attention.v, weights.value));
  machine_.add_normalized_gradient(layer, 0, left.x, dh, g);
  if (by_weights != nullptr) {
    const std::int64_t width = stack_.shape.width;
    const StackFormats& formats = arithmetic_.factors;
    *by_weights = {weight_gradient(of_attention.q, left.attention_h, width, formats.qkv),
                   weight_gradient(of_attention.k, left.attention_h, width, formats.qkv),
                   weight_gradient(of_attention.v, left.attention_h, width, formats.qkv),
                   weight_gradient(d_attention, left.attended.o, width, formats.out),
                   weight_gradient(d_gate, left.mlp_h, width, formats.up),
                   weight_gradient(d_up, left.mlp_h, width, formats.up),
                   weight_gradient(d_mlp, left.activated, stack_.shape.hidden, formats.down)};
  }
  return g;
}

}  // namespace plumbline
