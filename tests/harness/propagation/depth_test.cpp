// SPDX-License-Identifier: MIT
// What is said about deep stacks: the numbers the theory of random and of coherent errors gives.
#include "harness/propagation/depth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  EXPECT_EQ(record.steps, "backward layers");
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

TEST(Depth, GradientsByWeightsAreOffByWhatReachesTheirLayer) {
  const DepthRecord record = run_gradient_depth(small_stack());
  ASSERT_EQ(record.curves.size(), 5u);
  const DepthCurve &bf16 = record.curves[0], &fp8 = record.curves[2],
                   &exact_inputs = record.curves[4];
  for (const DepthCurve& curve : record.curves) ASSERT_EQ(curve.weights.size(), 16u) << curve.name;
  for (std::size_t layer = 0; layer < 16; ++layer) {
    EXPECT_GT(fp8.weights[layer], bf16.weights[layer] * 2);
    // At least its own rounding, 0.166 %; no more than a few times what reaches the layer.
    EXPECT_GT(exact_inputs.weights[layer], 0.00166);
    EXPECT_LT(bf16.weights[layer], 5 * bf16.relative.back());
  }
  // The last layer, which is met first, has the largest errors in its activations.
  EXPECT_GT(bf16.weights.front(), exact_inputs.weights.front() * 1.5);
  EXPECT_TRUE(std::any_of(record.findings.begin(), record.findings.end(), [](const auto& finding) {
    return finding.find("gradients by weights are off by") != std::string::npos;
  }));
}

TEST(Depth, ThreadsChangeNothing) {
  DepthOptions options = small_stack();
  const DepthRecord one = run_gradient_depth(options);
  options.threads = 3;
  const DepthRecord three = run_gradient_depth(options);
  ASSERT_EQ(one.curves.size(), three.curves.size());
  for (std::size_t c = 0; c < one.curves.size(); ++c) {
    EXPECT_EQ(one.curves[c].name, three.curves[c].name);
    EXPECT_EQ(one.curves[c].relative, three.curves[c].relative);
    EXPECT_EQ(one.curves[c].weights, three.curves[c].weights);
  }
  EXPECT_EQ(one.findings, three.findings);
}

TEST(Depth, TheSameSeedGivesTheSameRecord) {
  const DepthRecord one = run_depth(small_stack()), two = run_depth(small_stack());
  for (std::size_t c = 0; c < one.curves.size(); ++c)
    EXPECT_EQ(one.curves[c].relative, two.curves[c].relative);
}

}  // namespace
}  // namespace plumbline
