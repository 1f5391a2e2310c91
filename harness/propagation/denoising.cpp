// SPDX-License-Identifier: MIT
#include "harness/propagation/denoising.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "harness/launch/interrupt.h"
#include "oracles/stages/staged_sum.h"

namespace plumbline {
namespace {

struct Arithmetic {
  std::string_view name;
  StackArithmetic network;  // x is kept between steps in what its residual stream is stored in
};

constexpr const char *kBf16 = "bf16 x", *kF32 = "f32 x";

// keep x - take v.
struct Update {
  double keep, take;

  explicit Update(int steps)
      : keep(std::cos(std::numbers::pi / 2 / steps)),
        take(std::sin(std::numbers::pi / 2 / steps)) {}
};

DepthCurve curve_of(const Stack& stack, const Update& update, const ExactSteps& exact,
                    const Arithmetic& how) {
  const StagedStack staged(stack, how.network);
  const Format& kept_in = format(how.network.residual);
  const auto keep = static_cast<double>(static_cast<float>(update.keep)),
             take = static_cast<double>(static_cast<float>(update.take));
  const Step step = [&](std::size_t, StepState& state) {
    std::vector<double> y = state.x;
    for (std::size_t layer = 0; layer < stack.layers.size(); ++layer) y = staged.layer(layer, y);
    const std::vector<double> v = staged.normalized(y);
    for (std::size_t n = 0; n < v.size(); ++n) {
      const auto kept = static_cast<double>(static_cast<float>(keep * state.x[n]));
      const auto next = static_cast<double>(f32_fma(v[n], -take, kept));
      state.x[n] = to_double(kept_in, encode(kept_in, next, {.rounding = how.network.conversion}));
    }
  };
  return step_curve(std::string(how.name), {.step = step}, exact);
}

void tell(DepthRecord& record) {
  record.findings = growth_findings(
      record.curves,
      {"steps", "step", "a biased conversion or weights that err alike in every step make it"});
  record.findings.push_back(gain_finding(record.curves.front(), "denoising step"));
  record.findings.push_back(
      fmt::format("Keeping x in f32 between steps instead of bf16, and the network's residual "
                  "stream, makes the error after {} steps {:.1f} times smaller.",
                  record.layers, end_ratio(record, kBf16, kF32)));
}

}  // namespace

DepthRecord run_denoising(const DenoisingOptions& options) {
  StackShape shape = options.shape;
  shape.residual_scale = 1 / std::sqrt(2.0 * static_cast<double>(shape.layers));
  const Stack stack = random_stack(shape, options.seed);
  const Update update(options.steps);
  DepthRecord record;
  record.steps = "denoising steps";
  record.layers = options.steps;
  record.stack = options.model.describe("diffusion (adaptive LayerNorm) blocks",
                                        {"layers", "tokens", "width", "heads", "hidden"}, shape);
  const Step exactly = [&](std::size_t, StepState& state) {
    std::vector<double> y = state.x;
    for (std::size_t layer = 0; layer < stack.layers.size(); ++layer)
      defined_layer(stack, layer, y);
    const std::vector<double> v = stack_definition::normalized(stack, nullptr, 0, y);
    for (std::size_t n = 0; n < v.size(); ++n)
      state.x[n] = update.keep * state.x[n] - update.take * v[n];
  };
  const ExactSteps exact =
      run_exactly({{stack.input.begin(), stack.input.end()}, {}},
                  static_cast<std::size_t>(options.steps), exactly, options.probes, options.seed);
  const StackArithmetic f32{.residual = FormatId::f32},
      fp8{.residual = FormatId::f32, .factors = StackFormats::all(FormatId::e4m3)},
      cut{.conversion = Rounding::toward_zero};
  std::vector<Arithmetic> arithmetics = {
      {kBf16, {}},
      {kF32, f32},
      {"f32 x, FP8 GEMMs", fp8},
      {"bf16 x, casts truncate", cut},
  };
  if (const auto given = options.model.arithmetic())
    arithmetics.push_back({kGivenArithmetic, *given});
  for (const Arithmetic& how : arithmetics) {
    DepthCurve curve = curve_of(stack, update, exact, how);
    if (interrupted()) return record;
    record.curves.push_back(std::move(curve));
  }
  tell(record);
  options.model.tell(record, kBf16);
  return record;
}

}  // namespace plumbline
