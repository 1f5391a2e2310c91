// SPDX-License-Identifier: MIT
#include "harness/depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/interrupt.h"
#include "oracles/base/random.h"
#include "oracles/reference/output_vectors.h"

namespace plumbline {
namespace {

// Random errors grow as the root of depth, coherent ones as depth itself: an exponent beyond this,
// where errors are not amplified, is a bias.
constexpr double kCoherent = 0.7;
constexpr double kAmplified = 0.5;  // growth over the whole stack, in e-foldings

// A relative size at which an FP64 difference quotient is good to about 1e-7 both ways.
constexpr double kProbe = 0x1p-24;

std::vector<double> nudged(const std::vector<double>& x, Random random) {
  std::vector<double> direction(x.size());
  for (double& value : direction) value = 2 * random.unit() - 1;
  const double step = kProbe * norm(x) / norm(direction);
  for (std::size_t i = 0; i < x.size(); ++i) direction[i] = x[i] + step * direction[i];
  return direction;
}

void tell(DepthRecord& record) {
  const auto find = [&](std::string_view name) {
    const auto found = std::find_if(record.curves.begin(), record.curves.end(),
                                    [&](const DepthCurve& c) { return c.name == name; });
    return found == record.curves.end() ? nullptr : &*found;
  };
  for (const DepthCurve& curve : record.curves) {
    const auto layers = static_cast<double>(curve.relative.size());
    const bool amplified = curve.growth * layers > kAmplified;
    if (curve.exponent > kCoherent && !amplified) {
      record.findings.push_back(fmt::format(
          "{}: the error grows as depth^{:.2f} though errors are not amplified: it is coherent, as "
          "a biased conversion makes it.",
          curve.name, curve.exponent));
    }
    const double ratio = curve.relative.back() / curve.predicted;
    if (ratio > 3 || ratio < 1.0 / 3) {
      record.findings.push_back(
          fmt::format("{}: {:.2f} times what the layers' own errors add up to as random ones.",
                      curve.name, ratio));
    }
  }
  const DepthCurve *narrow = find("bf16 residual stream"), *wide = find("f32 residual stream");
  if (narrow && wide) {
    record.findings.push_back(
        fmt::format("Keeping the residual stream in f32 instead of bf16 makes the error after {} "
                    "layers {:.1f} times smaller.",
                    record.layers, narrow->relative.back() / wide->relative.back()));
  }
}

}  // namespace

double growth_exponent(const std::vector<double>& relative) {
  double count = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0;
  for (std::size_t l = relative.size() / 8; l < relative.size(); ++l) {
    if (!(relative[l] > 0)) continue;
    const double x = std::log(static_cast<double>(l + 1)), y = std::log(relative[l]);
    count += 1;
    x_sum += x;
    y_sum += y;
    xx += x * x;
    xy += x * y;
  }
  const double spread = count * xx - x_sum * x_sum;
  return spread > 0 ? (count * xy - x_sum * y_sum) / spread : 0;
}

ExactStack run_exactly(const Stack& stack, int probes, std::uint64_t seed) {
  ExactStack exact;
  exact.x.emplace_back(stack.input.begin(), stack.input.end());
  std::vector<std::vector<double>> moved;
  const Random random(seed);
  for (int probe = 0; probe < probes; ++probe)
    moved.push_back(nudged(exact.x[0], random.fork(static_cast<std::uint64_t>(probe))));
  double before = kProbe;
  for (std::size_t l = 0; l < stack.layers.size(); ++l) {
    std::vector<double> x = exact.x.back();
    defined_layer(stack, l, x);
    double squares = 0;
    for (std::vector<double>& other : moved) {
      defined_layer(stack, l, other);
      const double away = distance(other, x) / norm(x);
      squares += away * away;
    }
    const double after = std::sqrt(squares / std::max(1, probes));
    exact.gain.push_back(after / before);
    before = after;
    exact.x.push_back(std::move(x));
  }
  return exact;
}

DepthCurve depth_curve(std::string name, const Stack& stack, const StackArithmetic& arithmetic,
                       const ExactStack& exact) {
  DepthCurve curve;
  curve.name = std::move(name);
  curve.gain = exact.gain;
  const StagedStack staged(stack, arithmetic);
  std::vector<double> x = exact.x[0];
  double predicted = 0, growth = 0;
  for (std::size_t l = 0; l < stack.layers.size() && !interrupted(); ++l) {
    const std::vector<double>& due = exact.x[l + 1];
    x = staged.layer(l, x);
    curve.relative.push_back(distance(x, due) / norm(due));
    curve.injected.push_back(distance(staged.layer(l, exact.x[l]), due) / norm(due));
    predicted = predicted * exact.gain[l] * exact.gain[l] + curve.injected[l] * curve.injected[l];
    growth += std::log(exact.gain[l]);
  }
  curve.predicted = std::sqrt(predicted);
  curve.growth = growth / static_cast<double>(stack.layers.size());
  curve.exponent = growth_exponent(curve.relative);
  return curve;
}

DepthRecord run_depth(const DepthOptions& options) {
  const StackShape& shape = options.shape;
  DepthRecord record;
  record.stack = fmt::format(
      "{} blocks, {} tokens of width {}, {} heads, hidden width {}, residual scale {:.3g}",
      shape.adaptive ? "diffusion (adaptive LayerNorm)" : "pre-norm transformer", shape.tokens,
      shape.width, shape.heads, shape.hidden, shape.residual_scale);
  record.layers = shape.layers;
  const Stack stack = random_stack(shape, options.seed);
  const ExactStack exact = run_exactly(stack, options.probes, options.seed);
  const StackArithmetic bf16{}, f32{.residual = FormatId::f32},
      fp8{.residual = FormatId::f32, .factors = FormatId::e4m3},
      cut{.conversion = Rounding::toward_zero};
  for (const auto& [name, arithmetic] :
       {std::pair{"bf16 residual stream", bf16}, std::pair{"f32 residual stream", f32},
        std::pair{"f32 stream, FP8 GEMMs", fp8}, std::pair{"bf16, casts truncate", cut}}) {
    if (!interrupted()) record.curves.push_back(depth_curve(name, stack, arithmetic, exact));
  }
  if (!interrupted()) tell(record);
  return record;
}

}  // namespace plumbline
