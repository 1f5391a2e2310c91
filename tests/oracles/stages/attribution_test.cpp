// SPDX-License-Identifier: MIT
// The shares of errors, on a computation whose answers can be worked out by hand, and on GEMMs.
#include "oracles/stages/attribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "oracles/stages/staged_gemm.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

// Stage i adds errors[i]; stages 0 and 1 together add `joint` besides.
class ByHand final : public StagedComputation {
 public:
  ByHand(std::vector<std::vector<double>> errors, std::vector<double> joint)
      : errors_(std::move(errors)), joint_(std::move(joint)) {
    for (std::size_t i = 0; i < errors_.size(); ++i)
      stages_.push_back({"stage", i == 0 ? StageKind::quantization : StageKind::arithmetic});
  }

  const std::vector<Stage>& stages() const override { return stages_; }

  std::vector<std::string> outputs() const override { return {"y"}; }

  const std::vector<StageFault>& faults() const override { return faults_; }

  StagedValues evaluate(StageSet low, int) const override {
    std::vector<double> y(errors_[0].size(), 10);
    for (std::size_t i = 0; i < errors_.size(); ++i) {
      if ((low >> i & 1) == 0) continue;
      for (std::size_t x = 0; x < y.size(); ++x) y[x] += errors_[i][x];
    }
    if ((low & 3) == 3)
      for (std::size_t x = 0; x < y.size(); ++x) y[x] += joint_[x];
    return {y};
  }

  std::vector<double> condition(int) const override { return {}; }

 private:
  std::vector<std::vector<double>> errors_;
  std::vector<double> joint_;
  std::vector<Stage> stages_;
  std::vector<StageFault> faults_;
};

double total(const Attribution& attribution, double StageShare::* share) {
  double sum = 0;
  for (const StageShare& stage : attribution.stages) sum += stage.*share;
  return sum;
}

TEST(Attribution, OrthogonalErrorsShareByTheirSquares) {
  const ByHand pipeline({{3, 0, 0}, {0, 4, 0}, {0, 0, 12}}, {0, 0, 0});
  StagedEvaluations evaluations(pipeline);
  const Attribution got = attribute(evaluations, 0);
  EXPECT_NEAR(got.error, 13 / std::sqrt(300.0), 1e-15);
  EXPECT_NEAR(got.stages[0].share, 9.0 / 169, 1e-15);
  EXPECT_NEAR(got.stages[1].share, 16.0 / 169, 1e-15);
  EXPECT_NEAR(got.stages[2].share, 144.0 / 169, 1e-15);
  EXPECT_NEAR(got.stages[2].alone, 12 / std::sqrt(300.0), 1e-15);
  EXPECT_NEAR(got.interaction, 0, 1e-15);
  EXPECT_NEAR(got.root_sum_square, 1, 1e-15);
  EXPECT_EQ(got.unexplained, 0);
}

TEST(Attribution, WhatTwoStagesMakeTogetherIsHalved) {
  const ByHand pipeline({{1, 0}, {0, 0}, {0, 0}}, {1, 0});
  StagedEvaluations evaluations(pipeline);
  const Attribution got = attribute(evaluations, 0);
  // Delta is 2: stage 0 alone makes 1 of it, and the other 1 needs both.
  EXPECT_NEAR(got.stages[0].share, 0.75, 1e-15);
  EXPECT_NEAR(got.stages[1].share, 0.25, 1e-15);
  EXPECT_NEAR(got.stages[0].telescoped, 0.5, 1e-15);
  EXPECT_NEAR(got.stages[1].telescoped, 0.5, 1e-15);
  EXPECT_EQ(got.stages[1].alone, 0);
  EXPECT_NEAR(got.stages[1].without, 1 / std::sqrt(200.0), 1e-15);
  EXPECT_NEAR(got.interaction, 0.75, 1e-15);
}

TEST(Attribution, CancellingStagesHaveANegativeShare) {
  const ByHand pipeline({{3}, {-1}}, {0});
  StagedEvaluations evaluations(pipeline);
  const Attribution got = attribute(evaluations, 0);
  EXPECT_NEAR(got.stages[0].share, 1.5, 1e-15);
  EXPECT_NEAR(got.stages[1].share, -0.5, 1e-15);
}

TEST(Attribution, SampledSharesAgreeWithExactOnesWithinTheirError) {
  // Eight stages with an interaction of the first two: the exact value is known.
  std::vector<std::vector<double>> errors;
  for (int i = 0; i < 8; ++i) {
    errors.emplace_back(9, 0.0);
    errors.back()[static_cast<std::size_t>(i)] = 1 + i;
  }
  std::vector<double> joint(9, 0.0);
  joint[8] = 6;
  const ByHand pipeline(errors, joint);
  StagedEvaluations evaluations(pipeline);
  const Attribution got = attribute(evaluations, 0);
  const double square = 204 + 36;
  EXPECT_NEAR(total(got, &StageShare::share), 1, 1e-12);
  for (std::size_t i = 0; i < 8; ++i) {
    const double own = static_cast<double>((i + 1) * (i + 1)) / square;
    const double exact = own + (i < 2 ? 18 / square : 0);
    EXPECT_NEAR(got.stages[i].share, exact, 5 * got.stages[i].standard_error + 1e-12) << i;
  }
  // An order and its reverse halve what two stages make together: no error is left.
  EXPECT_LT(got.stages[0].standard_error, 1e-12);
}

