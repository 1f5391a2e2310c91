// SPDX-License-Identifier: MIT
// A stack of transformer blocks, to see where errors go: pre-norm attention, then a SwiGLU MLP,
// both added to a residual stream x [tokens, width]:
//
//   x += r * attention(h Wq, h Wk, h Wv) Wo,  h = norm(x)         causal, heads of width / heads
//   x += r * (silu(h Wg) * (h Wu)) Wd,        h = norm(x)
//
// norm is RMSNorm without weights. An adaptive block (as diffusion transformers have) normalizes by
// LayerNorm, takes h (1 + scale) + shift for h, and gates what it adds, with vectors of its own per
// half. With a KV cache a layer's tokens are those that follow the ones it has met: it appends
// their keys and values and attends to all. This header is the definition, over any kind of number;
// staged_stack.h is the same in the arithmetic of kernels.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "oracles/reference/swiglu/silu.h"

namespace plumbline {

struct StackShape {
  std::int64_t layers = 64, tokens = 32, width = 96, heads = 3, hidden = 192;
  bool adaptive = false;
  double residual_scale = 1;  // r

  std::int64_t head_width() const { return width / heads; }
};

// Weights as stored, one row per output: y = h W^T.
struct StackLayer {
  std::vector<float> query, key, value, out, gate, up, down;
  std::array<std::vector<float>, 2> scale, shift,
      gain;  // adaptive blocks: of attention, of the MLP
};

struct Stack {
  StackShape shape;
  std::vector<StackLayer> layers;
  std::vector<float> input;  // [tokens, width]
};

// What a layer keeps of the tokens it has met, one row of `width` each.
template <typename Number>
struct KeyValues {
  std::vector<Number> keys, values;

  void append(const std::vector<Number>& k, const std::vector<Number>& v) {
    keys.insert(keys.end(), k.begin(), k.end());
    values.insert(values.end(), v.begin(), v.end());
  }
};

// Unit normal data over the root of the fan-in, rounded to bf16.
Stack random_stack(const StackShape& shape, std::uint64_t seed);

namespace stack_definition {

constexpr double kNormEpsilon = 1e-6;

template <typename Number>
std::vector<Number> linear(const std::vector<Number>& x, const std::vector<float>& weights,
                           std::int64_t inputs) {
  const auto width = static_cast<std::size_t>(inputs);
  const std::size_t rows = x.size() / width, outputs = weights.size() / width;
  std::vector<Number> y(rows * outputs);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t o = 0; o < outputs; ++o) {
      Number sum = 0;
      for (std::size_t p = 0; p < width; ++p)
        sum += x[i * width + p] * static_cast<double>(weights[o * width + p]);
      y[i * outputs + o] = sum;
    }
  }
  return y;
}

// Modulated where there is a layer that does.
template <typename Number>
std::vector<Number> normalized(const Stack& stack, const StackLayer* layer, std::size_t half,
                               const std::vector<Number>& x) {
  using std::sqrt;
  const auto width = static_cast<std::size_t>(stack.shape.width);
  std::vector<Number> h(x.size());
  for (std::size_t row = 0; row < x.size(); row += width) {
    Number mean = 0, squares = 0;
    if (stack.shape.adaptive) {
      for (std::size_t p = 0; p < width; ++p) mean += x[row + p];
      mean /= static_cast<double>(width);
    }
    for (std::size_t p = 0; p < width; ++p) squares += (x[row + p] - mean) * (x[row + p] - mean);
    const Number root = sqrt(Number(squares / static_cast<double>(width) + kNormEpsilon));
    for (std::size_t p = 0; p < width; ++p) {
      h[row + p] = (x[row + p] - mean) / root;
      if (stack.shape.adaptive && layer != nullptr) {
        h[row + p] = h[row + p] * (1 + static_cast<double>(layer->scale[half][p])) +
                     static_cast<double>(layer->shift[half][p]);
      }
    }
  }
  return h;
}

// The queries are those of the last keys.
template <typename Number>
std::vector<Number> attention(const StackShape& shape, const std::vector<Number>& q,
                              const KeyValues<Number>& cache) {
  using std::exp;
  const std::vector<Number>&k = cache.keys, &v = cache.values;
  const auto width = static_cast<std::size_t>(shape.width),
             d = static_cast<std::size_t>(shape.head_width());
  const std::size_t tokens = q.size() / width, before = (k.size() - q.size()) / width;
  const double scale = static_cast<double>(1 / std::sqrt(static_cast<float>(d)));
  std::vector<Number> o(q.size(), Number(0));
  for (std::size_t first = 0; first < width; first += d) {
    for (std::size_t i = 0; i < tokens; ++i) {
      std::vector<Number> weights;
      Number largest = 0, sum = 0;
      for (std::size_t j = 0; j <= before + i; ++j) {
        Number score = 0;
        for (std::size_t p = 0; p < d; ++p)
          score += q[i * width + first + p] * k[j * width + first + p];
        weights.push_back(score * scale);
        if (j == 0 || weights.back() > largest) largest = weights.back();
      }
      for (Number& weight : weights) {
        weight = exp(Number(weight - largest));
        sum += weight;
      }
      for (std::size_t j = 0; j <= before + i; ++j) {
        const Number share = weights[j] / sum;
        for (std::size_t p = 0; p < d; ++p)
          o[i * width + first + p] += share * v[j * width + first + p];
      }
    }
  }
  return o;
}

template <typename Number>
void add(const Stack& stack, const StackLayer& layer, std::size_t half,
         const std::vector<Number>& y, std::vector<Number>& x) {
  const auto width = static_cast<std::size_t>(stack.shape.width);
  for (std::size_t n = 0; n < x.size(); ++n) {
    Number step = y[n] * stack.shape.residual_scale;
    if (stack.shape.adaptive) step *= static_cast<double>(layer.gain[half][n % width]);
    x[n] += step;
  }
}

}  // namespace stack_definition

// x after one layer, behind the tokens in the cache; store(rows) is what that keeps of keys and
// values.
template <typename Number, typename Store>
void defined_layer(const Stack& stack, std::size_t index, std::vector<Number>& x,
                   KeyValues<Number>& cache, const Store& store) {
  namespace definition = stack_definition;
  const StackLayer& layer = stack.layers[index];
  const std::int64_t width = stack.shape.width;
  std::vector<Number> h = definition::normalized(stack, &layer, 0, x);
  cache.append(store(definition::linear(h, layer.key, width)),
               store(definition::linear(h, layer.value, width)));
  const std::vector<Number> o =
      definition::attention(stack.shape, definition::linear(h, layer.query, width), cache);
  definition::add(stack, layer, 0, definition::linear(o, layer.out, width), x);

  h = definition::normalized(stack, &layer, 1, x);
  std::vector<Number> gate = definition::linear(h, layer.gate, width);
  const std::vector<Number> up = definition::linear(h, layer.up, width);
  for (std::size_t n = 0; n < gate.size(); ++n) gate[n] = silu(gate[n]) * up[n];
  definition::add(stack, layer, 1, definition::linear(gate, layer.down, stack.shape.hidden), x);
}

// Of tokens that nothing precedes.
template <typename Number>
void defined_layer(const Stack& stack, std::size_t index, std::vector<Number>& x) {
  KeyValues<Number> none;
  defined_layer(stack, index, x, none, [](const std::vector<Number>& rows) { return rows; });
}

}  // namespace plumbline
