// SPDX-License-Identifier: MIT
// How errors grow through a deep stack of transformer blocks, in several arithmetics beside an FP64
// twin (oracles/reference/stack.h). With rel_l the error after layer l, sigma_l what a layer adds
// to exact inputs and g_l what it multiplies an error by, rel_L^2 is about the sum over l of
// (g_{l+1} ... g_L sigma_l)^2.
#pragma once

#include "oracles/reference/staged_stack.h"
#include "reports/propagation.h"

namespace plumbline {

struct DepthOptions {
  StackShape shape;
  std::uint64_t seed = 1;
  int probes = 8;  // random directions for the gain
};

// The exact stack: x after every layer, the input first, and what each layer does to errors.
struct ExactStack {
  std::vector<std::vector<double>> x;
  std::vector<double> gain;
};

ExactStack run_exactly(const Stack& stack, int probes, std::uint64_t seed);

DepthCurve depth_curve(std::string name, const Stack& stack, const StackArithmetic& arithmetic,
                       const ExactStack& exact);

// The arithmetics side by side, with findings.
DepthRecord run_depth(const DepthOptions& options);

// b of rel ~ depth^b, by least squares over the last seven eighths of the layers.
double growth_exponent(const std::vector<double>& relative);

}  // namespace plumbline
