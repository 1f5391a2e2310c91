// SPDX-License-Identifier: MIT
// The backward pass through the stack of stack.h: from the gradient of a loss by a layer's result
// to that by its input, and to those by its weights. This header is the definition, over any kind
// of number; staged_stack_gradient.h is the same in the arithmetic of kernels.
#pragma once

#include <vector>

#include "oracles/stages/stack.h"

namespace plumbline {

// By a layer's weights, in their shapes: one row per output.
template <typename Number>
struct WeightGradients {
  std::vector<Number> query, key, value, out, gate, up, down;

  // One behind the other.
  std::vector<Number> all() const {
    std::vector<Number> together;
    for (const auto* one : {&query, &key, &value, &out, &gate, &up, &down})
      together.insert(together.end(), one->begin(), one->end());
    return together;
  }
};

namespace stack_definition {

// By x, for y = x W^T.
template <typename Number>
std::vector<Number> linear_gradient(const std::vector<Number>& dy,
                                    const std::vector<float>& weights, std::int64_t inputs) {
  const auto width = static_cast<std::size_t>(inputs);
  const std::size_t outputs = weights.size() / width, rows = dy.size() / outputs;
  std::vector<Number> dx(rows * width, Number(0));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t p = 0; p < width; ++p)
        dx[i * width + p] += dy[i * outputs + o] * static_cast<double>(weights[o * width + p]);
    }
  }
  return dx;
}

// By W, for y = x W^T: summed over the tokens.
template <typename Number>
std::vector<Number> weight_gradient(const std::vector<Number>& dy, const std::vector<Number>& x,
                                    std::int64_t inputs) {
  const auto width = static_cast<std::size_t>(inputs);
  const std::size_t rows = x.size() / width, outputs = dy.size() / rows;
  std::vector<Number> dw(outputs * width, Number(0));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t p = 0; p < width; ++p)
        dw[o * width + p] += dy[i * outputs + o] * x[i * width + p];
    }
  }
  return dw;
}

// By x, for h = normalized(x): with n = (x - mean) / root before any modulation,
// dx = (dn - mean(dn) - n mean(dn n)) / root; RMSNorm takes no mean, here either.
template <typename Number>
std::vector<Number> normalized_gradient(const Stack& stack, const StackLayer& layer,
                                        std::size_t half, const std::vector<Number>& x,
                                        std::vector<Number> dh) {
  using std::sqrt;
  const auto width = static_cast<std::size_t>(stack.shape.width);
  const auto count = static_cast<double>(width);
  for (std::size_t row = 0; row < x.size(); row += width) {
    Number mean = 0, squares = 0, along = 0, dn_mean = 0;
    if (stack.shape.adaptive) {
      for (std::size_t p = 0; p < width; ++p) mean += x[row + p];
      mean /= count;
    }
    for (std::size_t p = 0; p < width; ++p) squares += (x[row + p] - mean) * (x[row + p] - mean);
    const Number root = sqrt(Number(squares / count + kNormEpsilon));
    for (std::size_t p = 0; p < width; ++p) {
      Number& dn = dh[row + p];
      if (stack.shape.adaptive) {
        dn *= 1 + static_cast<double>(layer.scale[half][p]);
        dn_mean += dn / count;
      }
      along += dn * (x[row + p] - mean) / root / count;
    }
    for (std::size_t p = 0; p < width; ++p) {
      const Number n = (x[row + p] - mean) / root;
      dh[row + p] = (dh[row + p] - dn_mean - n * along) / root;
    }
  }
  return dh;
}

template <typename Number>
struct AttentionGradientTensors {
  std::vector<Number> q, k, v;
};

// Of tokens that nothing precedes.
template <typename Number>
AttentionGradientTensors<Number> attention_gradient(const StackShape& shape,
                                                    const std::vector<Number>& q,
                                                    const std::vector<Number>& k,
                                                    const std::vector<Number>& v,
                                                    const std::vector<Number>& d_o) {
  using std::exp;
  const auto width = static_cast<std::size_t>(shape.width),
             d = static_cast<std::size_t>(shape.head_width());
  const std::size_t tokens = q.size() / width;
  const double scale = static_cast<double>(1 / std::sqrt(static_cast<float>(d)));
  const std::vector<Number> none(q.size(), Number(0));
  AttentionGradientTensors<Number> out{none, none, none};
  const auto dot = [&](const std::vector<Number>& a, std::size_t i, const std::vector<Number>& b,
                       std::size_t j) {
    Number sum = 0;
    for (std::size_t p = 0; p < d; ++p) sum += a[i + p] * b[j + p];
    return sum;
  };
  for (std::size_t first = 0; first < width; first += d) {
    for (std::size_t i = 0; i < tokens; ++i) {
      const std::size_t query = i * width + first;
      std::vector<Number> share, dp;
      Number largest = 0, sum = 0, delta = 0;
      for (std::size_t j = 0; j <= i; ++j) {
        share.push_back(dot(q, query, k, j * width + first) * scale);
        dp.push_back(dot(d_o, query, v, j * width + first));
        if (j == 0 || share.back() > largest) largest = share.back();
      }
      for (Number& p : share) {
        p = exp(Number(p - largest));
        sum += p;
      }
      for (std::size_t j = 0; j <= i; ++j) {
        share[j] /= sum;
        delta += share[j] * dp[j];
      }
      for (std::size_t j = 0; j <= i; ++j) {
        const std::size_t key = j * width + first;
        const Number ds = share[j] * (dp[j] - delta) * scale;
        for (std::size_t p = 0; p < d; ++p) {
          out.q[query + p] += ds * k[key + p];
          out.k[key + p] += ds * q[query + p];
          out.v[key + p] += share[j] * d_o[query + p];
        }
      }
    }
  }
  return out;
}

