// SPDX-License-Identifier: MIT
// Millions of gradients by a kernel that keeps its contract and uses all the freedom it leaves, on
// problems drawn at random: not one may fail.
#include <iterator>

#include <gtest/gtest.h>

#include "oracles/reference/attention_backward/oracle.h"
#include "tests/oracles/reference/attention_backward/samples.h"

namespace plumbline::testing {
namespace {

GradientSetup random_setup(Random& random) {
  GradientSetup setup;
  const auto one_of = [&](std::int64_t one, std::int64_t other) {
    return random.below(2) == 0 ? one : other;
  };
  setup.kv_heads = random.between(1, 2);
  setup.heads = setup.kv_heads * random.between(1, 3);
  setup.queries = random.between(1, 80);
  setup.keys = random.between(1, 120);
  setup.d = 8 * random.between(1, 8);
  setup.dv = one_of(setup.d, 8 * random.between(1, 8));
  setup.mask.causal = static_cast<Causal>(random.below(3));
  if (random.below(4) == 0) setup.mask.window_left = random.between(0, 20);
  if (random.below(4) == 0) setup.mask.window_right = random.between(0, 20);
  setup.scale = static_cast<float>(0.05 + 0.5 * random.unit());
  if (random.below(4) == 0) setup.softcap = static_cast<float>(1 + 20 * random.unit());
  if (random.below(6) == 0) {
    setup.query_lengths = {random.between(0, 20), random.between(0, 40), random.between(0, 9)};
    setup.key_lengths = {random.between(0, 30), random.between(0, 30), random.between(0, 30)};
    setup.slack = random.between(0, 3);
  } else {
    setup.bias = random.below(5) == 0;
  }
  setup.sink = random.below(5) == 0;
  setup.output = random.below(2) == 0 ? FormatId::f32 : FormatId::bf16;
  setup.values = kGradientValues[random.below(std::size(kGradientValues))];
  setup.seed = random.next();
  return setup;
}

// Now and then so large or small that weights saturate or become 0.
SampleScales random_scales(Random& random) {
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return static_cast<float>(
        std::ldexp(1 + random.unit(), static_cast<int>(random.between(least, most))));
  };
  return {draw(-2, 1), draw(-2, 1), draw(-4, 2), draw(-6, 4), draw(-12, 20)};
}

void judge_conforming_kernels(std::uint64_t seed, bool fp8) {
  Random random(seed);
  std::int64_t judged = 0;
  for (int n = 0; n < 400; ++n) {
    GradientSetup setup = random_setup(random);
    setup.fp8 = fp8;
    if (fp8 && random.below(4) != 0) setup.scales = random_scales(random);
    const GradientCase example(setup);
    GradientModel model;
    if (fp8) {
      model.contract.p = FormatId::e4m3;
      model.contract.p_shift = static_cast<int>(random.between(0, 8));
      model.contract.ds = FormatId::e5m2;
    }
    model.sm = random.below(2) == 0 ? (fp8 ? 89 : 80) : 90;
    model.seed = random.next();
    model.extreme = random.below(2) == 0;
    model.contract.atomic_dq = random.below(3) == 0;
    model.contract.tile = random.below(2) == 0 ? 16 : 64;
    if (random.below(5) == 0) model.contract.unit = Unit::fma_f32;
    const Gradients gradients = model_gradients(example, model);
    const AttentionBackwardOracle oracle(example.problem, model.contract, model.sm);
    const Tensor* const outputs[] = {&gradients.dq, &gradients.dk, &gradients.dv};
    for (int output = 0; output < 3; ++output) {
      const OutputVerdict verdict = oracle.judge(output, *outputs[output], {});
      EXPECT_EQ(verdict.failed, 0) << "case " << n << " output " << output;
      EXPECT_EQ(verdict.disagreements, 0) << "case " << n << " output " << output;
      judged += verdict.compared;
    }
  }
  EXPECT_GT(judged, 2000000);
}

TEST(AttentionBackwardOracleDeep, PassesEveryKernelThatKeepsTheContract) {
  judge_conforming_kernels(2026, false);
}

TEST(AttentionBackwardOracleDeep, PassesEveryFp8KernelThatKeepsTheContract) {
  judge_conforming_kernels(2027, true);
}

}  // namespace
}  // namespace plumbline::testing
