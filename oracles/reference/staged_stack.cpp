// SPDX-License-Identifier: MIT
#include "oracles/reference/staged_stack.h"

#include "oracles/bounds/swiglu_contract.h"

namespace plumbline {
namespace {

// Formats of 8 bits are a way of multiplying, others of storing.
StackFactors prepared(const std::vector<float>& values, std::int64_t row, FormatId format) {
  return stack_factors({values.begin(), values.end()}, static_cast<std::size_t>(row), format);
}

}  // namespace

StagedStack::StagedStack(const Stack& stack, const StackArithmetic& arithmetic)
    : stack_(stack),
      arithmetic_(arithmetic),
      machine_(stack.shape, arithmetic),
      multiply_(arithmetic, arithmetic.factors, arithmetic.factors) {
  const auto factors = [&](const std::vector<float>& values, std::int64_t row) {
    return prepared(values, row, arithmetic.factors);
  };
  const std::int64_t width = stack.shape.width, hidden = stack.shape.hidden;
  for (const StackLayer& layer : stack.layers) {
    weights_.push_back({factors(layer.query, width), factors(layer.key, width),
                        factors(layer.value, width), factors(layer.out, width),
                        factors(layer.gate, width), factors(layer.up, width),
                        factors(layer.down, hidden)});
  }
}

StagedStack::Activations StagedStack::activations(std::size_t index, const std::vector<double>& x,
                                                  KeyValues<double>& cache) const {
  const StackLayer& layer = stack_.layers[index];
  const Weights& weights = weights_[index];
  Activations left;
  left.x = x;
  std::vector<double> h = machine_.normalized(&layer, 0, x);
  left.q = multiply_(h, weights.query);
  left.k = cached(multiply_(h, weights.key));
  left.v = cached(multiply_(h, weights.value));
  cache.append(left.k, left.v);
  left.attended = machine_.attention(left.q, cache);
  left.middle = x;
  machine_.add(layer, 0, multiply_(left.attended.o, weights.out), left.middle);
  h = machine_.normalized(&layer, 1, left.middle);
  left.gate = multiply_(h, weights.gate);
  left.up = multiply_(h, weights.up);
  std::vector<double> activated(left.gate.size());
  for (std::size_t n = 0; n < activated.size(); ++n) {
    const float silu = nearest_silu(SiluForm::quotient, static_cast<float>(left.gate[n]));
    activated[n] = arithmetic_.stored(
        static_cast<double>(static_cast<float>(static_cast<double>(silu) * left.up[n])));
  }
  left.result = left.middle;
  machine_.add(layer, 1, multiply_(activated, weights.down), left.result);
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
