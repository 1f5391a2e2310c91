// SPDX-License-Identifier: MIT
// Attention with 8-bit integers in Q and K and a scale per block of rows: scores are exact, every
// pair of a query and a key has its own scale, and a block is where rows lie, not what sequence
// they belong to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

AttentionSetup integer_setup() {
  AttentionSetup setup;
  setup.format = FormatId::s8;
  setup.value_format = FormatId::f16;
  setup.scale_block = 32;
  return setup;
}

OutputVerdict judged(const Attention& attention, int output = 0, int sm = 90) {
  JudgeOptions options;
  options.referee_samples = 2;
  return AttentionOracle(attention.problem, testing::integer_contract(), sm)
      .judge(output, output == 0 ? attention.o : attention.lse, options);
}

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(AttentionBlocks, NeverFailAKernelThatKeepsItsContract) {
  std::int64_t outputs = 0;
  int turn = 0;
  for (const Scores scores : testing::kAllScores) {
    for (const Values values : testing::kAllValues) {
      if (values == Values::wide) continue;  // f16 has no such numbers
      for (const std::int64_t keys : {1, 63, 130}) {
        AttentionSetup setup = integer_setup();
        setup.scores = scores;
        setup.values = values;
        setup.keys = keys;
        setup.queries = 3;
        setup.seed = static_cast<std::uint64_t>(++turn);
        setup.d = turn % 3 == 0 ? 40 : 16;
        setup.scale_block = turn % 4 == 3 ? 0 : turn % 2 == 0 ? 64 : 24;
        setup.output = turn % 4 == 0 ? FormatId::f16 : FormatId::f32;
        setup.bias = turn % 5 == 1;
        setup.sink = turn % 7 == 2;
        setup.softcap = turn % 6 == 3 ? 30.0f : 0.0f;
        if (turn % 3 == 1) setup.mask.causal = Causal::bottom_right;
        const int sm = turn % 2 == 0 ? 80 : 90;
        Attention attention(setup);
        attention.run(testing::integer_contract(), sm, static_cast<Errors>(turn % 4), setup.seed);
        for (const int output : {0, 1}) {
          const OutputVerdict verdict = judged(attention, output, sm);
          outputs += verdict.compared;
          EXPECT_EQ(verdict.failed, 0) << "turn " << turn << " output " << output;
          EXPECT_EQ(verdict.disagreements, 0) << "turn " << turn << " output " << output;
        }
      }
    }
  }
  EXPECT_GT(outputs, 3000);
}

TEST(AttentionBlocks, ScalesOfAPairAreRoundedInTheContractsOrder) {
  AttentionSetup setup = integer_setup();
  setup.queries = 40;
  Attention attention(setup);
  attention.problem.scale = 0.3f;
  attention.q_scale.set_bits(1, bits(1.1f));
  attention.k_scale.set_bits(2, bits(1.9f));
  const AttentionHead head = attention_head(attention.problem, {.queries = 40, .keys = 70});
  EXPECT_TRUE(head.natural_units());
  EXPECT_EQ(head.scale_of(32, 64), 0.3f * (1.1f * 1.9f));
  EXPECT_NE(head.scale_of(32, 64), 0.3f * 1.1f * 1.9f);
}

TEST(AttentionBlocks, AreWhereRowsLie) {
  AttentionSetup setup = integer_setup();
  setup.keys = 100;
  Attention attention(setup);
  for (int block = 0; block < 4; ++block)
    attention.k_scale.set_bits(block, bits(static_cast<float>(1 << block)));
  // A sequence whose keys begin in the first block and end in the third.
  HeadPlace place{.queries = 6, .first_key = 30, .keys = 36};
  const AttentionHead head = attention_head(attention.problem, place);
  EXPECT_EQ(head.k_scales[1], 1);
  EXPECT_EQ(head.k_scales[2], 2);
  EXPECT_EQ(head.k_scales[33], 2);
  EXPECT_EQ(head.k_scales[34], 4);
  EXPECT_THAT(block_scales(attention.problem, attention.k_scale, 0, 0, 94, 3),
              ElementsAre(4, 4, 8));
}

