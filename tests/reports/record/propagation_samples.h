// SPDX-License-Identifier: MIT
// A record of `plumbline propagate` with everything that verb finds out.
#pragma once

#include <cmath>
#include <limits>

#include "tests/reports/record/record_samples.h"

namespace plumbline {

inline PropagationRecord sample_propagation() {
  PropagationRecord p;
  p.kernel = "gemm_bf16";
  p.text = "gemm_bf16 m=8 n=8 k=8 value=normal seed=0x1";
  p.device = "emulator sm_90";
  p.output = "d";
  p.error = 0.0375;
  p.own_error = 0.0017;
  StageRecord quantize;
  quantize.name = "quantize inputs";
  quantize.kind = "quantization";
  quantize.alone = 0.037;
  quantize.in_order = 0.998;
  StageRecord argument;
  argument.name = "softmax argument";
  argument.kind = "arithmetic";
  argument.alone = 1e-7;
  argument.without = 2e-7;
  argument.in_order = 0.003;
  argument.own_in_order = 1.01;
  argument.own_any_order = 0.99;
  argument.own_any_order_error = 0.123;
  p.stages = {quantize, argument};
  p.unexplained = -0.001;
  p.own_unexplained = -0.01;
  p.parts = {{"quantization", 0.037, 0.998}, {"unexplained", 0, 0.002}};
  p.condition.bands = {{0, 10, 60, 1e-3, 1e-4}, {1e4, 1e6, 123456, 0.3, 1e-5}};
  p.root_sum_square = 0.99;
  p.interaction = 0.021;
  p.findings = {"The fault is in the stage \"output\"."};
  return p;
}

inline RunRecord propagation_run() {
  RunRecord r = sample_record();
  r.verb = "propagate";
  r.counterexamples.clear();
  r.propagations.push_back(sample_propagation());
  DepthRecord depth;
  depth.stack = "pre-norm transformer blocks";
  depth.layers = 2;
  depth.findings = {"Keeping the residual stream in f32 makes the error 6.7 times smaller."};
  depth.curves.push_back(
      {"bf16 residual stream", {1e-3, 2e-3}, {1e-3, 1e-3}, {1, 1}, 0.5, 0, 2e-3, {2e-3, 4e-3}});
  depth.curves.push_back(
      {"f32 residual stream", {1e-4, 3e-4}, {1e-4, 2e-4}, {1, 1}, 0.51, 0, 2.2e-4, {}});
  r.depths.push_back(depth);
  GradientRecord gradient;
  gradient.text = "linear_bf16_backward m=8 n=8 k=8 value=normal seed=0x1";
  gradient.output = "dx";
  gradient.draws = 32;
  gradient.bias = 0.47;
  gradient.relative = 3.3e-3;
  gradient.parallel = -2.8e-3;
  gradient.parallel_error = 1e-5;
  gradient.row_median = 1e-3;
  gradient.row_99 = 2e-3;
  gradient.row_largest = 4e-3;
  gradient.channel_median = 1e-3;
  gradient.channel_99 = gradient.channel_largest = 3e-3;
  gradient.descent = 0.9972;
  gradient.adam_difference = 0.012;
  gradient.of_spread = 5e-5;
  r.gradients.push_back(gradient);
  StochasticRecord stochastic;
  stochastic.kernel = "gemm_bf16";
  stochastic.text = "gemm_bf16 m=8 n=8 k=8 value=normal seed=0x1";
  stochastic.device = "emulator sm_90";
  stochastic.output = "d";
  stochastic.draws = 4096;
  stochastic.elements = stochastic.steady = 12345678;
  stochastic.bits = stochastic.bits_low = stochastic.shared_bits =
      std::numeric_limits<double>::infinity();
  stochastic.uncertainty = 1.8;
  stochastic.shared_probability = 0.999;
  stochastic.of_bound = std::nan("");
  stochastic.bias = 1.22;
  stochastic.unbiased_nodes_bias = 0.01;
  stochastic.findings = {"Every draw gives the same bits."};
  r.stochastics.push_back(stochastic);
  return r;
}

}  // namespace plumbline
