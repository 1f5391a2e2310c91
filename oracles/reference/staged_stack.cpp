// SPDX-License-Identifier: MIT
#include "oracles/reference/staged_stack.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/bounds/swiglu_contract.h"
#include "oracles/reference/staged_attention.h"
#include "oracles/reference/staged_sum.h"

namespace plumbline {
namespace {

double f32(double x) { return static_cast<double>(static_cast<float>(x)); }

// A matrix as factors of a unit: values in units of a scale per row.
struct Factors {
  RealOperands values;
  std::vector<double> scales;
  std::size_t width = 0;

  RealSpan row(std::size_t i) const { return RealSpan(values).sub(i * width, width); }
};

struct Weights {
  Factors query, key, value, out, gate, up, down;
};

}  // namespace

class StagedStack::Machine {
 public:
  Machine(const Stack& stack, const StackArithmetic& arithmetic)
      : stack_(stack),
        arithmetic_(arithmetic),
        sum_(Contract{}, arithmetic.sm, arithmetic.factors, arithmetic.factors) {
    const auto width = static_cast<std::size_t>(stack.shape.width),
               hidden = static_cast<std::size_t>(stack.shape.hidden);
    const auto prepared = [&](const std::vector<float>& values, std::size_t row) {
      return factors({values.begin(), values.end()}, row);
    };
    for (const StackLayer& layer : stack.layers) {
      weights_.push_back({prepared(layer.query, width), prepared(layer.key, width),
                          prepared(layer.value, width), prepared(layer.out, width),
                          prepared(layer.gate, width), prepared(layer.up, width),
                          prepared(layer.down, hidden)});
    }
  }

  std::vector<double> layer(std::size_t index, std::vector<double> x,
                            KeyValues<double>& cache) const {
    const StackLayer& layer = stack_.layers[index];
    const Weights& weights = weights_[index];
    Factors h = factors(normalized(&layer, 0, x), width());
    const std::vector<double> q = linear(h, weights.query);
    cache.append(cached(linear(h, weights.key)), cached(linear(h, weights.value)));
    add(layer, 0, linear(factors(attention(q, cache), width()), weights.out), x);
    h = factors(normalized(&layer, 1, x), width());
    std::vector<double> gate = linear(h, weights.gate);
    const std::vector<double> up = linear(h, weights.up);
    for (std::size_t n = 0; n < gate.size(); ++n) {
      const float activated = nearest_silu(SiluForm::quotient, static_cast<float>(gate[n]));
      gate[n] = stored(f32(static_cast<double>(activated) * up[n]));
    }
    add(layer, 1,
        linear(factors(gate, static_cast<std::size_t>(stack_.shape.hidden)), weights.down), x);
    return x;
  }

  // bf16 stays: it was stored in that already.
  std::vector<double> cached(std::vector<double> rows) const {
    for (double& value : rows) value = converted(arithmetic_.cache, value, arithmetic_.conversion);
    return rows;
  }

  // Of the last layer's result.
  std::vector<double> normalized(const std::vector<double>& x) const {
    return normalized(nullptr, 0, x);
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(stack_.shape.width); }

  double stored(double x) const { return converted(FormatId::bf16, x, arithmetic_.conversion); }

  static double converted(FormatId to, double x, Rounding rounding) {
    return to_double(format(to),
                     encode(format(to), x, {.rounding = rounding, .overflow = Overflow::saturate}));
  }

  // bf16 factors are what is stored; others are quantized row by row, as a kernel before would.
  Factors factors(const std::vector<double>& values, std::size_t row) const {
    Factors out;
    out.width = row;
    const Format& element = format(arithmetic_.factors);
    out.values.reserve(values.size());
    for (std::size_t first = 0; first < values.size(); first += row) {
      double scale = 1;
      if (arithmetic_.factors != FormatId::bf16) {
        double largest = 0;
        for (std::size_t p = 0; p < row; ++p)
          largest = std::max(largest, std::fabs(values[first + p]));
        if (largest > 0) scale = f32(largest / to_double(element, element.max_finite()));
      }
      out.scales.push_back(scale);
      for (std::size_t p = 0; p < row; ++p) {
        const double value = values[first + p] / scale;
        out.values.append(converted(arithmetic_.factors, value, Rounding::nearest_even), element);
      }
    }
    return out;
  }

  std::vector<double> linear(const Factors& x, const Factors& weights) const {
    std::vector<double> y;
    y.reserve(x.scales.size() * weights.scales.size());
    for (std::size_t i = 0; i < x.scales.size(); ++i) {
      for (std::size_t o = 0; o < weights.scales.size(); ++o) {
        double sum = sum_.chain(x.row(i), weights.row(o), 0, {});
        if (arithmetic_.factors != FormatId::bf16)
          sum = f32(f32(sum * x.scales[i]) * weights.scales[o]);
        y.push_back(stored(sum));
      }
    }
    return y;
  }

