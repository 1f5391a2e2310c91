// SPDX-License-Identifier: MIT
// Keys that a bias hides by a large finite number: beside a key that it does not hide they have no
// weight, and all outputs are judged as if the number were -inf.
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "oracles/base/numbers.h"
#include "oracles/reference/attention/oracle.h"
#include "tests/oracles/reference/attention/fixture.h"

namespace plumbline {
namespace {

using testing::Attention;
using testing::AttentionSetup;
using testing::Errors;

constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr std::array kMasks = {-1e9f, -1e10f, -0x1p60f, -1e30f, kLowest};
constexpr std::array kBases = {LogitBase::natural, LogitBase::two, LogitBase::two_fused,
                               LogitBase::natural_either, LogitBase::natural_difference};
constexpr std::int64_t kTile = 16;

// Row i hides its first 16 i keys: of row 0 none, of the last all.
constexpr std::int64_t kQueries = 6, kKeys = 5 * kTile;

void hide(Attention& attention, float mask) {
  for (std::int64_t n = 0; n < attention.bias.layout.count(); ++n) {
    if (n % kKeys < kTile * (n / kKeys % kQueries))
      attention.bias.set_bits(n, std::bit_cast<std::uint32_t>(mask));
  }
}

AttentionSetup hiding(int turn) {
  AttentionSetup setup;
  setup.seed = static_cast<std::uint64_t>(turn);
  setup.scores = testing::kAllScores[static_cast<std::size_t>(turn) % 9];  // but tiny and enormous
  setup.values = testing::kAllValues[static_cast<std::size_t>(turn) % 7];
  setup.queries = kQueries;
  setup.keys = kKeys;
  setup.bias = true;
  setup.sink = turn % 3 == 1;
  setup.softcap = turn % 4 == 3 ? 30.0f : 0.0f;
  setup.lse = turn % 5 == 2 ? LseKind::base_2 : LseKind::natural;
  if (turn % 7 == 4) {
    setup.format = FormatId::e4m3;
    setup.scores = testing::Scores::normal;
    setup.values = testing::Values::normal;
  }
  return setup;
}

AttentionContract contract_of(const AttentionSetup& setup, LogitBase base, int turn) {
  AttentionContract contract = testing::attention_contract_of();
  contract.tile = kTile;
  contract.logit_base = base;
  contract.p = setup.format;
  if (setup.format == FormatId::e4m3) contract.p_shift = 8;
  contract.parts = turn % 4 == 2 ? 3 : 1;
  if (turn % 6 >= 4) contract.order = TileOrder::descending;
  contract.row_sum = turn % 7 == 1 ? RowSum::rounded : RowSum::unrounded;
  return contract;
}

TEST(AttentionFarKeys, NeverFailAKernelThatKeepsItsContract) {
  std::int64_t compared = 0, open = 0;
  for (const LogitBase base : kBases) {
    for (int turn = 0; turn < 60; ++turn) {
      const AttentionSetup setup = hiding(turn);
      Attention attention(setup);
      hide(attention, kMasks[static_cast<std::size_t>(turn) % kMasks.size()]);
      AttentionContract contract = contract_of(setup, base, turn);
      contract.exponential_bits = turn % 5 == 3 ? 13 : 0;
      contract.rescale_threshold = turn % 6 == 3 ? 8 : 0;
      attention.run(contract, 90, static_cast<Errors>(turn % 4), setup.seed);
      const AttentionOracle oracle(attention.problem, contract, 90);
      for (const int output : {0, 1}) {
        const OutputVerdict verdict =
            oracle.judge(output, output == 0 ? attention.o : attention.lse, {.referee_samples = 4});
        compared += verdict.compared;
        open += verdict.open;
        EXPECT_EQ(verdict.failed, 0)
            << "turn " << turn << " logits " << static_cast<int>(base) << " output " << output;
        EXPECT_EQ(verdict.disagreements, 0) << "turn " << turn;
      }
    }
  }
  EXPECT_GT(compared, 9000);
  EXPECT_GT(open, 1000);  // of rows whose scores may overflow f32
}

// Rows that hide some keys but not all, under contracts whose exponent is exact at the maximum.
TEST(AttentionFarKeys, LeaveBoundsAsMinusInfinityDoes) {
  for (const LogitBase base : {LogitBase::two, LogitBase::natural_difference}) {
    for (int turn = 0; turn < 60; ++turn) {
      const AttentionSetup setup = hiding(turn);
      Attention hidden(setup), far(setup);
      hide(hidden, -kFloatInfinity);
      hide(far, kMasks[1 + static_cast<std::size_t>(turn) % (kMasks.size() - 1)]);
      const AttentionContract contract = contract_of(setup, base, turn);
      const AttentionOracle expected(hidden.problem, contract, 90),
          oracle(far.problem, contract, 90);
      for (std::int64_t i = 1; i + 1 < kQueries; ++i) {
        const ElementVerdict o = oracle.element(0, i * setup.dv, 0x7fc00000),
                             lse = oracle.element(1, i, 0x7fc00000);
        EXPECT_FALSE(o.pass) << turn << " row " << i;
        EXPECT_FALSE(lse.pass) << turn << " row " << i;
        // Where O is all but 0, most of the bound is the reference's own error, which does not see
        // how much of a logit was bias.
        EXPECT_LE(o.bound_ulp, 4 * expected.element(0, i * setup.dv, 0x7fc00000).bound_ulp) << turn;
        EXPECT_LE(lse.bound_ulp, 4 * expected.element(1, i, 0x7fc00000).bound_ulp) << turn;
      }
    }
  }
}

// However far off an exponent may be that was computed with a fused multiply-add, at -1e9 it is far
// below 0, and the key is nothing. Every tile has keys in sight, which settle its maximum.
TEST(AttentionFarKeys, AreNothingInATileWithOthersUnderAllContracts) {
  int judged = 0;
  for (const LogitBase base : kBases) {
    for (int turn = 0; turn < 60; ++turn) {
      AttentionSetup setup = hiding(turn);
      setup.scores = testing::Scores::normal;
      setup.values = testing::Values::normal;
      Attention hidden(setup), far(setup);
      const float mask = turn % 2 == 0 ? -1e9f : -1.45e9f;
      for (std::int64_t n = 0; n < far.bias.layout.count(); ++n) {
        if (n % kTile < kTile / 2) continue;
        hidden.bias.set_bits(n, std::bit_cast<std::uint32_t>(-kFloatInfinity));
        far.bias.set_bits(n, std::bit_cast<std::uint32_t>(mask));
      }
      const AttentionContract contract = contract_of(setup, base, turn);
      const AttentionOracle expected(hidden.problem, contract, 90),
          oracle(far.problem, contract, 90);
      for (std::int64_t i = 0; i < kQueries; ++i) {
        const std::int64_t at[] = {i * setup.dv, i};
        for (const int output : {0, 1}) {
          const ElementVerdict wanted = expected.element(output, at[output], 0x7fc00000),
                               got = oracle.element(output, at[output], 0x7fc00000);
          EXPECT_EQ(got.pass, wanted.pass) << turn << " row " << i << " output " << output;
          EXPECT_LE(got.bound_ulp, 2 * wanted.bound_ulp)
              << turn << " logits " << static_cast<int>(base) << " row " << i << " of " << output;
          judged += !wanted.pass;
        }
      }
    }
  }
  EXPECT_GT(judged, 2000);
}

// The last row hides all its keys, by the least f32 too: every weight is the same, and O the mean.
TEST(AttentionFarKeys, ARowHiddenWholeHasTheMeanOfItsValues) {
  int rows = 0;
  for (int turn = 0; turn < 60; ++turn) {
    AttentionSetup setup = hiding(turn);
    setup.sink = false;
    Attention attention(setup);
    hide(attention, turn % 2 == 0 ? kLowest : -1e30f);
    const AttentionContract contract = contract_of(setup, LogitBase::natural_difference, turn);
    attention.run(contract, 90, static_cast<Errors>(turn % 4), setup.seed);
    const AttentionOracle oracle(attention.problem, contract, 90);
    const std::int64_t last = kQueries - 1;
    for (std::int64_t x = 0; x < setup.dv; ++x) {
      const std::int64_t at = last * setup.dv + x;
      const ElementVerdict right = oracle.element(0, at, attention.o.bits(at));
      EXPECT_TRUE(right.pass) << turn << " column " << x;
      EXPECT_FALSE(oracle.element(0, at, 0x7fc00000).pass) << turn << " NaN";
      EXPECT_FALSE(oracle.element(0, at, std::bit_cast<std::uint32_t>(7.77e35f)).pass) << turn;
      rows += !oracle.element(0, at, 0).pass;
    }
    EXPECT_TRUE(oracle.element(1, last, attention.lse.bits(last)).pass) << turn;
    if (setup.lse != LseKind::natural) continue;
    EXPECT_FALSE(oracle.element(1, last, 0x7fc00000).pass) << turn;
    EXPECT_FALSE(oracle.element(1, last, 0).pass) << turn;
  }
  EXPECT_GE(rows, 100) << "zeros in place of the mean";
}

// The other contracts say what the kernel does: 2 to the power of what rounding left may be
// infinite in a tile that is hidden before any other is seen, and then the row is NaN.
TEST(AttentionFarKeys, MayBeInfiniteUnderAFusedExponentWhereTheyComeFirst) {
  const AttentionSetup setup = hiding(0);
  Attention attention(setup);
  hide(attention, -1e10f);
  const AttentionContract contract = contract_of(setup, LogitBase::natural, 0);
  AttentionContract backwards = contract;
  backwards.order = TileOrder::descending;
  const AttentionOracle first(attention.problem, contract, 90),
      last(attention.problem, backwards, 90);
  EXPECT_FALSE(first.element(0, 0, 0x7fc00000).pass) << "row 0 hides no key";
  EXPECT_TRUE(first.element(0, setup.dv, 0x7fc00000).pass);
  EXPECT_FALSE(last.element(0, setup.dv, 0x7fc00000).pass);
}

}  // namespace
}  // namespace plumbline
