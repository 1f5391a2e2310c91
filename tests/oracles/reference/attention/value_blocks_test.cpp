// SPDX-License-Identifier: MIT
// Attention in e4m3 with a scale per block of rows of Q, K and V: sums over a block of V are scaled
// before they meet O, tile by tile, and a tile may lie in several blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracles/reference/attention/definition.h"
#include "oracles/reference/attention/survey.h"
#include "tests/oracles/reference/attention/fixture.h"

namespace plumbline {
namespace {

using testing::Attention;
using testing::AttentionSetup;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Errors;
using testing::Scores;
using testing::Values;

AttentionContract fp8_contract() {
  AttentionContract contract = testing::attention_contract_of(FormatId::e4m3);
  contract.p_shift = 8;
  return contract;
}

AttentionSetup fp8_setup() {
  AttentionSetup setup;
  setup.format = FormatId::e4m3;
  setup.scale_block = 64;
  return setup;
}

OutputVerdict judged(const Attention& attention, const AttentionContract& contract, int output = 0,
                     int sm = 90) {
  JudgeOptions options;
  options.referee_samples = 2;
  return AttentionOracle(attention.problem, contract, sm)
      .judge(output, output == 0 ? attention.o : attention.lse, options);
}

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(AttentionValueBlocks, NeverFailAKernelThatKeepsItsContract) {
  std::int64_t outputs = 0;
  int turn = 0;
  for (const Scores scores : testing::kAllScores) {
    if (scores == Scores::far_negative) continue;  // no e4m3 is that large
    for (const Values values : testing::kAllValues) {
      if (values == Values::wide) continue;
      for (const std::int64_t keys : {1, 63, 200}) {
        AttentionSetup setup = fp8_setup();
        setup.scores = scores;
        setup.values = values;
        setup.keys = keys;
        setup.queries = 3;
        setup.seed = static_cast<std::uint64_t>(++turn);
        setup.d = turn % 3 == 0 ? 40 : 16;
        setup.scale_block = turn % 2 == 0 ? 64 : 24;
        setup.output = turn % 4 == 0 ? FormatId::bf16 : FormatId::f32;
        setup.bias = turn % 5 == 1;
        setup.sink = turn % 7 == 2;
        setup.softcap = turn % 6 == 3 ? 30.0f : 0.0f;
        if (turn % 3 == 1) setup.mask.causal = Causal::bottom_right;
        AttentionContract contract = fp8_contract();
        if (turn % 5 == 3) contract.tile = 48;
        if (turn % 8 == 5) contract.parts = 3;
        if (turn % 9 == 4) contract.unit = Unit::fma_f32;
        if (turn % 7 == 6) contract.normalization = Normalization::quotient;
        const int sm = turn % 2 == 0 ? 89 : 90;
        Attention attention(setup);
        if (turn % 4 == 1)  // far apart
          attention.v_scale.set_bits(0, bits(turn % 8 == 1 ? 5000.3f : 0.00013f));
        attention.run(contract, sm, static_cast<Errors>(turn % 4), setup.seed);
        for (const int output : {0, 1}) {
          const OutputVerdict verdict = judged(attention, contract, output, sm);
          outputs += verdict.compared;
          EXPECT_EQ(verdict.failed, 0) << "turn " << turn << " output " << output;
          EXPECT_EQ(verdict.disagreements, 0) << "turn " << turn << " output " << output;
        }
      }
    }
  }
  EXPECT_GT(outputs, 3000);
}

// The sequence's keys lie in rows 30 to 95 of V, of which 24 share a scale.
TEST(AttentionValueBlocks, AreCutWhereRowsLie) {
  AttentionSetup setup = fp8_setup();
  setup.keys = 100;
  setup.scale_block = 24;
  Attention attention(setup);
  for (int block = 0; block < 5; ++block)
    attention.v_scale.set_bits(block, bits(static_cast<float>(1 << block)));
  const HeadPlace place{.queries = 6, .first_key = 30, .keys = 66};
  const AttentionHead head = attention_head(attention.problem, place);
  EXPECT_EQ(head.v_scale, 1);
  EXPECT_EQ(head.scale_of_value(0), 2);
  EXPECT_EQ(head.scale_of_value(17), 2);
  EXPECT_EQ(head.scale_of_value(18), 4);
  std::vector<std::int64_t> ends;
  for (std::int64_t j = 0; j < 64; ends.push_back(j)) j = head.end_of_values(j, 64);
  EXPECT_THAT(ends, ElementsAre(18, 42, 64));
}

// Blocks that share one scale are a head that has it, in exact arithmetic.
TEST(AttentionValueBlocks, OfOneScaleAreTheWholeHeads) {
  AttentionSetup setup = fp8_setup();
  setup.keys = 150;
  Attention blocks(setup);
  const auto all = [](Tensor& scales, float value) {
    for (std::int64_t n = 0; n < scales.layout.count(); ++n) scales.set_bits(n, bits(value));
  };
  all(blocks.q_scale, 0.7f);
  all(blocks.k_scale, 1.3f);
  all(blocks.v_scale, 1.9f);
  setup.scale_block = 0;
  setup.scales = true;
  Attention head(setup);
  all(head.q_scale, 0.7f);
  all(head.k_scale, 1.3f);
  all(head.v_scale, 1.9f);
  const HeadPlace place{.queries = 6, .keys = 150};
  const AttentionContract contract = fp8_contract();
  for (std::int64_t i = 0; i < 6; ++i) {
    const auto one = defined_row<RealOf<128>>(attention_head(blocks.problem, place), i, &contract);
    const auto other = defined_row<RealOf<128>>(attention_head(head.problem, place), i, &contract);
    for (std::size_t x = 0; x < one.o.size(); ++x) {
      const double apart = static_cast<double>(RealOf<128>(one.o[x] - other.o[x]));
      EXPECT_LE(std::fabs(apart), 0x1p-110 * std::fabs(static_cast<double>(one.o[x])) + 0x1p-110);
    }
  }
}

// Under scales that are powers of two nothing rounds that did not before.
TEST(AttentionValueBlocks, DemandBitEqualityWhereTheArithmeticIsExact) {
  AttentionSetup setup = fp8_setup();
  setup.scores = Scores::equal;
  setup.values = Values::integers;
  setup.keys = 128;
  Attention attention(setup);
  attention.v_scale.set_bits(0, bits(0.25f));
  attention.v_scale.set_bits(1, bits(8));
  attention.run(fp8_contract(), 90, Errors::high);
  OutputVerdict verdict = judged(attention, fp8_contract());
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.exact_required, verdict.elements);
  attention.o.set_bits(3, attention.o.bits(3) ^ 1);
  EXPECT_EQ(judged(attention, fp8_contract()).failed, 1);
}

TEST(AttentionValueBlocks, SeeFaultsOfTheSizeTheyClaim) {
  AttentionSetup setup = fp8_setup();
  setup.queries = 2;
  setup.keys = 2048;
  setup.d = setup.dv = 64;
  const auto rate = [&](testing::AttentionFaultSwitches faults) {
    Attention attention(setup);
    attention.run(fp8_contract(), 90, Errors::random, 5, faults);
    const OutputVerdict verdict = judged(attention, fp8_contract());
    return static_cast<double>(verdict.failed) / static_cast<double>(verdict.compared);
  };
  EXPECT_EQ(rate({}), 0);
  EXPECT_GE(rate({.dropped_key = 700}), 0.9);
  EXPECT_GE(rate({.louder_tile = 5}), 0.9);
  EXPECT_GE(rate({.scaled_with_o = true}), 0.9);
}

TEST(AttentionValueBlocks, NameTheScaleThatIsWrong) {
  AttentionSetup setup = fp8_setup();
  setup.heads = 4;
  setup.kv_heads = 2;
  setup.keys = 200;
  const AttentionContract contract = fp8_contract();
  const auto told = [&](const auto& change) {
    Attention attention(setup);
    Attention changed(setup);
    for (Attention* either : {&attention, &changed}) {
      for (std::int64_t n = 0; n < 8; ++n) {
        either->k_scale.set_bits(n, bits(0.9f - 0.11f * static_cast<float>(n)));
        either->v_scale.set_bits(n, bits(1.1f + 0.3f * static_cast<float>(n)));
      }
    }
    change(changed);
    changed.run(contract, 90);
    const AttentionOracle oracle(attention.problem, contract, 90);
    EXPECT_GT(oracle.judge(0, changed.o, {}).failed, 0);
    // Query 3 of head 2, whose K and V are those of head 1.
    return oracle.explain(0, (2 * setup.queries + 3) * setup.dv, changed.o).faults.names;
  };
  const auto take = [](Tensor& scales, std::vector<std::int64_t> from) {
    const Tensor before = scales;
    for (std::size_t n = 0; n < from.size(); ++n)
      scales.set_bits(static_cast<std::int64_t>(n), before.bits(from[n]));
  };
  EXPECT_THAT(told([&](Attention& x) { take(x.v_scale, {1, 2, 3, 3, 5, 6, 7, 7}); }),
              Contains("the scales of V are those of the next block"));
  EXPECT_THAT(told([&](Attention& x) { take(x.v_scale, {0, 0, 1, 2, 4, 4, 5, 6}); }),
              Contains("the scales of V are those of the block before"));
  EXPECT_THAT(told([&](Attention& x) { take(x.v_scale, {0, 1, 2, 3, 0, 1, 2, 3}); }),
              Contains("the scales of V's blocks are head 0's"));
  EXPECT_THAT(told([&](Attention& x) {
                for (std::int64_t n = 0; n < 8; ++n) x.v_scale.set_bits(n, x.k_scale.bits(n));
              }),
              Contains("the scales of V's blocks are those of K's"));
  EXPECT_THAT(told([&](Attention& x) {
                for (std::int64_t n = 0; n < 8; ++n) x.v_scale.set_bits(n, bits(1));
              }),
              Contains("the scales of V's blocks are left out"));
}

// NaN in a row of V reaches the columns it stands in, for every scale of its block.
TEST(AttentionValueBlocks, SpecialValuesPassThroughThem) {
  AttentionSetup setup = fp8_setup();
  setup.queries = 2;
  setup.keys = 130;
  Attention attention(setup);
  attention.v.set_bits(100 * setup.dv + 3, 0x7f);
  attention.run(fp8_contract(), 90);
  for (std::int64_t x = 0; x < setup.dv; ++x)
    EXPECT_EQ(std::isnan(to_double(format(FormatId::f32), attention.o.bits(x))), x == 3);
  EXPECT_EQ(judged(attention, fp8_contract()).failed, 0);
  attention.o.set_bits(3, bits(1));
  EXPECT_EQ(judged(attention, fp8_contract()).failed, 1);
}

}  // namespace
}  // namespace plumbline
