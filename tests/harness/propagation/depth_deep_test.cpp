// SPDX-License-Identifier: MIT
// The full stack of docs/propagation.md: 64 layers.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/propagation/depth.h"

namespace plumbline {
namespace {

TEST(Depth, SixtyFourLayersReachTheLevelOfTheTheory) {
  DepthOptions options;
  options.shape.residual_scale = 1 / std::sqrt(2.0 * 64);
  const DepthRecord record = run_depth(options);
  const DepthCurve &bf16 = record.curves[0], &f32 = record.curves[1], &cut = record.curves[3];
  EXPECT_NEAR(bf16.exponent, 0.5, 0.1);
  const double level = 0.00166 * std::sqrt(128.0);
  EXPECT_GT(bf16.relative.back(), level / 1.5);
  EXPECT_LT(bf16.relative.back(), level * 1.5);
  EXPECT_GT(bf16.relative.back() / f32.relative.back(), 2);
  EXPECT_LT(bf16.relative.back() / f32.relative.back(), 10);
  EXPECT_GT(cut.exponent, 0.7);
}

}  // namespace
}  // namespace plumbline
