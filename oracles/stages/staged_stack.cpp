// SPDX-License-Identifier: MIT
#include "oracles/stages/staged_stack.h"

#include "oracles/bounds/contract/swiglu.h"

namespace plumbline {

StagedStack::StagedStack(const Stack& stack, const StackArithmetic& arithmetic)
    : stack_(stack),
      arithmetic_(arithmetic),
      machine_(stack.shape, arithmetic),
      multiply_(arithmetic, false) {
  const auto prepared = [&](const std::vector<float>& weights, std::int64_t inputs, FormatId id) {
    return stack_factors({weights.begin(), weights.end()}, static_cast<std::size_t>(inputs), id,
                         arithmetic.scales, true);
  };
  for (const StackLayer& layer : stack.layers)
    weights_.emplace_back(stack.shape, layer, arithmetic.factors, prepared);
}

StagedStack::Activations StagedStack::activations(std::size_t index, const std::vector<double>& x,
                                                  KeyValues<double>& cache) const {
  const StackLayer& layer = stack_.layers[index];
  const StackWeights& weights = weights_[index];
  Activations left;
  left.x = x;
  left.attention_h = machine_.normalized(&layer, 0, x);
  left.q = multiply_(left.attention_h, weights.query);
  left.k = cached(multiply_(left.attention_h, weights.key));
  left.v = cached(multiply_(left.attention_h, weights.value));
  cache.append(left.k, left.v);
  left.attended = machine_.attention(left.q, cache);
  left.middle = x;
  machine_.add(layer, 0, multiply_(left.attended.o, weights.out), left.middle);
  left.mlp_h = machine_.normalized(&layer, 1, left.middle);
  left.gate = multiply_(left.mlp_h, weights.gate);
  left.up = multiply_(left.mlp_h, weights.up);
  left.activated.resize(left.gate.size());
  for (std::size_t n = 0; n < left.activated.size(); ++n) {
    const float silu = nearest_silu(SiluForm::quotient, static_cast<float>(left.gate[n]));
    left.activated[n] = arithmetic_.stored(
        static_cast<double>(static_cast<float>(static_cast<double>(silu) * left.up[n])));
  }
  left.result = left.middle;
  machine_.add(layer, 1, multiply_(left.activated, weights.down), left.result);
  return left;
}

std::vector<double> StagedStack::layer(std::size_t index, const std::vector<double>& x) const {
  KeyValues<double> none;
  return layer(index, x, none);
}

std::vector<double> StagedStack::layer(std::size_t index, const std::vector<double>& x,
                                       KeyValues<double>& cache) const {
  return activations(index, x, cache).result;
}

// bf16 stays: it was stored in that already.
std::vector<double> StagedStack::cached(std::vector<double> rows) const {
  for (double& value : rows)
    value = stack_rounded(arithmetic_.cache, value, arithmetic_.conversion);
  return rows;
}

// Of the last layer's result.
std::vector<double> StagedStack::normalized(const std::vector<double>& x) const {
  return machine_.normalized(nullptr, 0, x);
}

}  // namespace plumbline