// What a half of a layer is given of the gradient of its sum with the residual stream.
template <typename Number>
std::vector<Number> branch_gradient(const Stack& stack, const StackLayer& layer, std::size_t half,
                                    std::vector<Number> g) {
  const auto width = static_cast<std::size_t>(stack.shape.width);
  for (std::size_t n = 0; n < g.size(); ++n) {
    g[n] *= stack.shape.residual_scale;
    if (stack.shape.adaptive) g[n] *= static_cast<double>(layer.gain[half][n % width]);
  }
  return g;
}

}  // namespace stack_definition

// `x`: the layer's input; `g`: the gradient by its result, replaced by that by x. Nothing precedes
// the tokens. `by_weights`: null where they are not asked for.
template <typename Number>
void defined_layer_gradient(const Stack& stack, std::size_t index, const std::vector<Number>& x,
                            std::vector<Number>& g, WeightGradients<Number>* by_weights = nullptr) {
  using std::exp;
  namespace definition = stack_definition;
  const StackLayer& layer = stack.layers[index];
  const std::int64_t width = stack.shape.width, hidden = stack.shape.hidden;
  const auto added = [](std::vector<Number>& to, const std::vector<Number>& more) {
    for (std::size_t n = 0; n < to.size(); ++n) to[n] += more[n];
  };

  const std::vector<Number> h = definition::normalized(stack, &layer, 0, x);
  const std::vector<Number> q = definition::linear(h, layer.query, width);
  const KeyValues<Number> kv{definition::linear(h, layer.key, width),
                             definition::linear(h, layer.value, width)};
  const std::vector<Number> attended = definition::attention(stack.shape, q, kv);
  std::vector<Number> middle = x;
  definition::add(stack, layer, 0, definition::linear(attended, layer.out, width), middle);
  const std::vector<Number> h2 = definition::normalized(stack, &layer, 1, middle);
  const std::vector<Number> gate = definition::linear(h2, layer.gate, width),
                            up = definition::linear(h2, layer.up, width);

  const std::vector<Number> d_mlp = definition::branch_gradient(stack, layer, 1, g);
  std::vector<Number> d_up = definition::linear_gradient(d_mlp, layer.down, hidden);
  std::vector<Number> d_gate = d_up, activated = up;
  for (std::size_t n = 0; n < gate.size(); ++n) {
    const Number sigmoid = 1 / (1 + exp(Number(-gate[n])));
    d_gate[n] *= up[n] * sigmoid * (1 + gate[n] * (1 - sigmoid));
    d_up[n] *= gate[n] * sigmoid;
    activated[n] *= gate[n] * sigmoid;
  }
  std::vector<Number> dh = definition::linear_gradient(d_gate, layer.gate, width);
  added(dh, definition::linear_gradient(d_up, layer.up, width));
  added(g, definition::normalized_gradient(stack, layer, 1, middle, dh));

  const std::vector<Number> d_attention = definition::branch_gradient(stack, layer, 0, g);
  const auto of_attention =
      definition::attention_gradient(stack.shape, q, kv.keys, kv.values,
                                     definition::linear_gradient(d_attention, layer.out, width));
  dh = definition::linear_gradient(of_attention.q, layer.query, width);
  added(dh, definition::linear_gradient(of_attention.k, layer.key, width));
  added(dh, definition::linear_gradient(of_attention.v, layer.value, width));
  added(g, definition::normalized_gradient(stack, layer, 0, x, dh));
  if (by_weights == nullptr) return;
  *by_weights = {definition::weight_gradient(of_attention.q, h, width),
                 definition::weight_gradient(of_attention.k, h, width),
                 definition::weight_gradient(of_attention.v, h, width),
                 definition::weight_gradient(d_attention, attended, width),
                 definition::weight_gradient(d_gate, h2, width),
                 definition::weight_gradient(d_up, h2, width),
                 definition::weight_gradient(d_mlp, activated, hidden)};
}

}  // namespace plumbline
