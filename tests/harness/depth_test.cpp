// SPDX-License-Identifier: MIT
// What is said about deep stacks: the numbers the theory of random and of coherent errors gives.
#include "harness/depth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace plumbline {
namespace {

using ::testing::HasSubstr;

DepthOptions small_stack() {
  DepthOptions options;
  options.shape.layers = 16;
  options.shape.tokens = 8;
  options.shape.width = 32;
  options.shape.heads = 2;
  options.shape.hidden = 48;
  options.shape.residual_scale = 1 / std::sqrt(32.0);
  options.probes = 4;
  return options;
}

TEST(Depth, RandomErrorsGrowAsTheRootOfDepthAndTruncationFaster) {
  const DepthRecord record = run_depth(small_stack());
  ASSERT_EQ(record.curves.size(), 4u);
  const DepthCurve &bf16 = record.curves[0], &f32 = record.curves[1], &cut = record.curves[3];
  EXPECT_NEAR(bf16.exponent, 0.5, 0.15);
  // Two roundings of the stream a layer, 0.166 % each, and what the branches add.
  const double level = 0.00166 * std::sqrt(32.0);
  EXPECT_GT(bf16.relative.back(), level / 1.5);
  EXPECT_LT(bf16.relative.back(), level * 1.5);
  EXPECT_NEAR(bf16.relative.back() / bf16.predicted, 1, 0.3);
  EXPECT_LT(f32.relative.back(), bf16.relative.back() / 2);
  EXPECT_GT(cut.exponent, 0.7);
  EXPECT_EQ(bf16.injected.size(), 16u);
  EXPECT_EQ(bf16.gain.size(), 16u);
}

TEST(Depth, OnlyTheTruncatingStackIsCalledCoherent) {
  const DepthRecord record = run_depth(small_stack());
  int coherent = 0;
  for (const std::string& finding : record.findings) {
    if (finding.find("coherent") == std::string::npos) continue;
    ++coherent;
    EXPECT_THAT(finding, HasSubstr("casts truncate"));
  }
  EXPECT_EQ(coherent, 1);
}

TEST(Depth, GradientsGrowAsTheRootOfDepthAndFasterWhenCastsTruncate) {
  const DepthRecord record = run_gradient_depth(small_stack());
  ASSERT_EQ(record.curves.size(), 5u);
  EXPECT_EQ(record.steps, "layers, backward");
  const DepthCurve &bf16 = record.curves[0], &f32 = record.curves[1], &cut = record.curves[3],
                   &exact_inputs = record.curves[4];
  // At least the stream's roundings; activations and the other tensors add to them.
  const double level = 0.00166 * std::sqrt(32.0);
  EXPECT_GT(bf16.relative.back(), level / 1.5);
  EXPECT_LT(bf16.relative.back(), level * 3);
  EXPECT_LT(f32.relative.back(), bf16.relative.back());
  EXPECT_LT(exact_inputs.relative.back(), bf16.relative.back());
  EXPECT_GT(cut.relative.back(), bf16.relative.back() * 2);
  EXPECT_EQ(bf16.injected.size(), 16u);
}

TEST(Depth, TheSameSeedGivesTheSameRecord) {
  const DepthRecord one = run_depth(small_stack()), two = run_depth(small_stack());
  for (std::size_t c = 0; c < one.curves.size(); ++c)
    EXPECT_EQ(one.curves[c].relative, two.curves[c].relative);
}

}  // namespace
}  // namespace plumbline
