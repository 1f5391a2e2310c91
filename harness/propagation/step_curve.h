// SPDX-License-Identifier: MIT
// How errors grow over the steps of anything that goes on from its own results: the layers of a
// stack (depth.h), decoding (decoding.h), denoising (denoising.h). It is run in some arithmetic
// beside an FP64 reference. With rel_t the error after step t, sigma_t what a step adds to an exact
// state and g_t what it multiplies an error by, rel_T^2 is about the sum over t of (g_{t+1} ... g_T
// sigma_t)^2.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/record/propagation.h"

namespace plumbline {

// What the next step goes on from: x, whose error is measured, and what is remembered beside it and
// only grows (a KV cache).
struct StepState {
  std::vector<double> x, memory;
};

using Step = std::function<void(std::size_t index, StepState& state)>;

// The FP64 reference: x before each step and after the last, and what each step does to errors.
struct ExactSteps {
  std::vector<std::vector<double>> x;
  std::vector<double> memory;            // in the end
  std::vector<std::size_t> memory_size;  // before each step
  std::vector<double> gain;

  StepState before(std::size_t step) const;
};

// `probes`: random directions for the gain, by differences in FP64; it is that of x alone, beside
// an exact memory. After Ctrl-C there are fewer steps.
ExactSteps run_exactly(const StepState& start, std::size_t steps, const Step& step, int probes,
                       std::uint64_t seed);

// One arithmetic: its step, and what it makes of an exact state that it is given.
struct LowSteps {
  Step step;
  std::function<void(StepState&)> enter = [](StepState&) {};
};

// Empty after Ctrl-C: a part of a curve would look like a shorter run.
DepthCurve step_curve(std::string name, const LowSteps& low, const ExactSteps& exact);

// b of rel ~ steps^b, by least squares over the last seven eighths of them.
double growth_exponent(const std::vector<double>& relative);

// What is grown over, "depth" and "layer"; what makes coherent errors there; and what is left out
// where single steps are added up.
struct GrowthWords {
  std::string of, step, cause, alone = "random ones";
};

// Sentences about each curve: coherent growth, and errors that are not what its steps add up to.
std::vector<std::string> growth_findings(const std::vector<DepthCurve>& curves,
                                         const GrowthWords& words);

// What a step does to errors and what they come to by that: they settle, add up at random, or are
// amplified. `step`: "decode step".
std::string gain_finding(const DepthCurve& curve, const std::string& step);

// The error of one curve over that of another: at the end, root mean square over the second half,
// and as the steps inject it. 0 where either is missing.
double end_ratio(const DepthRecord& record, std::string_view one, std::string_view other);
double late_ratio(const DepthRecord& record, std::string_view one, std::string_view other);
double injected_ratio(const DepthRecord& record, std::string_view one, std::string_view other);

}  // namespace plumbline