TEST(Attribution, ATargetThatIsNotTheModelLeavesARemainder) {
  const ByHand pipeline({{3, 0}, {0, 4}}, {0, 0});
  StagedEvaluations evaluations(pipeline);
  const std::vector<double> target = {13, 20};  // the second stage's error is 10 instead of 4
  const Attribution got = attribute(evaluations, 0, {.target = &target});
  EXPECT_NEAR(total(got, &StageShare::share) + got.unexplained, 1, 1e-15);
  EXPECT_NEAR(got.unexplained, 60.0 / 109, 1e-15);
  EXPECT_NEAR(got.remainder, 6 / std::sqrt(200.0), 1e-15);
  const ErrorSplit split = split_error(evaluations, 0, target);
  EXPECT_NEAR(split.quantization.share, 9.0 / 109, 1e-15);
  EXPECT_NEAR(split.arithmetic.share, 40.0 / 109, 1e-15);
  EXPECT_NEAR(split.unexplained.share, 60.0 / 109, 1e-15);
}

// f32 data beside what a GEMM fixture stores of them.
struct Quantized {
  testing::Gemm gemm;
  Tensor a, b;

  explicit Quantized(const testing::GemmSetup& setup) : gemm(setup) {
    Random random(99);
    const auto draw = [&](Tensor& source, Tensor& stored) {
      source = testing::tensor_of(FormatId::f32, stored.layout.shape);
      const Format& to = format(stored.layout.format);
      for (std::int64_t i = 0; i < source.layout.count(); ++i) {
        const auto value = static_cast<float>(testing::bell(random));
        source.set_bits(i, std::bit_cast<std::uint32_t>(value));
        stored.set_bits(i, encode(to, double{value}, {.overflow = Overflow::saturate}));
      }
    };
    draw(a, gemm.a);
    draw(b, gemm.b);
  }

  std::unique_ptr<StagedComputation> staged(const Contract& contract, int sm) const {
    return staged_gemm(gemm.problem, contract, sm, a, b);
  }
};

testing::GemmSetup fp8_setup() {
  testing::GemmSetup setup;
  setup.m = setup.n = 16;
  setup.k = 1024;
  setup.a = setup.b = FormatId::e4m3;
  return setup;
}

TEST(Attribution, QuadratureReproducesTheJointErrorOfAnFp8Gemm) {
  const Quantized data(fp8_setup());
  const auto staged =
      data.staged(testing::promoted(testing::tensor_core_contract(Instruction::wgmma), 128), 90);
  StagedEvaluations evaluations(*staged);
  for (const StageSet base : {StageSet{0}, staged->stages_of(StageKind::quantization)}) {
    const Attribution got = attribute(evaluations, 0, {.base = base});
    EXPECT_NEAR(total(got, &StageShare::share), 1, 1e-12);
    EXPECT_NEAR(total(got, &StageShare::telescoped), 1, 1e-12);
    EXPECT_NEAR(got.root_sum_square, 1, 0.1);
  }
  // Two factors of e4m3 err by 2.65 % each.
  EXPECT_NEAR(attribute(evaluations, 0).error, std::sqrt(2.0) * 0.0265, 0.003);
}

TEST(Attribution, AMissingPromotionMovesTheMeasuredErrorToItsStage) {
  testing::GemmSetup setup = fp8_setup();
  setup.output = FormatId::f32;
  const Quantized data(setup);
  const Contract wgmma = testing::tensor_core_contract(Instruction::wgmma);
  const auto promised = data.staged(testing::promoted(wgmma, 128), 90);
  // The kernel: one accumulator of 14 bits over all of k.
  const auto broken = data.staged(wgmma, 90);
  const std::vector<double> seen = broken->evaluate(broken->all_stages())[0];
  const FaultFit fit = best_fault(*promised, 0, seen);
  ASSERT_GE(fit.fault, 0);
  const StageFault& fault = promised->faults()[static_cast<std::size_t>(fit.fault)];
  EXPECT_EQ(promised->stages()[static_cast<std::size_t>(fault.stage)].name, "promote");
  EXPECT_EQ(fault.words, "no promotion: one accumulator over all of k");
  EXPECT_GT(fit.explained, 0.999);

  AttributionOptions options{.base = promised->stages_of(StageKind::quantization), .target = &seen};
  StagedEvaluations as_promised(*promised), with_fault(*promised, fit.fault);
  const Attribution before = attribute(as_promised, 0, options),
                    after = attribute(with_fault, 0, options);
  const auto stage = static_cast<std::size_t>(fault.stage);
  EXPECT_GT(before.unexplained, 0.5);
  EXPECT_NEAR(after.unexplained, 0, 1e-9);
  EXPECT_LT(before.stages[stage].share, 0.1);
  // Without promotion the 14 bits of the accumulator are what errs: the two stages share that.
  EXPECT_GT(after.stages[stage].share, 0.3);
}

TEST(Attribution, AConformingKernelHasNoFault) {
  const Quantized data(fp8_setup());
  const Contract contract =
      testing::promoted(testing::tensor_core_contract(Instruction::wgmma), 128);
  const auto staged = data.staged(contract, 90);
  const FaultFit fit = best_fault(*staged, 0, staged->evaluate(staged->all_stages())[0]);
  EXPECT_EQ(fit.fault, -1);
}

}  // namespace
}  // namespace plumbline
