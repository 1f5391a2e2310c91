// SPDX-License-Identifier: MIT
// The nightly proof of the bound: a million outputs of conforming kernels, in every value regime,
// on the models of both chips, with the errors of ex2 and lg2 random and at their limits; not one
// may fail. PLUMBLINE_OUTPUTS=n asks for another number.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "tests/oracles/reference/attention/fixture.h"

namespace plumbline {
namespace {

using namespace testing;

AttentionSetup drawn(Random& random) {
  AttentionSetup setup;
  setup.scores = kAllScores[random.below(std::size(kAllScores))];
  setup.values = kAllValues[random.below(std::size(kAllValues))];
  setup.seed = random.next();
  setup.heads = 1 + static_cast<std::int64_t>(random.below(2));
  setup.queries = random.between(1, 6);
  setup.keys = random.below(4) == 0 ? random.between(200, 600) : random.between(1, 200);
  setup.d = 8 * random.between(1, 10);
  setup.dv = 8 * random.between(1, 16);
  setup.output = random.below(4) == 0 ? FormatId::bf16 : FormatId::f32;
  setup.bias = random.below(4) == 0;
  setup.sink = random.below(4) == 0;
  setup.scales = random.below(3) == 0;
  if (random.below(4) == 0) setup.softcap = random.below(2) == 0 ? 30.0f : 2.5f;
  if (random.below(3) == 0) setup.scale = static_cast<float>(0.01 + random.unit());
  setup.mask.causal = static_cast<Causal>(random.below(3));
  if (random.below(3) == 0) setup.mask.window_left = random.between(0, 100);
  return setup;
}

// Another unit or other formats, now and then. Returns the chip.
int vary(int turn, AttentionSetup& setup, AttentionContract& contract) {
  if (turn % 11 == 6) contract.unit = Unit::fma_f32;
  if (turn % 11 == 8) setup.format = contract.p = FormatId::f16;
  if (turn % 11 == 2 || turn % 11 == 9) {  // integers and f16, scales per block mostly
    setup.format = FormatId::s8;
    setup.value_format = contract.p = FormatId::f16;
    contract.integer_scores = true;
    if (turn % 4 != 0) setup.scale_block = turn % 8 < 6 ? 64 : 24;
    if (setup.values == Values::wide) setup.values = Values::normal;
  }
  if (setup.format == FormatId::f16 && setup.scores == Scores::far_negative)
    setup.scores = Scores::normal;
  if (turn % 11 != 10 && turn % 11 != 4) return turn % 2 == 0 ? 80 : 90;
  setup.format = contract.p = FormatId::e4m3;
  contract.p_shift = 8;
  if (setup.scores == Scores::far_negative) setup.scores = Scores::normal;  // no e4m3 is that large
  if (setup.values == Values::wide) setup.values = Values::normal;
  if (turn % 3 != 0) setup.scale_block = turn % 3 == 1 ? 64 : 24;
  return turn % 2 == 0 ? 89 : 90;
}

TEST(AttentionOracleDeep, NeverFailsAKernelThatKeepsItsContract) {
  const char* wanted = std::getenv("PLUMBLINE_OUTPUTS");
  const std::int64_t goal = wanted != nullptr ? std::atoll(wanted) : 1000000;
  const char* start = std::getenv("PLUMBLINE_SEED");
  Random random(start != nullptr ? static_cast<std::uint64_t>(std::atoll(start)) : 42);
  std::int64_t outputs = 0, bounded = 0, failed = 0;
  double worst = 0;
  for (int turn = 0; outputs < goal && failed == 0; ++turn) {
    AttentionSetup setup = drawn(random);
    AttentionContract contract = attention_contract_of();
    if (turn % 5 == 4) contract.tile = 16 * random.between(1, 8);
    if (turn % 7 == 3) contract.row_sum = RowSum::rounded;
    if (turn % 7 == 5) contract.normalization = Normalization::quotient;
    if (turn % 7 == 6) contract.normalization = Normalization::div_full;
    if (turn % 4 == 2) contract.logit_base = turn % 8 == 2 ? LogitBase::two : LogitBase::two_fused;
    if (turn % 3 == 1) contract.parts = random.between(2, 8);
    const int sm = vary(turn, setup, contract);
    Attention attention(setup);
    attention.run(contract, sm, static_cast<Errors>(turn % 4), setup.seed);
    const AttentionOracle oracle(attention.problem, contract, sm);
    JudgeOptions options;
    options.referee_samples = 1;
    for (const int output : {0, 1}) {
      const OutputVerdict verdict =
          oracle.judge(output, output == 0 ? attention.o : attention.lse, options);
      outputs += verdict.compared;
      bounded += verdict.bounded;
      failed += verdict.failed;
      worst = std::max(worst, verdict.worst_share);
      EXPECT_EQ(verdict.disagreements, 0) << "turn " << turn;
      EXPECT_EQ(verdict.failed, 0)
          << "turn " << turn << " output " << output << " sm " << sm << " scores "
          << static_cast<int>(setup.scores) << " values " << static_cast<int>(setup.values)
          << " keys " << setup.keys << " tile " << contract.tile << " index " << verdict.worst.index
          << " share " << verdict.worst.share << " cap " << setup.softcap << " bias " << setup.bias
          << " sink " << setup.sink << " parts " << contract.parts;
    }
  }
  std::printf("%ld outputs, %ld bounded, %ld failed, worst share %.3f\n",
              static_cast<long>(outputs), static_cast<long>(bounded), static_cast<long>(failed),
              worst);
}

}  // namespace
}  // namespace plumbline
