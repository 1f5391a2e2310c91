// SPDX-License-Identifier: MIT
#include "harness/propagation/step_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/launch/interrupt.h"
#include "oracles/base/random.h"
#include "oracles/stages/output_vectors.h"

namespace plumbline {
namespace {

// Random errors grow as the root of the steps, coherent ones as the steps themselves: an exponent
// beyond this that is not amplification is a bias. The exponent of one curve of random errors can
// lie there as well; then the error is what its steps add up to as random ones, and that of
// coherent errors is larger.
constexpr double kCoherent = 0.7, kBeyondRandom = 1.5;
constexpr std::size_t kFewest = 8;  // steps
constexpr double kAmplified = 0.5;  // growth over all steps, in e-foldings

// A relative size at which an FP64 difference quotient is good to about 1e-7 both ways, and how far
// from it a difference may come before it is brought back.
constexpr double kProbe = 0x1p-24, kDrift = 0x1p8;

std::vector<double> nudged(const std::vector<double>& x, Random random) {
  std::vector<double> direction(x.size());
  for (double& value : direction) value = 2 * random.unit() - 1;
  const double step = kProbe * norm(x) / norm(direction);
  for (std::size_t i = 0; i < x.size(); ++i) direction[i] = x[i] + step * direction[i];
  return direction;
}

// The exponent, less what a perturbation's growth over the last seven eighths of the steps has in
// it.
double unamplified_exponent(const DepthCurve& curve) {
  const double steps = 7.0 / 8 * static_cast<double>(curve.relative.size());
  return curve.exponent - std::max(0.0, curve.growth * steps / std::log(8.0));
}

double late(const DepthCurve& curve) {
  double squares = 0, count = 0;
  for (std::size_t i = curve.relative.size() / 2; i < curve.relative.size(); ++i, ++count)
    squares += curve.relative[i] * curve.relative[i];
  return count == 0 ? 0 : std::sqrt(squares / count);
}

double injected(const DepthCurve& curve) {
  return norm(curve.injected);  // over as many steps in either curve of a ratio
}

double ratio_of(const DepthRecord& record, std::string_view one, std::string_view other,
                double (*error)(const DepthCurve&)) {
  const auto of = [&](std::string_view name) {
    const auto found = std::find_if(record.curves.begin(), record.curves.end(),
                                    [&](const DepthCurve& c) { return c.name == name; });
    return found == record.curves.end() ? 0 : error(*found);
  };
  return of(other) > 0 ? of(one) / of(other) : 0;
}

double off(const std::vector<double>& x, const std::vector<double>& due) {
  return distance(x, due) / norm(due);
}

}  // namespace

StepState ExactSteps::before(std::size_t step) const {
  return {x[step],
          {memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(memory_size[step])}};
}

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

ExactSteps run_exactly(const StepState& start, std::size_t steps, const Step& step, int probes,
                       std::uint64_t seed) {
  ExactSteps exact;
  StepState state = start;
  exact.x.push_back(state.x);
  std::vector<StepState> moved;
  const Random random(seed);
  for (int probe = 0; probe < probes; ++probe)
    moved.push_back(
        {nudged(state.x, random.fork(static_cast<std::uint64_t>(probe))), state.memory});
  double before = kProbe;
  for (std::size_t index = 0; index < steps && !interrupted(); ++index) {
    exact.memory_size.push_back(state.memory.size());
    step(index, state);
    double squares = 0;
    for (StepState& other : moved) {
      step(index, other);
      const double away = off(other.x, state.x);
      squares += away * away;
    }
    double after = std::sqrt(squares / std::max(1, probes));
    exact.gain.push_back(after / before);
    const bool drifted = after > kProbe * kDrift || after < kProbe / kDrift;
    for (StepState& other : moved) {
      other.memory = state.memory;
      for (std::size_t i = 0; i < state.x.size() && drifted; ++i)
        other.x[i] = state.x[i] + kProbe / after * (other.x[i] - state.x[i]);
    }
    if (drifted) after = kProbe;
    before = after;
    exact.x.push_back(state.x);
  }
  exact.memory = std::move(state.memory);
  return exact;
}

DepthCurve step_curve(std::string name, const LowSteps& low, const ExactSteps& exact) {
  DepthCurve curve;
  curve.name = std::move(name);
  curve.gain = exact.gain;
  StepState state = exact.before(0);
  low.enter(state);
  double predicted = 0, growth = 0;
  for (std::size_t index = 0; index < exact.gain.size() && !interrupted(); ++index) {
    const std::vector<double>& due = exact.x[index + 1];
    low.step(index, state);
    curve.relative.push_back(off(state.x, due));
    StepState fresh = exact.before(index);
    low.enter(fresh);
    low.step(index, fresh);
    curve.injected.push_back(off(fresh.x, due));
    const double gain = exact.gain[index], injected = curve.injected.back();
    predicted = predicted * gain * gain + injected * injected;
    growth += std::log(gain);
  }
  if (curve.relative.size() < exact.gain.size()) return {};  // interrupted
  curve.predicted = std::sqrt(predicted);
  curve.growth = growth / static_cast<double>(exact.gain.size());
  curve.exponent = growth_exponent(curve.relative);
  return curve;
}

std::vector<std::string> growth_findings(const std::vector<DepthCurve>& curves,
                                         const GrowthWords& words) {
  std::vector<std::string> findings;
  for (const DepthCurve& curve : curves) {
    if (curve.relative.empty()) continue;  // interrupted
    const double ratio = curve.relative.back() / curve.predicted;
    if (curve.relative.size() >= kFewest && unamplified_exponent(curve) > kCoherent &&
        ratio > kBeyondRandom) {
      findings.push_back(fmt::format(
          "{}: the error grows as {}^{:.2f} though errors are not amplified by as much: "
          "it is coherent, as {}.",
          curve.name, words.of, curve.exponent, words.cause));
    }
    if (ratio > 3 || ratio < 1.0 / 3) {
      findings.push_back(fmt::format("{}: {:.2f} times what the {}s' own errors add up to as {}.",
                                     curve.name, ratio, words.step, words.alone));
    }
  }
  return findings;
}

std::string gain_finding(const DepthCurve& curve, const std::string& step) {
  const double gain = std::exp(curve.growth);
  const auto steps = static_cast<double>(curve.relative.size());
  if (curve.growth * steps > kAmplified) {
    return fmt::format("A {} multiplies errors by {:.3f}: they are amplified.", step, gain);
  }
  if (curve.growth * steps > -kAmplified) {
    return fmt::format(
        "A {} multiplies errors by {:.3f}: they neither grow nor fade, and add up "
        "as the root of the steps.",
        step, gain);
  }
  return fmt::format(
      "A {} multiplies errors by {:.3f}: random ones settle at {:.1f} times what a step adds.",
      step, gain, 1 / std::sqrt(1 - gain * gain));
}

double end_ratio(const DepthRecord& record, std::string_view one, std::string_view other) {
  return ratio_of(record, one, other, [](const DepthCurve& curve) {
    return curve.relative.empty() ? 0 : curve.relative.back();
  });
}

double late_ratio(const DepthRecord& record, std::string_view one, std::string_view other) {
  return ratio_of(record, one, other, late);
}

double injected_ratio(const DepthRecord& record, std::string_view one, std::string_view other) {
  return ratio_of(record, one, other, injected);
}

}  // namespace plumbline
