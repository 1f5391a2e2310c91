// SPDX-License-Identifier: MIT
// All stages low are a kernel that keeps the contract, bit for bit (attention/model.h, which shares
// no code with them); all exact are the MPFR definition.
#include "oracles/stages/staged_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/reference/attention/definition.h"
#include "oracles/stages/attribution.h"
#include "tests/oracles/reference/attention/fixture.h"
#include "tests/oracles/reference/condition_samples.h"

namespace plumbline {
namespace {

using testing::Attention;
using testing::AttentionSetup;

std::vector<AttentionSetup> setups() {
  std::vector<AttentionSetup> all;
  all.push_back({});
  all.push_back({.keys = 200, .output = FormatId::bf16});
  all.push_back({.heads = 2, .kv_heads = 1, .keys = 130, .mask = {.causal = Causal::bottom_right}});
  all.push_back({.keys = 130, .scores = testing::Scores::rising});
  all.push_back({.keys = 100, .sink = true, .softcap = 5});
  all.push_back({.keys = 100, .bias = true});
  all.push_back({.mask = {.causal = Causal::top_left, .window_left = 2}});
  all.push_back({.batch = 2, .heads = 2, .keys = 100, .scales = true});
  return all;
}

// The stored tensors are their own sources: nothing is lost by storing them.
std::unique_ptr<StagedComputation> staged(const Attention& attention,
                                          const AttentionContract& contract, int sm) {
  return staged_attention(attention.problem, contract, sm,
                          {&attention.q, &attention.k, &attention.v});
}

// A kernel that keeps its contract, and what all stages give where each rounds as it does.
void all_stages_low_are_the_kernel(const AttentionSetup& setup, const AttentionContract& contract,
                                   int sm) {
  Attention attention(setup);
  attention.run(contract, sm, testing::Errors::none);
  const auto computation = staged(attention, contract, sm);
  const StagedValues low = computation->evaluate(computation->all_stages());
  for (std::int64_t n = 0; n < attention.o.layout.count(); ++n) {
    const double expected = to_double(format(setup.output), attention.o.bits(n));
    ASSERT_EQ(low[0][static_cast<std::size_t>(n)], expected) << "keys " << setup.keys;
  }
  for (std::int64_t n = 0; n < attention.lse.layout.count(); ++n) {
    ASSERT_EQ(low[1][static_cast<std::size_t>(n)],
              to_double(format(FormatId::f32), attention.lse.bits(n)));
  }
}

TEST(StagedAttention, AllStagesLowAreAConformingKernelBitForBit) {
  for (const AttentionSetup& setup : setups()) {
    for (const int sm : {80, 90}) {
      AttentionContract contract = testing::attention_contract_of();
      if (setup.keys == 200) contract.normalization = Normalization::quotient;
      all_stages_low_are_the_kernel(setup, contract, sm);
    }
  }
}

TEST(StagedAttention, ASinkThatComesFirstToo) {
  for (const SinkStep step : {SinkStep::first, SinkStep::maximum_first}) {
    for (const double size : {1, 40}) {
      AttentionContract contract = testing::attention_contract_of();
      contract.sink_step = step;
      all_stages_low_are_the_kernel(
          {.heads = 3, .queries = 20, .keys = 100, .sink = true, .sink_size = size}, contract, 80);
    }
  }
}

TEST(StagedAttention, LiftedFp8ProbabilitiesScalesAndPartsToo) {
  for (const bool scales : {false, true}) {
    for (const std::int64_t parts : {1, 3}) {
      Attention attention(
          {.keys = 350, .sink = parts > 1, .scales = scales, .format = FormatId::e4m3});
      AttentionContract contract = testing::attention_contract_of(FormatId::e4m3);
      contract.p_shift = 8;
      contract.parts = parts;
      attention.run(contract, 89, testing::Errors::none);
      const auto computation = staged(attention, contract, 89);
      const StagedValues low = computation->evaluate(computation->all_stages());
      for (std::int64_t n = 0; n < attention.o.layout.count(); ++n) {
        ASSERT_EQ(low[0][static_cast<std::size_t>(n)],
                  to_double(format(FormatId::f32), attention.o.bits(n)));
      }
    }
  }
}

TEST(StagedAttention, IntegersAndScalesOfBlocksToo) {
  for (const float softcap : {0.0f, 30.0f}) {
    Attention attention({.queries = 30,
                         .keys = 150,
                         .scale_block = 24,
                         .softcap = softcap,
                         .output = FormatId::f16,
                         .format = FormatId::s8,
                         .value_format = FormatId::f16});
    const AttentionContract contract = testing::integer_contract();
    attention.run(contract, 90, testing::Errors::none);
    const auto computation = staged(attention, contract, 90);
    const StagedValues low = computation->evaluate(computation->all_stages());
    for (std::int64_t n = 0; n < attention.o.layout.count(); ++n) {
      ASSERT_EQ(low[0][static_cast<std::size_t>(n)],
                to_double(format(FormatId::f16), attention.o.bits(n)));
    }
  }
}

// Tiles of 64 keys and blocks of 24: a tile lies in up to four of them.
TEST(StagedAttention, ScalesOfBlocksOfValuesToo) {
  for (const std::int64_t parts : {1, 3}) {
    for (const int sm : {89, 90}) {
      Attention attention(
          {.queries = 10, .keys = 350, .scale_block = 24, .format = FormatId::e4m3});
      AttentionContract contract = testing::attention_contract_of(FormatId::e4m3);
      contract.p_shift = 8;
      contract.parts = parts;
      attention.run(contract, sm, testing::Errors::none);
      const auto computation = staged(attention, contract, sm);
      const StagedValues low = computation->evaluate(computation->all_stages());
      for (std::int64_t n = 0; n < attention.o.layout.count(); ++n) {
        ASSERT_EQ(low[0][static_cast<std::size_t>(n)],
                  to_double(format(FormatId::f32), attention.o.bits(n)));
      }
    }
  }
}

TEST(StagedAttention, SourcesAreTheDataTheElementsStandFor) {
  const Attention attention({.batch = 2, .heads = 2, .keys = 40, .scales = true});
  const auto times = [](const Tensor& stored, const Tensor& scales) {
    Tensor source(dense_layout(FormatId::f32, stored.layout.shape));
    const std::int64_t each = stored.layout.shape[2] * stored.layout.shape[3];
    for (std::int64_t n = 0; n < source.layout.count(); ++n) {
      const double scale = to_double(format(FormatId::f32), scales.bits(n / each));
      source.set_bits(n, encode(format(FormatId::f32),
                                to_double(format(stored.layout.format), stored.bits(n)) * scale));
    }
    return source;
  };
  const Tensor q = times(attention.q, attention.q_scale), k = times(attention.k, attention.k_scale),
               v = times(attention.v, attention.v_scale);
  const auto computation =
      staged_attention(attention.problem, testing::attention_contract_of(), 90, {&q, &k, &v});
  const StagedValues before = computation->evaluate(0),
                     stored =
                         computation->evaluate(computation->stages_of(StageKind::quantization));
  // bf16 times f32 is rounded to f32 here.
  for (std::size_t n = 0; n < before[0].size(); ++n)
    EXPECT_NEAR(before[0][n], stored[0][n], 0x1p-18);
}

TEST(StagedAttention, AllStagesExactAreTheDefinition) {
  for (const AttentionSetup& setup : setups()) {
    const Attention attention(setup);
    const auto computation = staged(attention, testing::attention_contract_of(), 90);
    const StagedValues exact =
        computation->evaluate(computation->stages_of(StageKind::quantization));
    const std::vector<HeadPlace> places = head_places(attention.problem);
    for (const HeadPlace& place : places) {
      const AttentionHead head = attention_head(attention.problem, place);
      for (std::int64_t i = 0; i < place.queries; ++i) {
        const DefinedRow<RealOf<128>> row = defined_row<RealOf<128>>(head, i, nullptr);
        const auto at =
            static_cast<std::size_t>((place.batch * setup.heads + place.head) * place.queries + i);
        double size = 0;
        for (std::int64_t n = 0; n < head.keys * head.dv; ++n)
          size = std::max(size, std::fabs(double{head.v[static_cast<std::size_t>(n)]}));
        for (std::int64_t x = 0; x < head.dv && row.visible; ++x) {
          EXPECT_NEAR(
              exact[0][at * static_cast<std::size_t>(head.dv) + static_cast<std::size_t>(x)],
              static_cast<double>(row.o[static_cast<std::size_t>(x)]), 1e-13 * size);
        }
        if (row.visible) {
          EXPECT_NEAR(exact[1][at], static_cast<double>(row.lse),
                      1e-13 * (1 + std::fabs(exact[1][at])));
        }
      }
    }
  }
}

TEST(StagedAttention, RoundingOfPIsMostOfTheErrorBeforeTheOutput) {
  const Attention attention({.queries = 32, .keys = 256, .d = 32, .dv = 32});
  const auto computation = staged(attention, testing::attention_contract_of(), 90);
  StagedEvaluations evaluations(*computation);
  const Attribution got =
      attribute(evaluations, 0, {.base = computation->stages_of(StageKind::quantization)});
  const auto p = static_cast<std::size_t>(AttentionStep::probabilities);
  EXPECT_GT(got.stages[p].share, 0.99);
  EXPECT_NEAR(got.root_sum_square, 1, 0.1);
  double sum = 0;
  for (const StageShare& stage : got.stages) sum += stage.share;
  EXPECT_NEAR(sum, 1, 1e-12);
  // A bf16 rounding errs by 0.166 % (docs/propagation.md); the sum over keys averages P's down
  // against V's weight, so that much relative to O.
  EXPECT_NEAR(got.stages[p].alone, 0.00166, 0.0003);
}

TEST(StagedAttention, PWithoutItsLiftMovesTheMeasuredErrorToPRounding) {
  const Attention attention(
      {.queries = 16, .keys = 256, .output = FormatId::f32, .format = FormatId::e4m3});
  AttentionContract contract = testing::attention_contract_of(FormatId::e4m3);
  contract.p_shift = 8;
  const auto promised = staged(attention, contract, 89);
  // The kernel: the same without the lift.
  AttentionContract unlifted = contract;
  unlifted.p_shift = 0;
  const auto broken = staged(attention, unlifted, 89);
  const std::vector<double> seen = broken->evaluate(broken->all_stages())[0];
  const FaultFit fit = best_fault(*promised, 0, seen);
  ASSERT_GE(fit.fault, 0);
  const StageFault& fault = promised->faults()[static_cast<std::size_t>(fit.fault)];
  EXPECT_EQ(promised->stages()[static_cast<std::size_t>(fault.stage)].name, "P rounding");
  EXPECT_NE(fault.words.find("without its lift"), std::string::npos);
  EXPECT_GT(fit.explained, 0.99);
}

TEST(StagedAttention, EveryFaultIsRecognizedAsItself) {
  const Attention attention({.queries = 16,
                             .keys = 300,
                             .scale = 0.3f,
                             .output = FormatId::bf16,
                             .scores = testing::Scores::rising});
  const auto computation = staged(attention, testing::attention_contract_of(), 90);
  for (int fault = 0; fault < static_cast<int>(computation->faults().size()); ++fault) {
    const StagedValues seen = computation->evaluate(computation->all_stages(), fault);
    const FaultFit fit = best_fault(*computation, 0, seen[0]);
    EXPECT_EQ(fit.fault, fault) << computation->faults()[static_cast<std::size_t>(fault)].words;
    EXPECT_EQ(fit.explained, 1);
  }
}

TEST(StagedAttention, ConditionNumbersBoundWhatSmallChangesDo) {
  const Attention attention({.queries = 8, .keys = 40, .output = FormatId::f32});
  const auto computation = staged(attention, testing::attention_contract_of(), 90);
  const StagedValues exact = computation->evaluate(0);
  constexpr double kChange = 0x1p-20;
  const Tensor q = testing::perturbed(attention.q, kChange, 1),
               k = testing::perturbed(attention.k, kChange, 2),
               v = testing::perturbed(attention.v, kChange, 3);
  const StagedValues moved =
      staged_attention(attention.problem, testing::attention_contract_of(), 90, {&q, &k, &v})
          ->evaluate(0);
  for (const int output : {0, 1}) {
    const auto o = static_cast<std::size_t>(output);
    const double largest =
        testing::share_of_condition(exact[o], moved[o], computation->condition(output), kChange);
    EXPECT_LE(largest, 1.001);
    EXPECT_GT(largest, 0.05);  // and they are not far from what happens
  }
}

}  // namespace
}  // namespace plumbline
