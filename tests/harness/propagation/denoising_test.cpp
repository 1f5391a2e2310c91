// SPDX-License-Identifier: MIT
// Errors over denoising steps: the levels that roundings of x between steps have, and their
// absence.
#include "harness/propagation/denoising.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plumbline {
namespace {

DenoisingOptions small() {
  DenoisingOptions options;
  options.shape.layers = 1;
  options.shape.tokens = 8;
  options.shape.width = 32;
  options.shape.heads = 2;
  options.shape.hidden = 48;
  options.steps = 32;
  options.probes = 4;
  return options;
}

// x is rounded to bf16 once a step, 0.166 % (docs/propagation.md); by the end the first of these
// errors are multiplied by all gains, the last by none.
TEST(Denoising, XInBf16ErrsByItsRoundings) {
  const DepthRecord record = run_denoising(small());
  const DepthCurve& bf16 = record.curves[0];
  const double level = 0.00166 * std::sqrt(32.0);
  EXPECT_GT(bf16.relative.back(), level / 1.5);
  EXPECT_GT(bf16.growth, 0);
  EXPECT_LT(bf16.relative.back(), level * 1.5 * std::exp(32 * bf16.growth));
  EXPECT_NEAR(bf16.relative.back() / bf16.predicted, 1, 0.4);
  EXPECT_EQ(bf16.relative[0], bf16.injected[0]);
}

// The network's own errors reach x by a sine of d = 0.05: without the rounding of x they are small.
TEST(Denoising, XInF32LeavesTheNetworksErrorsAndTruncationIsWorse) {
  const DepthRecord record = run_denoising(small());
  EXPECT_GT(end_ratio(record, "bf16 x", "f32 x"), 3);
  EXPECT_GT(end_ratio(record, "f32 x, FP8 GEMMs", "f32 x"), 4);
  EXPECT_GT(end_ratio(record, "bf16 x, casts truncate", "bf16 x"), 2);
  EXPECT_GT(record.curves[3].exponent, 0.7);
}

// Four times as many steps round x four times as often, which is twice the walk or more: what a
// step moves x by comes near half a unit of it and is lost. In f32 each takes a quarter of the
// network's errors.
TEST(Denoising, MoreStepsCostMoreInBf16AndNothingInF32) {
  DenoisingOptions options = small();
  const DepthRecord few = run_denoising(options);
  options.steps *= 4;
  const DepthRecord many = run_denoising(options);
  EXPECT_GT(many.curves[0].relative.back() / few.curves[0].relative.back(), 1.5);
  EXPECT_LT(many.curves[1].relative.back() / few.curves[1].relative.back(), 1.3);
}

}  // namespace
}  // namespace plumbline
