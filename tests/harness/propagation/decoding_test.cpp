// SPDX-License-Identifier: MIT
// Errors over decode steps: what must hold for all weights of the stack.
#include "harness/propagation/decoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "oracles/stages/output_vectors.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

DecodingOptions small() {
  DecodingOptions options;
  options.shape.layers = 2;
  options.shape.width = 32;
  options.shape.heads = 2;
  options.shape.hidden = 48;
  options.steps = 24;
  options.probes = 4;
  return options;
}

const DepthCurve& curve(const DepthRecord& record, const std::string& name) {
  for (const DepthCurve& each : record.curves)
    if (each.name == name) return each;
  ADD_FAILURE() << "no curve " << name;
  return record.curves.front();
}

TEST(Decoding, TheFirstStepErrsAsTheStackByItself) {
  const DecodingOptions options = small();
  const DepthRecord record = run_decoding(options);
  StackShape shape = options.shape;
  shape.tokens = options.steps;
  shape.residual_scale = 1 / std::sqrt(2.0 * static_cast<double>(shape.layers));
  Stack stack = random_stack(shape, options.seed);
  std::vector<double> exact(stack.input.begin(), stack.input.begin() + shape.width), low = exact;
  const StagedStack staged(stack, {});
  for (std::size_t l = 0; l < stack.layers.size(); ++l) {
    defined_layer(stack, l, exact);
    low = staged.layer(l, low);
  }
  const DepthCurve& bf16 = curve(record, "bf16");
  EXPECT_DOUBLE_EQ(bf16.relative[0], distance(low, exact) / norm(exact));
  EXPECT_EQ(bf16.relative[0], bf16.injected[0]);
  EXPECT_EQ(bf16.relative.size(), 24u);
}

// e4m3 keeps 4 significant bits and bf16 8. Errors of keys and values reach the output linearly, so
// that of a step is 16 times as large; 20 % for the chance of 24 steps and for what lies below
// 2^-6, where e4m3 has fewer.
TEST(Decoding, AnFp8CacheErrsAsMuchMoreAsItsUnitRoundoff) {
  const DepthRecord record = run_decoding(small());
  EXPECT_NEAR(injected_ratio(record, "FP8 cache alone", "bf16 cache alone"), 16, 3.2);
  EXPECT_GT(late_ratio(record, "bf16, FP8 cache", "bf16"), 1.2);
  EXPECT_GT(late_ratio(record, "bf16", "f32 stream"), 1.2);
}

TEST(Decoding, NewTokensMakeErrorsFade) {
  DecodingOptions options = small();
  const DepthRecord whole = run_decoding(options);
  options.fed_back = 0.5;
  const DepthRecord part = run_decoding(options);
  EXPECT_LT(part.curves[0].growth, whole.curves[0].growth - 0.3);  // ln 0.5 = -0.7, of x alone
  EXPECT_THAT(part.stack, HasSubstr("25 % of the next input is the output"));
}

TEST(Decoding, TheSameSeedGivesTheSameRecord) {
  const DepthRecord one = run_decoding(small()), two = run_decoding(small());
  EXPECT_EQ(one.findings, two.findings);
  for (std::size_t c = 0; c < one.curves.size(); ++c)
    EXPECT_EQ(one.curves[c].relative, two.curves[c].relative);
}

}  // namespace
}  // namespace plumbline
