// SPDX-License-Identifier: MIT
// What attention kernels of inference do otherwise: probabilities that stay in f32, LSE in base 2.
// Kernels that keep such a contract never fail; kernels with another term do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/oracles/reference/attention/fixture.h"

namespace plumbline {
namespace {

using testing::Attention;
using testing::AttentionSetup;
using testing::Errors;
using testing::scale;
using testing::Scores;

struct Judged {
  std::int64_t compared = 0, failed = 0, undecided = 0, disagreements = 0;
};

// All outputs of a kernel that computes as `done` says, under the contract `promised`; `lse`: as
// the problem that it is judged by has it.
Judged judged(const AttentionSetup& setup, const AttentionContract& done,
              const AttentionContract& promised, Errors errors = Errors::random,
              std::optional<LseKind> lse = {}) {
  Attention attention(setup);
  attention.run(done, 80, errors, setup.seed);
  attention.problem.lse = lse.value_or(setup.lse);
  const AttentionOracle oracle(attention.problem, promised, 80);
  Judged all;
  for (int output = 0; output < oracle.outputs(); ++output) {
    JudgeOptions options;
    options.referee_samples = 2;
    const OutputVerdict verdict =
        oracle.judge(output, output == 0 ? attention.o : attention.lse, options);
    all.compared += verdict.compared;
    all.failed += verdict.failed;
    all.undecided += verdict.unresolved;
    all.disagreements += verdict.disagreements;
  }
  return all;
}

// Of a kernel on CUDA cores.
AttentionContract f32_contract() {
  AttentionContract contract = testing::attention_contract_of(FormatId::f32);
  contract.unit = Unit::fma_f32;
  return contract;
}

// Terms that go with any of the above.
void vary(AttentionContract& contract, int turn) {
  contract.tile = turn % 2 == 0 ? 64 : 16;
  contract.row_sum_lanes = turn % 3 == 0 ? 1 : 8;
  contract.parts = turn % 5 == 2 ? 3 : 1;
  contract.logit_base = static_cast<LogitBase>(turn % 5);
  contract.normalization = static_cast<Normalization>(turn / 4 % 4);
  contract.row_sum = turn % 7 == 1 ? RowSum::rounded : RowSum::unrounded;
}

TEST(AttentionOfInference, NeverFailsAKernelWhoseProbabilitiesStayInF32) {
  int turn = 0;
  Judged all;
  for (const Scores scores : testing::kAllScores) {
    for (const testing::Values values : testing::kAllValues) {
      for (int again = 0; again < 3; ++again) {
        ++turn;
        AttentionContract contract = f32_contract();
        vary(contract, turn);
        const Judged found = judged(testing::varied_setup(turn, scores, values), contract, contract,
                                    static_cast<Errors>(turn % 4));
        EXPECT_EQ(found.failed, 0) << turn;
        EXPECT_EQ(found.undecided, 0) << turn;
        EXPECT_EQ(found.disagreements, 0) << turn;
        all.compared += found.compared;
      }
    }
  }
  EXPECT_GT(all.compared, 6000);
}

// Under --use_fast_math the unit is fma.rn.ftz, and what is below 2^-126 counts as 0: an operand,
// and the whole product with it, or a sum.
TEST(AttentionOfInference, NeverFailsAKernelWhoseUnitLosesSubnormalNumbers) {
  int turn = 0;
  for (const Scores scores : testing::kAllScores) {
    for (const testing::Values values : testing::kAllValues) {
      for (const int of_keys : {-60, -126, -130}) {
        ++turn;
        AttentionSetup setup = testing::varied_setup(turn, scores, values);
        AttentionContract contract = f32_contract();
        vary(contract, turn);
        if (turn % 3 == 0) contract.p = FormatId::bf16;
        contract.subnormals_flushed = true;
        Attention attention(setup);
        scale(attention.k, of_keys);
        scale(attention.q, turn % 2 == 0 ? 110 : 60);
        scale(attention.v, turn % 4 == 0 ? -126 : turn % 4 == 1 ? -110 : 0);
        if (turn % 2 == 1) attention.problem.scale *= 0x1p50f;
        attention.run(contract, 80, static_cast<Errors>(turn % 4), setup.seed);
        const AttentionOracle oracle(attention.problem, contract, 80);
        EXPECT_EQ(oracle.judge(0, attention.o, {}).failed, 0) << turn;
        EXPECT_EQ(oracle.judge(1, attention.lse, {}).failed, 0) << turn;
      }
    }
  }
}

// One query and keys of one element: what each key is, and its value.
struct Keys {
  AttentionSetup setup;
  std::vector<double> k, v;

