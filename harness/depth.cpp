// SPDX-License-Identifier: MIT
#include "harness/depth.h"

#include <fmt/format.h>

#include "harness/interrupt.h"

namespace plumbline {
namespace {

void tell(DepthRecord& record) {
  record.findings =
      growth_findings(record.curves, {"depth", "layer", "a biased conversion makes it"});
  const double ratio = end_ratio(record, "bf16 residual stream", "f32 residual stream");
  if (ratio > 0) {
    record.findings.push_back(
        fmt::format("Keeping the residual stream in f32 instead of bf16 makes the error after {} "
                    "layers {:.1f} times smaller.",
                    record.layers, ratio));
  }
}

}  // namespace

DepthRecord run_depth(const DepthOptions& options) {
  const StackShape& shape = options.shape;
  DepthRecord record;
  record.stack = fmt::format(
      "{} blocks, {} tokens of width {}, {} heads, hidden width {}, residual scale {:.3g}",
      shape.adaptive ? "diffusion (adaptive LayerNorm)" : "pre-norm transformer", shape.tokens,
      shape.width, shape.heads, shape.hidden, shape.residual_scale);
  record.layers = shape.layers;
  const Stack stack = random_stack(shape, options.seed);
  const ExactSteps exact = run_exactly(
      {{stack.input.begin(), stack.input.end()}, {}}, stack.layers.size(),
      [&](std::size_t layer, StepState& state) { defined_layer(stack, layer, state.x); },
      options.probes, options.seed);
  const StackArithmetic bf16{}, f32{.residual = FormatId::f32},
      fp8{.residual = FormatId::f32, .factors = FormatId::e4m3},
      cut{.conversion = Rounding::toward_zero};
  for (const auto& [name, arithmetic] :
       {std::pair{"bf16 residual stream", bf16}, std::pair{"f32 residual stream", f32},
        std::pair{"f32 stream, FP8 GEMMs", fp8}, std::pair{"bf16, casts truncate", cut}}) {
    if (interrupted()) continue;
    const StagedStack staged(stack, arithmetic);
    const Step step = [&](std::size_t layer, StepState& state) {
      state.x = staged.layer(layer, state.x);
    };
    record.curves.push_back(step_curve(name, {.step = step}, exact));
  }
  if (!interrupted()) tell(record);
  return record;
}

}  // namespace plumbline
