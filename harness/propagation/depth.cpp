// SPDX-License-Identifier: MIT
#include "harness/propagation/depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/launch/interrupt.h"
#include "harness/run/workers.h"
#include "oracles/base/random.h"
#include "oracles/stages/output_vectors.h"
#include "oracles/stages/staged_stack_gradient.h"

namespace plumbline {
namespace {

using Rows = std::vector<double>;

const GrowthWords kWords{"depth", "layer", "a biased conversion makes it"};

const StackArithmetic kBf16{};

constexpr std::string_view kBf16Stream = "bf16 residual stream", kF32Stream = "f32 residual stream",
                           kExactInputs = "bf16, exact inputs";

using Arithmetics = std::vector<std::pair<std::string_view, StackArithmetic>>;

Arithmetics arithmetics() {
  return {{kBf16Stream, kBf16},
          {kF32Stream, {.residual = FormatId::f32}},
          {"f32 stream, FP8 GEMMs",
           {.residual = FormatId::f32, .factors = StackFormats::all(FormatId::e4m3)}},
          {"bf16, casts truncate", {.conversion = Rounding::toward_zero}}};
}

void add_given(const StackModel& model, Arithmetics& variants) {
  if (const auto given = model.arithmetic()) variants.emplace_back(kGivenArithmetic, *given);
}

// `of`: "", ", gradients".
std::string words_of(const DepthOptions& options, std::string_view of) {
  return options.model.describe(
      fmt::format(
          "{} blocks{}",
          options.shape.adaptive ? "diffusion (adaptive LayerNorm)" : "pre-norm transformer", of),
      {"tokens", "width", "heads", "hidden"}, options.shape);
}

// `of`: "error", "gradient's error".
void tell(const DepthOptions& options, DepthRecord& record, std::string_view of) {
  record.findings = growth_findings(record.curves, kWords);
  options.model.tell(record, kBf16Stream);
  const double ratio = end_ratio(record, kBf16Stream, kF32Stream);
  if (ratio > 0) {
    record.findings.push_back(
        fmt::format("Keeping the residual stream in f32 instead of bf16 makes the {} after {} "
                    "layers {:.1f} times smaller.",
                    of, record.layers, ratio));
  }
}

ExactSteps exact_forward(const Stack& stack, int probes, std::uint64_t seed) {
  return run_exactly(
      {{stack.input.begin(), stack.input.end()}, {}}, stack.layers.size(),
      [&](std::size_t layer, StepState& state) { defined_layer(stack, layer, state.x); }, probes,
      seed);
}

// The gradient of a loss by the last layer's result: unit normal, rounded to bf16, as the input is.
Rows incoming_gradient(StackShape shape, std::uint64_t seed) {
  shape.layers = 0;
  const Stack drawn = random_stack(shape, Random(seed).fork(~std::uint64_t{0}).next());
  return {drawn.input.begin(), drawn.input.end()};
}

// curve(i) for i below `count`, on a few threads. After Ctrl-C some are missing.
template <typename Curve>
std::vector<DepthCurve> curves_of(std::size_t count, int threads, const Curve& curve) {
  std::vector<DepthCurve> curves(count);
  for_each_on_workers(count, threads, [&] { return [&](std::size_t i) { curves[i] = curve(i); }; });
  std::erase_if(curves, [](const DepthCurve& c) { return c.relative.empty(); });
  return curves;
}

// What a layer's step back leaves behind: `g` becomes the gradient by its input.
using WeightStep = std::function<std::vector<double>(std::size_t layer, Rows& g)>;

// The errors of the gradients by weights, from the last layer to the first.
std::vector<double> weight_errors(std::size_t layers, const Rows& incoming, const WeightStep& exact,
                                  const WeightStep& low) {
  std::vector<double> errors;
  Rows exact_g = incoming, low_g = incoming;
  for (std::size_t layer = layers; layer-- > 0 && !interrupted();) {
    const Rows due = exact(layer, exact_g);
    errors.push_back(distance(low(layer, low_g), due) / norm(due));
  }
  return errors;
}

std::string weights_finding(const DepthCurve& curve) {
  const auto worst = std::max_element(curve.weights.begin(), curve.weights.end());
  return fmt::format(
      "{}: gradients by weights are off by {:.1e} (root mean square over layers), at most by "
      "{:.1e}, in layer {}.",
      curve.name, root_mean_square(curve.weights), *worst, curve.weights.end() - worst);
}

}  // namespace

DepthRecord run_depth(const DepthOptions& options) {
  DepthRecord record;
  record.stack = words_of(options, "");
  record.layers = options.shape.layers;
  const Stack stack = random_stack(options.shape, options.seed);
  const ExactSteps exact = exact_forward(stack, options.probes, options.seed);
  if (interrupted()) return record;
  Arithmetics variants = arithmetics();
  add_given(options.model, variants);
  record.curves = curves_of(variants.size(), options.threads, [&](std::size_t i) {
    const auto& [name, arithmetic] = variants[i];
    const StagedStack staged(stack, arithmetic);
    const Step step = [&](std::size_t layer, StepState& state) {
      state.x = staged.layer(layer, state.x);
    };
    return step_curve(std::string(name), {.step = step}, exact);
  });
  tell(options, record, "error");
  return record;
}

DepthRecord run_gradient_depth(const DepthOptions& options) {
  DepthRecord record;
  record.stack = words_of(options, ", gradients");
  record.steps = "backward layers";
  record.layers = options.shape.layers;
  const Stack stack = random_stack(options.shape, options.seed);
  const std::size_t layers = stack.layers.size();
  const std::vector<Rows> exact_inputs = exact_forward(stack, 0, options.seed).x;
  if (interrupted()) return record;
  const Rows incoming = incoming_gradient(options.shape, options.seed);
  const ExactSteps exact = run_exactly(
      {incoming, {}}, layers,
      [&](std::size_t step, StepState& state) {
        const std::size_t layer = layers - 1 - step;
        defined_layer_gradient(stack, layer, exact_inputs[layer], state.x);
      },
      options.probes, options.seed);
  const WeightStep exact_weights = [&](std::size_t layer, Rows& g) {
    WeightGradients<double> by_weights;
    defined_layer_gradient(stack, layer, exact_inputs[layer], g, &by_weights);
    return by_weights.all();
  };
  if (interrupted()) return record;
  Arithmetics variants = arithmetics();
  variants.emplace_back(kExactInputs, kBf16);
  add_given(options.model, variants);
  record.curves = curves_of(variants.size(), options.threads, [&](std::size_t i) {
    const auto& [name, arithmetic] = variants[i];
    const StagedStack forward(stack, arithmetic);
    const StagedStackGradient backward(stack, arithmetic);
    std::vector<StagedStack::Activations> left;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      KeyValues<double> nothing_before;
      left.push_back(forward.activations(
          layer, name == kExactInputs || layer == 0 ? exact_inputs[layer] : left.back().result,
          nothing_before));
    }
    const Step step = [&](std::size_t index, StepState& state) {
      const std::size_t layer = layers - 1 - index;
      state.x = backward.layer(layer, left[layer], state.x);
    };
    DepthCurve curve = step_curve(std::string(name), {.step = step}, exact);
    if (curve.relative.empty()) return curve;
    curve.weights = weight_errors(layers, incoming, exact_weights, [&](std::size_t layer, Rows& g) {
      WeightGradients<double> by_weights;
      g = backward.layer(layer, left[layer], g, &by_weights);
      return by_weights.all();
    });
    return interrupted() ? DepthCurve() : curve;
  });
  tell(options, record, "gradient's error");
  for (const DepthCurve& curve : record.curves)
    if (curve.name == kBf16Stream && !curve.weights.empty())
      record.findings.push_back(weights_finding(curve));
  const double ratio = end_ratio(record, kBf16Stream, kExactInputs);
  if (ratio > 0) {
    record.findings.push_back(fmt::format(
        "The gradient's error is {:.1f} times that with layers whose inputs are exact.", ratio));
  }
  return record;
}

}  // namespace plumbline