  // In f32, the sums by 32 lanes as a warp has them. Modulated where there is a layer that does.
  std::vector<double> normalized(const StackLayer* layer, std::size_t half,
                                 const std::vector<double>& x) const {
    const auto count = static_cast<double>(stack_.shape.width);
    std::vector<double> h(x.size());
    for (std::size_t row = 0; row < x.size(); row += width()) {
      const auto mean_of = [&](const auto& term) {
        double lanes[32] = {}, sum = 0;
        for (std::size_t p = 0; p < width(); ++p) lanes[p % 32] = f32(lanes[p % 32] + term(p));
        for (const double lane : lanes) sum = f32(sum + lane);
        return f32(sum / count);
      };
      const double mean =
          stack_.shape.adaptive ? mean_of([&](std::size_t p) { return x[row + p]; }) : 0;
      const double squares = mean_of([&](std::size_t p) {
        const double centered = f32(x[row + p] - mean);
        return f32(centered * centered);
      });
      const double inverse = f32(1 / std::sqrt(f32(squares + stack_definition::kNormEpsilon)));
      for (std::size_t p = 0; p < width(); ++p) {
        double value = f32(f32(x[row + p] - mean) * inverse);
        if (stack_.shape.adaptive && layer != nullptr) {
          value = static_cast<double>(f32_fma(value,
                                              f32(1 + static_cast<double>(layer->scale[half][p])),
                                              static_cast<double>(layer->shift[half][p])));
        }
        h[row + p] = stored(value);
      }
    }
    return h;
  }

  std::vector<double> attention(const std::vector<double>& q,
                                const KeyValues<double>& cache) const {
    const StackShape& shape = stack_.shape;
    const auto d = static_cast<std::size_t>(shape.head_width());
    const std::size_t tokens = q.size() / width(), keys = cache.keys.size() / width();
    AttentionHead head;
    head.queries = static_cast<std::int64_t>(tokens);
    head.keys = static_cast<std::int64_t>(keys);
    head.d = head.dv = shape.head_width();
    head.scale = 1 / std::sqrt(static_cast<float>(d));
    head.mask.causal = Causal::bottom_right;
    std::vector<double> o(q.size());
    for (std::size_t first = 0; first < width(); first += d) {
      const auto part = [&](const std::vector<double>& of) {
        std::vector<double> values;
        for (std::size_t row = first; row < of.size(); row += width())
          values.insert(values.end(), of.begin() + static_cast<std::ptrdiff_t>(row),
                        of.begin() + static_cast<std::ptrdiff_t>(row + d));
        return values;
      };
      const StagedHead staged(head, AttentionContract{}, arithmetic_.sm, FormatId::bf16,
                              FormatId::bf16, FormatId::bf16, part(q), part(cache.keys),
                              part(cache.values));
      const std::vector<double> scores = staged.scores(true);
      for (std::size_t i = 0; i < tokens; ++i) {
        const StagedHead::Row row = staged.row(static_cast<std::int64_t>(i), ~StageSet{0},
                                               std::span(scores).subspan(i * keys, keys));
        for (std::size_t p = 0; p < d; ++p) o[i * width() + first + p] = stored(row.o[p]);
      }
    }
    return o;
  }

  // x + r y in f32, stored as the residual stream is.
  void add(const StackLayer& layer, std::size_t half, const std::vector<double>& y,
           std::vector<double>& x) const {
    const double scale = f32(stack_.shape.residual_scale);
    for (std::size_t n = 0; n < x.size(); ++n) {
      double step = y[n];
      if (stack_.shape.adaptive)
        step = f32(step * static_cast<double>(layer.gain[half][n % width()]));
      x[n] = static_cast<double>(f32_fma(step, scale, x[n]));
      if (arithmetic_.residual == FormatId::bf16) x[n] = stored(x[n]);
    }
  }

  const Stack& stack_;
  StackArithmetic arithmetic_;
  StagedSum sum_;
  std::vector<Weights> weights_;
};

StagedStack::StagedStack(const Stack& stack, const StackArithmetic& arithmetic)
    : machine_(std::make_unique<Machine>(stack, arithmetic)) {}

StagedStack::~StagedStack() = default;

std::vector<double> StagedStack::layer(std::size_t index, const std::vector<double>& x) const {
  KeyValues<double> none;
  return machine_->layer(index, x, none);
}

std::vector<double> StagedStack::layer(std::size_t index, const std::vector<double>& x,
                                       KeyValues<double>& cache) const {
  return machine_->layer(index, x, cache);
}

std::vector<double> StagedStack::cached(const std::vector<double>& rows) const {
  return machine_->cached(rows);
}

std::vector<double> StagedStack::normalized(const std::vector<double>& x) const {
  return machine_->normalized(x);
}

}  // namespace plumbline