  // O and LSE of the query q.
  std::vector<float> run(double q, const AttentionContract& contract) {
    setup.queries = setup.d = setup.dv = 1;
    setup.scale = 1;
    setup.keys = static_cast<std::int64_t>(k.size());
    Attention attention(setup);
    const auto put = [](Tensor& tensor, std::int64_t at, double value) {
      tensor.set_bits(at, encode(format(tensor.layout.format), value));
    };
    put(attention.q, 0, q);
    for (std::int64_t j = 0; j < setup.keys; ++j) {
      put(attention.k, j, k[static_cast<std::size_t>(j)]);
      put(attention.v, j, v[static_cast<std::size_t>(j)]);
    }
    attention.run(contract, 80, Errors::none);
    const AttentionOracle oracle(attention.problem, contract, 80);
    EXPECT_EQ(oracle.judge(0, attention.o, {}).failed, 0);
    EXPECT_EQ(oracle.judge(1, attention.lse, {}).failed, 0);
    return {static_cast<float>(to_double(format(FormatId::f32), attention.o.bits(0))),
            static_cast<float>(to_double(format(FormatId::f32), attention.lse.bits(0)))};
  }
};

TEST(AttentionOfInference, LosesAScoreWithItsOperand) {
  AttentionContract contract = f32_contract();
  Keys keys{.setup = {}, .k = {0x1p-127, 0}, .v = {1, -1}};
  EXPECT_NEAR(keys.run(0x1p127, contract).front(), std::tanh(0.5), 1e-6);
  contract.subnormals_flushed = true;
  EXPECT_EQ(keys.run(0x1p127, contract).front(), 0);
}

// 1.5 2^-127 a thousand times.
TEST(AttentionOfInference, LosesASumOfWhatIsSmall) {
  AttentionContract contract = f32_contract();
  Keys keys{.setup = {}, .k = {20 * std::numbers::ln2}, .v = {0}};
  keys.k.resize(1025, 0);
  keys.v.resize(1025, 0x1.8p-107);
  EXPECT_GT(keys.run(1, contract).front(), 0x1p-117f);
  contract.subnormals_flushed = true;
  EXPECT_EQ(keys.run(1, contract).front(), 0);
}

TEST(AttentionOfInference, TellsProbabilitiesInF32FromRoundedOnes) {
  AttentionSetup setup;
  setup.keys = 200;
  const AttentionContract f32 = f32_contract();
  for (const FormatId rounded : {FormatId::bf16, FormatId::f16}) {
    AttentionContract other = f32;
    other.p = rounded;
    for (const FormatId output : {FormatId::f32, FormatId::bf16}) {
      setup.output = output;
      // Of bf16 outputs few show what f16 has taken from P.
      if (output == FormatId::bf16 && rounded == FormatId::f16) continue;
      EXPECT_GT(judged(setup, other, f32).failed, 0) << format(rounded).name;
      EXPECT_GT(judged(setup, f32, other).failed, 0) << format(rounded).name;
    }
  }
  EXPECT_EQ(judged(setup, f32, f32).failed, 0);
}

// Equal scores and a number of keys that is a power of two: the mean of small integers, exactly.
TEST(AttentionOfInference, IsExactInF32WhereNothingIsRounded) {
  AttentionSetup setup;
  setup.scores = Scores::equal;
  setup.values = testing::Values::integers;
  setup.keys = 64;
  Attention attention(setup);
  attention.run(f32_contract(), 80);
  const AttentionOracle oracle(attention.problem, f32_contract(), 80);
  const std::uint64_t right = attention.o.bits(5);
  EXPECT_TRUE(oracle.element(0, 5, right).pass);
  EXPECT_FALSE(oracle.element(0, 5, right + 1).pass);
  EXPECT_FALSE(oracle.element(0, 5, right - 1).pass);
}

TEST(AttentionOfInference, NeverFailsAKernelWhoseLseIsInBase2) {
  int turn = 0;
  for (const Scores scores : testing::kAllScores) {
    for (int again = 0; again < 24; ++again) {
      ++turn;
      AttentionSetup setup = testing::varied_setup(turn, scores, testing::Values::normal);
      setup.lse = LseKind::base_2;
      AttentionContract contract = testing::attention_contract_of();
      vary(contract, turn);
      if (turn % 3 == 1) contract.log2_e = Log2E::f64;
      if (turn % 4 == 2) {  // tanh.approx says nothing of a bias or a sink
        contract.tanh = Tanh::approx;
        setup.bias = setup.sink = false;
      }
      if (turn % 5 == 3) {
        contract.subnormals_flushed = true;
        setup.scale = turn % 2 == 0 ? 0x1p-126f : 0x1p-120f;
      }
      const Judged found = judged(setup, contract, contract, static_cast<Errors>(turn % 4));
      EXPECT_EQ(found.failed, 0) << turn;
      EXPECT_EQ(found.undecided, 0) << turn;
      EXPECT_EQ(found.disagreements, 0) << turn;
    }
  }
}

TEST(AttentionOfInference, TellsTheLogarithmsOfLseApart) {
  const AttentionContract contract = testing::attention_contract_of();
  AttentionSetup setup;
  const std::int64_t rows = setup.queries;
  for (const LseKind done : {LseKind::natural, LseKind::base_2}) {
    const LseKind other = done == LseKind::natural ? LseKind::base_2 : LseKind::natural;
    setup.lse = done;
    EXPECT_EQ(judged(setup, contract, contract).failed, 0);
    EXPECT_EQ(judged(setup, contract, contract, Errors::random, other).failed, rows);
    Attention attention(setup);
    attention.run(contract, 80);
    attention.problem.lse = other;
    const AttentionOracle oracle(attention.problem, contract, 80);
    EXPECT_THAT(oracle.explain(1, 3, attention.lse).faults.names,
                ::testing::Contains(done == LseKind::natural ? "LSE is the natural logarithm"
                                                             : "LSE is in base 2"));
    EXPECT_NEAR(oracle.reference_values(1, Reference::mathematics, 1)[3],
                oracle.reference_values(1, Reference::contract, 1)[3], 1e-6);
  }
}

// Scores of 0 and 64 keys: log2 l is 6, exactly but for what lg2 may be off by.
TEST(AttentionOfInference, HasAnLseInBase2ThatCountsKeys) {
  AttentionSetup setup;
  setup.scores = Scores::equal;
  setup.keys = 64;
  setup.lse = LseKind::base_2;
  const Attention attention(setup);
  const AttentionOracle oracle(attention.problem, testing::attention_contract_of(), 80);
  const auto pass = [&](float lse) {
    return oracle.element(1, 0, std::bit_cast<std::uint32_t>(lse)).pass;
  };
  EXPECT_TRUE(pass(6));
  EXPECT_TRUE(pass(6 + 0x1p-20f));
  EXPECT_FALSE(pass(6 + 0x1p-18f));
}

}  // namespace
}  // namespace plumbline