// Under one scale for all keys of a row the softmax of equal scores is a mean, to the bit.
TEST(AttentionBlocks, DemandBitEqualityWhereTheArithmeticIsExact) {
  AttentionSetup setup = integer_setup();
  setup.scores = Scores::equal;
  setup.values = Values::integers;
  setup.keys = 128;
  Attention attention(setup);
  attention.run(testing::integer_contract(), 90, Errors::high);
  OutputVerdict verdict = judged(attention);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.exact_required, verdict.elements);
  attention.o.set_bits(3, attention.o.bits(3) ^ 1);
  EXPECT_EQ(judged(attention).failed, 1);
}

TEST(AttentionBlocks, SeeFaultsOfTheSizeTheyClaim) {
  AttentionSetup setup = integer_setup();
  setup.queries = 2;
  setup.keys = 2048;
  setup.d = setup.dv = 64;
  setup.scale_block = 64;
  const auto rate = [&](testing::AttentionFaultSwitches faults) {
    Attention attention(setup);
    attention.run(testing::integer_contract(), 90, Errors::random, 5, faults);
    const OutputVerdict verdict = judged(attention);
    return static_cast<double>(verdict.failed) / static_cast<double>(verdict.compared);
  };
  EXPECT_EQ(rate({}), 0);
  EXPECT_GE(rate({.dropped_key = 700}), 0.9);
  EXPECT_GE(rate({.scale_in_bf16 = true}), 0.9);
  EXPECT_GE(rate({.scale_in_bf16 = false, .scores_in_bf16 = true}), 0.9);
  EXPECT_GE(rate({.louder_tile = 5}), 0.9);
}

TEST(AttentionBlocks, NameTheScaleThatIsWrong) {
  AttentionSetup setup = integer_setup();
  setup.heads = 4;
  setup.kv_heads = 2;
  setup.queries = 70;
  setup.keys = 100;
  const AttentionContract contract = testing::integer_contract();
  // What a kernel makes of other scales, judged by those of the problem.
  const auto told = [&](const auto& change) {
    Attention attention(setup);
    Attention changed(setup);
    for (Attention* either : {&attention, &changed}) {
      for (std::int64_t n = 0; n < 12; ++n)
        either->q_scale.set_bits(n, bits(0.03f + 0.007f * static_cast<float>(n)));
      for (std::int64_t n = 0; n < 8; ++n)
        either->k_scale.set_bits(n, bits(0.09f - 0.011f * static_cast<float>(n)));
    }
    change(changed);
    changed.run(contract, 90);
    const AttentionOracle oracle(attention.problem, contract, 90);
    const OutputVerdict verdict = oracle.judge(0, changed.o, {});
    EXPECT_GT(verdict.failed, 0);
    // Query 40 of head 2, in the middle one of three blocks of Q; K's head is 1.
    return oracle.explain(0, (2 * setup.queries + 40) * setup.dv, changed.o).faults.names;
  };
  const auto take = [](Tensor& scales, std::vector<std::int64_t> from) {
    const Tensor before = scales;
    for (std::size_t n = 0; n < from.size(); ++n)
      scales.set_bits(static_cast<std::int64_t>(n), before.bits(from[n]));
  };
  EXPECT_THAT(told([&](Attention& x) { take(x.q_scale, {1, 2, 2, 4, 5, 5, 7, 8, 8}); }),
              Contains("the scales of Q are those of the next block"));
  EXPECT_THAT(told([&](Attention& x) { take(x.k_scale, {0, 0, 1, 2, 4, 4, 5, 6}); }),
              Contains("the scales of K are those of the block before"));
  EXPECT_THAT(told([&](Attention& x) { take(x.q_scale, {0, 1, 2, 0, 1, 2, 0, 1, 2}); }),
              Contains("the scales of Q's blocks are head 0's"));
  EXPECT_THAT(told([&](Attention& x) { take(x.k_scale, {0, 1, 2, 3, 0, 1, 2, 3}); }),
              Contains("the scales of K's blocks are those of head h mod kv_heads"));
  EXPECT_THAT(told([&](Attention& x) {
                for (std::int64_t n = 0; n < 8; ++n) x.k_scale.set_bits(n, bits(1));
              }),
              Contains("the scales of K's blocks are left out"));
}

}  // namespace
}  // namespace plumbline
