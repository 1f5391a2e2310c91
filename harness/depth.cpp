// SPDX-License-Identifier: MIT
#include "harness/depth.h"

#include <fmt/format.h>

#include "harness/interrupt.h"
#include "oracles/base/random.h"
#include "oracles/reference/staged_stack_gradient.h"

namespace plumbline {
namespace {

using Rows = std::vector<double>;

const GrowthWords kWords{"depth", "layer", "a biased conversion makes it"};

const StackArithmetic kBf16{};

constexpr std::string_view kBf16Stream = "bf16 residual stream", kF32Stream = "f32 residual stream",
                           kExactInputs = "bf16, exact inputs";

std::vector<std::pair<std::string_view, StackArithmetic>> arithmetics() {
  return {{kBf16Stream, kBf16},
          {kF32Stream, {.residual = FormatId::f32}},
          {"f32 stream, FP8 GEMMs", {.residual = FormatId::f32, .factors = FormatId::e4m3}},
          {"bf16, casts truncate", {.conversion = Rounding::toward_zero}}};
}

std::string words_of(const StackShape& shape) {
  return fmt::format(
      "{} blocks, {} tokens of width {}, {} heads, hidden width {}, residual scale {:.3g}",
      shape.adaptive ? "diffusion (adaptive LayerNorm)" : "pre-norm transformer", shape.tokens,
      shape.width, shape.heads, shape.hidden, shape.residual_scale);
}

// `of`: "error", "gradient's error".
void tell(DepthRecord& record, std::string_view of) {
  record.findings = growth_findings(record.curves, kWords);
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

}  // namespace

DepthRecord run_depth(const DepthOptions& options) {
  DepthRecord record;
  record.stack = words_of(options.shape);
  record.layers = options.shape.layers;
  const Stack stack = random_stack(options.shape, options.seed);
  const ExactSteps exact = exact_forward(stack, options.probes, options.seed);
  for (const auto& [name, arithmetic] : arithmetics()) {
    if (interrupted()) return record;
    const StagedStack staged(stack, arithmetic);
    const Step step = [&](std::size_t layer, StepState& state) {
      state.x = staged.layer(layer, state.x);
    };
    record.curves.push_back(step_curve(std::string(name), {.step = step}, exact));
  }
  tell(record, "error");
  return record;
}

DepthRecord run_gradient_depth(const DepthOptions& options) {
  DepthRecord record;
  record.stack = "Gradients through " + words_of(options.shape);
  record.steps = "layers, backward";
  record.layers = options.shape.layers;
  const Stack stack = random_stack(options.shape, options.seed);
  const std::size_t layers = stack.layers.size();
  const std::vector<Rows> exact_inputs = exact_forward(stack, 0, options.seed).x;
  const ExactSteps exact = run_exactly(
      {incoming_gradient(options.shape, options.seed), {}}, layers,
      [&](std::size_t step, StepState& state) {
        const std::size_t layer = layers - 1 - step;
        defined_layer_gradient(stack, layer, exact_inputs[layer], state.x);
      },
      options.probes, options.seed);
  const auto add_curve = [&](std::string_view name, const StackArithmetic& arithmetic,
                             bool exact_inputs_only) {
    if (interrupted()) return;
    const StagedStack forward(stack, arithmetic);
    const StagedStackGradient backward(stack, arithmetic);
    std::vector<StagedStack::Activations> left;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      KeyValues<double> nothing_before;
      left.push_back(forward.activations(
          layer, exact_inputs_only || layer == 0 ? exact_inputs[layer] : left.back().result,
          nothing_before));
    }
    const Step step = [&](std::size_t index, StepState& state) {
      const std::size_t layer = layers - 1 - index;
      state.x = backward.layer(layer, left[layer], state.x);
    };
    record.curves.push_back(step_curve(std::string(name), {.step = step}, exact));
  };
  for (const auto& [name, arithmetic] : arithmetics()) add_curve(name, arithmetic, false);
  add_curve(kExactInputs, kBf16, true);
  if (interrupted()) return record;
  tell(record, "gradient's error");
  const double ratio = end_ratio(record, kBf16Stream, kExactInputs);
  if (ratio > 0) {
    record.findings.push_back(fmt::format(
        "The gradient's error is {:.1f} times that with layers whose inputs are exact.", ratio));
  }
  return record;
}

}  // namespace plumbline
