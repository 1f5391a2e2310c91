// SPDX-License-Identifier: MIT
#include "oracles/reference/staged_stack_gradient.h"

#include "oracles/bounds/swiglu_contract.h"

namespace plumbline {
namespace {

using Rows = std::vector<double>;

float f32(double x) { return static_cast<float>(x); }

// Weights with one row per output, as factors with one row per input.
StackFactors transposed(const std::vector<float>& weights, std::int64_t inputs, FormatId format) {
  const auto columns = static_cast<std::size_t>(inputs), rows = weights.size() / columns;
  Rows turned;
  turned.reserve(weights.size());
  for (std::size_t p = 0; p < columns; ++p) {
    for (std::size_t o = 0; o < rows; ++o)
      turned.push_back(static_cast<double>(weights[o * columns + p]));
  }
  return stack_factors(turned, rows, format);
}

}  // namespace

StagedStackGradient::StagedStackGradient(const Stack& stack, const StackArithmetic& arithmetic)
    : stack_(stack),
      arithmetic_(arithmetic),
      machine_(stack.shape, arithmetic),
      multiply_(arithmetic, arithmetic.gradient_factors(), arithmetic.factors) {
  const auto factors = [&](const std::vector<float>& weights, std::int64_t inputs) {
    return transposed(weights, inputs, arithmetic.factors);
  };
  const std::int64_t width = stack.shape.width, hidden = stack.shape.hidden;
  for (const StackLayer& layer : stack.layers) {
    weights_.push_back({factors(layer.query, width), factors(layer.key, width),
                        factors(layer.value, width), factors(layer.out, width),
                        factors(layer.gate, width), factors(layer.up, width),
                        factors(layer.down, hidden)});
  }
}

Rows StagedStackGradient::layer(std::size_t index, const StagedStack::Activations& left,
                                Rows g) const {
  const StackLayer& layer = stack_.layers[index];
  const Weights& weights = weights_[index];
  // Gradients that come from several products are added as they are stored.
  const auto added = [&](Rows& to, const Rows& more) {
    for (std::size_t n = 0; n < to.size(); ++n)
      to[n] = arithmetic_.stored(static_cast<double>(f32(to[n] + more[n])));
  };

  Rows d_up = multiply_(machine_.branch_gradient(layer, 1, g), weights.down), d_gate = d_up;
  for (std::size_t n = 0; n < d_up.size(); ++n) {
    const float gate = f32(left.gate[n]), up = f32(left.up[n]), dh = f32(d_up[n]);
    const float divisor = nearest_silu_divisor(gate), sigmoid = 1 / divisor,
                slope = sigmoid * (1 + gate * (1 - sigmoid));
    d_gate[n] = arithmetic_.stored(static_cast<double>(dh * up * slope));
    d_up[n] = arithmetic_.stored(static_cast<double>(dh * (gate / divisor)));
  }
  Rows dh = multiply_(d_gate, weights.gate);
  added(dh, multiply_(d_up, weights.up));
  machine_.add_normalized_gradient(layer, 1, left.middle, dh, g);

  const auto of_attention =
      machine_.attention_gradient(left.q, left.k, left.v, left.attended,
                                  multiply_(machine_.branch_gradient(layer, 0, g), weights.out));
  dh = multiply_(of_attention.q, weights.query);
  added(dh, multiply_(of_attention.k, weights.key));
  added(dh, multiply_(of_attention.v, weights.value));
  machine_.add_normalized_gradient(layer, 0, left.x, dh, g);
  return g;
}

}  // namespace plumbline
