// SPDX-License-Identifier: MIT
// The verdict on attention: no kernel that keeps its contract fails, however it uses the room that
// the contract leaves; exact cases are bit-exact; and faults are caught.
#include <iterator>

#include "oracles/reference/attention/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/oracles/reference/attention/fixture.h"

namespace plumbline {
namespace {

using testing::Attention;
using testing::AttentionSetup;
using testing::Errors;
using testing::Scores;
using testing::Values;

struct Found {
  std::int64_t outputs = 0, failed = 0, bounded = 0;
  double worst_share = 0;
};

void judge(const Attention& attention, const AttentionContract& contract, int sm, Found& found,
           const std::string& what) {
  const AttentionOracle oracle(attention.problem, contract, sm);
  for (const int output : {0, 1}) {
    JudgeOptions options;
    options.referee_samples = 2;
    const OutputVerdict verdict =
        oracle.judge(output, output == 0 ? attention.o : attention.lse, options);
    found.outputs += verdict.compared;
    found.failed += verdict.failed;
    found.bounded += verdict.bounded;
    found.worst_share = std::max(found.worst_share, verdict.worst_share);
    EXPECT_EQ(verdict.compared + verdict.open, verdict.elements) << what;
    // Only where f32 may overflow on the way is there an output that may be anything.
    const auto enormous = std::to_string(static_cast<int>(Scores::enormous));
    if (what.find("scores " + enormous + " ") == std::string::npos) {
      EXPECT_EQ(verdict.open, 0) << what;
    }
    EXPECT_EQ(verdict.disagreements, 0) << what << " output " << output;
    EXPECT_EQ(verdict.unresolved, 0) << what;
    if (verdict.failed > 0) {
      const ElementVerdict& worst = verdict.failures.front();
      ADD_FAILURE() << what << " output " << output << ": " << verdict.failed << " failed, first "
                    << worst.index << " error " << worst.error_ulp << " ulp, bound "
                    << worst.bound_ulp << " share " << worst.share << " exact " << worst.exact;
    }
  }
}

std::string words(const AttentionSetup& setup, int sm) {
  return "sm " + std::to_string(sm) + " scores " + std::to_string(static_cast<int>(setup.scores)) +
         " values " + std::to_string(static_cast<int>(setup.values)) + " queries " +
         std::to_string(setup.queries) + " keys " + std::to_string(setup.keys) + " d " +
         std::to_string(setup.d) + " bias " + std::to_string(setup.bias) + " cap " +
         std::to_string(setup.softcap) + " sink " + std::to_string(setup.sink);
}

TEST(AttentionOracle, NeverFailsAKernelThatKeepsItsContract) {
  Found found;
  int turn = 0;
  for (const int sm : {80, 90}) {
    for (const Scores scores : testing::kAllScores) {
      for (const Values values : testing::kAllValues) {
        for (const std::int64_t keys : {1, 63, 130}) {
          AttentionSetup setup = varied_setup(++turn, scores, values);
          setup.keys = keys;
          setup.seed = static_cast<std::uint64_t>(turn);
          Attention attention(setup);
          const AttentionContract contract = testing::attention_contract_of();
          attention.run(contract, sm, static_cast<Errors>(turn % 4), setup.seed);
          judge(attention, contract, sm, found, words(setup, sm));
        }
      }
    }
  }
  EXPECT_GT(found.outputs, 8000);
}

// Masks, shared heads and other contracts, one after the other.
TEST(AttentionOracle, NeverFailsUnderOtherContracts) {
  Found found;
  for (int turn = 0; turn < 36; ++turn) {
    AttentionSetup setup;
    setup.seed = static_cast<std::uint64_t>(100 + turn);
    setup.scores =
        testing::kAllScores[static_cast<std::size_t>(turn) % std::size(testing::kAllScores)];
    setup.batch = 2;
    setup.heads = 4;
    setup.kv_heads = turn % 2 == 0 ? 2 : 1;
    setup.queries = 2;
    setup.keys = 45;
    setup.scales = turn % 3 == 1;
    AttentionContract contract = testing::attention_contract_of();
    contract.tile = turn % 3 == 0 ? 16 : 40;
    contract.row_sum_lanes = turn % 4 == 0 ? 1 : 8;
    if (turn % 4 == 1) contract.normalization = Normalization::quotient;
    if (turn % 8 == 1) contract.normalization = Normalization::div_full;
    if (turn % 4 == 2) contract.row_sum = RowSum::rounded;
    if (turn % 4 == 3) contract.unit = Unit::fma_f32;
    contract.logit_base = static_cast<LogitBase>(turn / 8);
    if (turn % 5 < 3) contract.parts = 2 + turn % 4;
    if (turn % 7 == 2) setup.sink = true;
    if (turn % 6 == 5) setup.format = contract.p = FormatId::f16;
    if (turn % 8 == 4) {
      setup.format = contract.p = FormatId::e4m3;
      contract.p_shift = 8;
      setup.scores = Scores::normal;
    }
    const int sm = turn % 8 == 4 ? (turn % 16 == 4 ? 89 : 90) : 80;
    Attention attention(setup);
    attention.run(contract, sm, static_cast<Errors>(turn % 4), setup.seed);
    judge(attention, contract, sm, found, "turn " + std::to_string(turn) + " " + words(setup, sm));
  }
}

// What FlashAttention 2 does differently: tiles from the last one back, sums that go on,
// tanh.approx with the cap in the exponent's factor, rcp.approx, and subnormal numbers that are
// lost.
AttentionContract backward_contract(int turn) {
  AttentionContract contract = testing::attention_contract_of();
  contract.tile = turn % 3 == 0 ? 16 : 40;
  contract.order = TileOrder::descending;
  contract.row_sum_start = RowSumStart::sum;
  contract.log2_e = Log2E::f64;
  contract.tanh = Tanh::approx;
  contract.normalization = Normalization::rcp_approx;
  contract.logit_base = LogitBase::natural_either;
  contract.subnormals_flushed = true;
  contract.masked_lse_is_negative = false;
  return contract;
}

TEST(AttentionOracle, NeverFailsWhenTilesComeLastFirst) {
  Found found;
  for (int turn = 0; turn < 120; ++turn) {
    AttentionSetup setup;
    setup.seed = static_cast<std::uint64_t>(400 + turn);
    setup.scores =
        testing::kAllScores[static_cast<std::size_t>(turn) % std::size(testing::kAllScores)];
    setup.values =
        testing::kAllValues[static_cast<std::size_t>(turn) % std::size(testing::kAllValues)];
    setup.queries = 4;
    setup.keys = 30 + turn;
    setup.softcap = turn % 4 == 1 ? 15.0f : 0.0f;
    if (turn % 3 == 1) setup.mask.causal = Causal::bottom_right;
    if (turn % 3 == 2) setup.mask.window_left = 20;
    if (turn % 7 == 3) setup.scale = 0x1p-124f;  // logits of no size
    AttentionContract contract = backward_contract(turn);
    if (turn % 5 == 4) contract.parts = 3;
    Attention attention(setup);
    attention.run(contract, 80, static_cast<Errors>(turn % 4), setup.seed);
    judge(attention, contract, 80, found, "turn " + std::to_string(turn) + " " + words(setup, 80));
  }
  EXPECT_GT(found.outputs, 3000);
}

// FlashAttention 4 keeps a maximum until a new one is above it by more than 2^8 in p.
TEST(AttentionOracle, NeverFailsUnderARescaleThreshold) {
  Found found;
  int turn = 0;
  for (const Scores scores : testing::kAllScores) {
    for (const Values values : testing::kAllValues) {
      for (int again = 0; again < 4; ++again) {
        ++turn;
        AttentionSetup setup = testing::varied_setup(turn, scores, values);
        setup.keys = 1 + turn * 11 % 150;
        setup.sink = turn % 3 == 2;
        setup.scales = false;
        AttentionContract contract = testing::attention_contract_of();
        contract.rescale_threshold = turn % 7 == 0 ? 1 : turn % 7 == 1 ? 64 : 8;
        contract.tile = turn % 2 == 0 ? 16 : 40;
        contract.exponential_bits = turn % 4 == 3 ? 13 : turn % 8 == 2 ? 22 : 0;
        contract.logit_base = static_cast<LogitBase>(turn % 5);
        contract.lse_sum_in_base_2 = turn % 2 == 1;
        contract.row_sum = turn % 4 == 1 ? RowSum::rounded : RowSum::unrounded;
        contract.row_sum_start = turn % 3 == 0 ? RowSumStart::sum : RowSumStart::zero;
        contract.order = turn % 5 == 2 ? TileOrder::descending : TileOrder::ascending;
        contract.parts = turn % 5 == 4 ? 3 : 1;
        if (turn % 6 == 5) setup.format = contract.p = FormatId::f16;
        if (contract.p == FormatId::f16) contract.rescale_threshold = 8;
        if (turn % 8 == 6 && !setup.bias) contract.p = setup.format = FormatId::e4m3;
        const int sm = contract.p == FormatId::e4m3 ? 90 : 80;
        if (sm == 90 && scores != Scores::normal) continue;
        Attention attention(setup);
        attention.run(contract, sm, static_cast<Errors>(turn % 4), setup.seed);
        judge(attention, contract, sm, found,
              "turn " + std::to_string(turn) + " " + words(setup, sm));
      }
    }
  }
  EXPECT_GT(found.outputs, 6000);
}

// Kernels that begin with a sink: far below the scores, among them, and far above.
TEST(AttentionOracle, NeverFailsWhereTheMaximumBeginsWithTheSink) {
  Found found;
  int turn = 0;
  for (const SinkStep step : {SinkStep::first, SinkStep::maximum_first}) {
    for (const Scores scores : testing::kAllScores) {
      for (const Values values : testing::kAllValues) {
        ++turn;
        AttentionSetup setup = testing::varied_setup(turn, scores, values);
        setup.keys = 1 + turn * 11 % 150;
        setup.sink = true;
        setup.sink_size = turn % 3 == 0 ? 2 : turn % 3 == 1 ? 30 : 300;
        setup.scales = false;
        AttentionContract contract = testing::attention_contract_of();
        contract.sink_step = step;
        contract.tile = turn % 2 == 0 ? 16 : 40;
        contract.row_sum_lanes = turn % 4 == 0 ? 1 : 8;
        contract.exponential_bits = turn % 4 == 3 ? 13 : 0;
        contract.logit_base = static_cast<LogitBase>(turn % 5);
        contract.lse_sum_in_base_2 = turn % 2 == 1;
        contract.row_sum = turn % 4 == 1 ? RowSum::rounded : RowSum::unrounded;
        contract.row_sum_start = turn % 3 == 0 ? RowSumStart::sum : RowSumStart::zero;
        contract.order = turn % 5 == 2 ? TileOrder::descending : TileOrder::ascending;
        if (turn % 6 == 5) setup.format = contract.p = FormatId::f16;
        if (turn % 8 == 6 && !setup.bias && scores == Scores::normal)
          contract.p = setup.format = FormatId::e4m3;
        const int sm = contract.p == FormatId::e4m3 ? 90 : 80;
        Attention attention(setup);
        attention.run(contract, sm, static_cast<Errors>(turn % 4), setup.seed);
        judge(attention, contract, sm, found,
              "turn " + std::to_string(turn) + " " + words(setup, sm));
      }
    }
  }
  EXPECT_GT(found.outputs, 4000);
}

// Each tile raises the maximum by the threshold, to within a few ulp of f32: whether it is kept is
// a matter of rounding, and a kernel may decide either way, each time.
Attention& rising_by_the_threshold(Attention& attention, const AttentionSetup& setup,
                                   std::int64_t tile, int ulps) {
  Random random(setup.seed);
  for (std::int64_t n = 0; n < attention.q.layout.count(); ++n)
    attention.q.set_bits(n, encode(format(FormatId::bf16), n % setup.d == 0 ? 1.0 : 0.0));
  for (std::int64_t j = 0; j < setup.keys; ++j) {
    const bool leads = j % tile == tile / 2;
    const double key = 16 * static_cast<double>(j / tile) - (leads ? 0 : 4 * random.unit());
    attention.k.set_bits(j * setup.d, encode(format(FormatId::bf16), key));
  }
  float scale = static_cast<float>(8 / (16 * std::numbers::log2e));
  for (int n = 0; n < std::abs(ulps); ++n) scale = std::nextafter(scale, ulps > 0 ? 1.0f : 0.0f);
  attention.problem.scale = scale;
  return attention;
}

TEST(AttentionOracle, KnowsThatARiseByTheThresholdIsDecidedByRounding) {
  Found found;
  int turn = 0, otherwise = 0;
  for (const LogitBase base :
       {LogitBase::natural, LogitBase::two, LogitBase::two_fused, LogitBase::natural_difference}) {
    for (int ulps = -4; ulps <= 4; ++ulps) {
      AttentionSetup setup;
      setup.seed = static_cast<std::uint64_t>(++turn);
      setup.queries = 1;
      setup.keys = 16 * 4;
      setup.sink = turn % 4 == 3;
      AttentionContract contract = testing::attention_contract_of();
      contract.tile = 16;
      contract.logit_base = base;
      contract.rescale_threshold = 8;
      Attention attention(setup);
      rising_by_the_threshold(attention, setup, contract.tile, ulps);
      attention.run(contract, 80, Errors::random, setup.seed);
      const std::string what = "turn " + std::to_string(turn) + " " + words(setup, 80);
      judge(attention, contract, 80, found, what);
      // A kernel whose threshold is one ulp less or more decides otherwise somewhere.
      for (const double near : {8 - 0x1p-20, 8 + 0x1p-20}) {
        AttentionContract other = contract;
        other.rescale_threshold = near;
        const Tensor before = attention.o;
        attention.run(other, 80, Errors::random, setup.seed);
        otherwise += std::ranges::equal(before.storage, attention.o.storage) ? 0 : 1;
        judge(attention, contract, 80, found, what + " near");
      }
    }
  }
  EXPECT_GT(otherwise, 5) << "of 72";
}

// A kernel that always rescales, and one that takes the new maximum without, are told apart.
TEST(AttentionOracle, TellsWhetherTheThresholdIsKept) {
  AttentionSetup setup;
  setup.scores = Scores::rising;
  setup.keys = 130;
  AttentionContract keeps = testing::attention_contract_of();
  keeps.rescale_threshold = 8;
  const AttentionContract rescales = testing::attention_contract_of();
  Attention attention(setup);
  const auto failed = [&](const AttentionContract& kernel, const AttentionContract& promised) {
    attention.run(kernel, 80, Errors::random, 1);
    const AttentionOracle judge(attention.problem, promised, 80);
    return judge.judge(0, attention.o, {}).failed;
  };
  EXPECT_EQ(failed(keeps, keeps), 0);
  EXPECT_EQ(failed(rescales, rescales), 0);
  EXPECT_GT(failed(keeps, rescales), 0);
  EXPECT_GT(failed(rescales, keeps), 0);
}

// Each of these terms matters: outputs of a kernel that has it are outside of a contract that has
// not.
TEST(AttentionOracle, TellsOrderTanhAndLostSubnormalsApart) {
  const auto failures = [](const AttentionSetup& setup, std::optional<std::uint64_t> v,
                           const auto& change) {
    const AttentionContract done = backward_contract(0);
    AttentionContract promised = done;
    change(promised);
    Attention attention(setup);
    for (std::int64_t i = 0; v && i < attention.v.layout.count(); ++i) attention.v.set_bits(i, *v);
    attention.run(done, 80, Errors::high, setup.seed);
    std::int64_t count = 0;
    for (const int output : {0, 1}) {
      count += AttentionOracle(attention.problem, promised, 80)
                   .judge(output, output == 0 ? attention.o : attention.lse, JudgeOptions{})
                   .failed;
    }
    return count;
  };
  const auto nothing = [](AttentionContract&) {};
  AttentionSetup setup;
  setup.keys = 200;
  setup.scores = Scores::rising;
  EXPECT_EQ(failures(setup, {}, nothing), 0);
  EXPECT_GT(failures(setup, {}, [](AttentionContract& c) { c.order = TileOrder::ascending; }), 0);
  setup.scores = Scores::normal;
  setup.softcap = 2;
  EXPECT_EQ(failures(setup, {}, nothing), 0);
  EXPECT_GT(failures(setup, {}, [](AttentionContract& c) { c.tanh = Tanh::ex2; }), 0);
  constexpr std::uint64_t kSubnormal = 0x0003;
  AttentionSetup small;
  small.keys = 1;
  EXPECT_EQ(failures(small, kSubnormal, nothing), 0);
  EXPECT_GT(failures(small, kSubnormal, [](AttentionContract& c) { c.subnormals_flushed = false; }),
            0);
}

// 1 / 4 is known to rcp.approx within an ulp alone.
TEST(AttentionOracle, RcpApproxIsOneUlpOff) {
  AttentionSetup setup;
  setup.keys = 4;
  setup.scores = Scores::equal;
  setup.values = Values::integers;
  Attention attention(setup);
  AttentionContract contract = testing::attention_contract_of();
  attention.run(contract, 80, Errors::none, setup.seed);
  for (std::int64_t i = 0; i < attention.o.layout.count(); ++i) {
    const std::uint64_t bits = attention.o.bits(i);
    if ((bits & 0x7fffffff) != 0) attention.o.set_bits(i, bits - 1);
  }
  const auto failed = [&] {
    return AttentionOracle(attention.problem, contract, 80).judge(0, attention.o, {}).failed;
  };
  EXPECT_GT(failed(), 0);
  contract.normalization = Normalization::rcp_approx;
  EXPECT_EQ(failed(), 0);
}

// Scores that are known, and maxima that rise: the exponent of a factor is a difference of two that
// were rounded.
TEST(AttentionOracle, NeverFailsWithMaximaInBase2) {
  Found found;
  for (int turn = 0; turn < 120; ++turn) {
    AttentionSetup setup;
    setup.seed = static_cast<std::uint64_t>(900 + turn);
    setup.scores = Scores::integers;
    setup.values = Values::integers;
    setup.queries = 3;
    setup.keys = 300;
    setup.sink = turn % 2 == 0;
    setup.scale = static_cast<float>(0.1 + 0.01 * turn);
    AttentionContract contract = testing::attention_contract_of();
    contract.logit_base = turn % 3 == 0 ? LogitBase::two_fused : LogitBase::two;
    contract.parts = 1 + turn % 5 / 3;
    Attention attention(setup);
    attention.run(contract, 90, static_cast<Errors>(turn % 4), setup.seed);
    judge(attention, contract, 90, found, "turn " + std::to_string(turn));
  }
}

OutputVerdict judged(const Attention& attention, int output = 0) {
  const AttentionContract contract = testing::attention_contract_of();
  JudgeOptions options;
  options.referee_samples = 1;
  return AttentionOracle(attention.problem, contract, 90)
      .judge(output, output == 0 ? attention.o : attention.lse, options);
}

// A1: equal scores of 0, as many keys as a power of two, integers in V.
// The values of the last tile cancel, and what is left is 2^-92 of them: double loses all of it, an
// accumulator that gets the sum of each instruction nothing. Its error is that of l, in which the
// rounding of m c is.
TEST(AttentionOracle, KnowsTheErrorOfWhatATileThatCancelsLeaves) {
  AttentionSetup setup;
  setup.format = FormatId::e4m3;
  setup.queries = 1;
  setup.keys = 128;
  setup.d = 16;
  setup.scale = 1.0f;
  AttentionContract contract = testing::attention_contract_of(FormatId::e4m3);
  contract.p_shift = 8;
  Found found;
  for (int step = 0; step < 60; ++step) {
    Attention attention(setup);
    const auto put = [](Tensor& tensor, std::int64_t at, double value) {
      tensor.set_bits(at, encode(format(tensor.layout.format), value));
    };
    // A key's logit is 64 coarse + fine.
    const auto key = [&](std::int64_t j, double coarse, double fine, double value) {
      for (std::int64_t x = 0; x < setup.d; ++x)
        put(attention.k, j * setup.d + x, x == 0 ? coarse : x == 1 ? fine : 0);
      for (std::int64_t x = 0; x < setup.dv; ++x) put(attention.v, j * setup.dv + x, value);
    };
    for (std::int64_t x = 0; x < setup.d; ++x) put(attention.q, x, x == 0 ? 64 : 1);
    for (std::int64_t j = 0; j < setup.keys; ++j) key(j, -15, 0, 0);
    const double coarse = 9 + step % 6, fine = step / 6;
    key(0, coarse - 1, fine, -0.375);
    key(64, coarse, fine, -4.5 / 256);  // times 1
    key(65, coarse, fine - 4, 1);       // times exp(-4), which rounds to 4.5 / 256
    attention.run(contract, 90, static_cast<Errors>(step % 4));
    EXPECT_NEAR(to_double(format(FormatId::f32), attention.o.bits(0)) / -5.9e-29, 1, 0.05);
    judge(attention, contract, 90, found, "step " + std::to_string(step));
  }
  EXPECT_GT(found.worst_share, 0.5);
}

// Scores of +-2^60 are exact, their products with log2 e too, and the second key clears what the
// first one gave, however far f32 may be off between their maxima.
TEST(AttentionOracle, KnowsTheValueOfAKeyThatClearsAllBeforeIt) {
  AttentionSetup setup;
  setup.scores = Scores::equal;
  setup.queries = setup.d = setup.dv = 1;
  setup.keys = 2;
  setup.scale = 1;
  AttentionContract contract = testing::attention_contract_of();
  contract.tile = 1;
  for (const bool base_2 : {false, true}) {
    contract.logit_base = base_2 ? LogitBase::two : LogitBase::natural;
    Attention attention(setup);
    attention.q.set_bits(0, 0x5d80);  // 2^60
    attention.k.set_bits(0, 0xbf80);
    attention.k.set_bits(1, 0x3f80);
    attention.run(contract, 80);
    const AttentionOracle oracle(attention.problem, contract, 80);
    const std::uint64_t value = std::bit_cast<std::uint32_t>(
        static_cast<float>(to_double(format(FormatId::bf16), attention.v.bits(1))));
    EXPECT_EQ(attention.o.bits(0), value);
    EXPECT_TRUE(oracle.element(0, 0, value).pass);
    EXPECT_FALSE(oracle.element(0, 0, value + 1).pass);
  }
}

// Scores near 2^18 to 2^40, which f32 knows to 2^-6 or to 2^16: l is anything, but LSE is near the
// maximum, and never NaN.
TEST(AttentionOracle, BoundsLseWhereScoresAreTooLargeForTheirSum) {
  std::int64_t bounded = 0;
  for (int turn = 0; turn < 240; ++turn) {
    AttentionSetup setup;
    setup.seed = static_cast<std::uint64_t>(turn);
    setup.d = turn % 3 == 0 ? 64 : 16;
    setup.keys = 1 + turn * 37 % 200;
    setup.dv = 1;
    setup.queries = 4;
    setup.scale = turn % 4 == 0 ? 1 : 0.1f;
    setup.lse = turn % 5 < 2 ? LseKind::base_2 : LseKind::natural;
    setup.sink = turn % 7 == 3;
    setup.bias = turn % 11 == 5;
    AttentionContract contract = testing::attention_contract_of();
    contract.logit_base = static_cast<LogitBase>(turn / 2 % 5);
    contract.tile = 16;
    contract.row_sum = turn % 3 == 1 ? RowSum::rounded : RowSum::unrounded;
    contract.row_sum_lanes = turn % 2 == 0 ? 1 : 8;
    if (turn % 5 == 1) contract.parts = 3;
    if (turn % 6 == 2) contract.unit = Unit::fma_f32;
    if (turn % 8 == 6) contract.subnormals_flushed = true;
    Attention attention(setup);
    testing::scale(attention.q, 9 + turn % 12);
    testing::scale(attention.k, 9 + turn / 2 % 12);
    attention.run(contract, turn % 2 == 0 ? 80 : 90, static_cast<Errors>(turn % 4), setup.seed);
    const AttentionOracle oracle(attention.problem, contract, turn % 2 == 0 ? 80 : 90);
    for (std::int64_t i = 0; i < setup.queries; ++i) {
      const std::uint64_t code = attention.lse.bits(i);
      EXPECT_TRUE(oracle.element(1, i, code).pass) << turn;
      const ElementVerdict none = oracle.element(1, i, 0x7fc00000);
      if (none.pass) continue;
      ++bounded;
      EXPECT_TRUE(none.class_mismatch);
      EXPECT_FALSE(oracle.element(1, i, 0).pass) << turn;
    }
  }
  EXPECT_GT(bounded, 600) << "of 960; beyond 2^31 P may overflow or vanish";
}

// The only key is far below the sink. Rounding m c alone makes its P infinite, and the factor that
// should clear it NaN.
TEST(AttentionOracle, TakesAnythingWhereATileOverflowedThatIsClearedLater) {
  AttentionSetup setup;
  setup.queries = 128;
  setup.keys = setup.d = setup.dv = 1;
  setup.scale = 0.1f;
  setup.sink = true;
  const AttentionContract contract = testing::attention_contract_of();
  Attention attention(setup);
  attention.k.set_bits(0, 0xbf80);
  for (int i = 0; i < 128; ++i)
    attention.q.set_bits(i, encode(format(FormatId::bf16), std::ldexp(128 + i, 30)));
  attention.run(contract, 80);
  int nans = 0;
  for (int i = 0; i < 128; ++i)
    nans += std::isnan(to_double(format(FormatId::f32), attention.lse.bits(i)));
  EXPECT_GT(nans, 10);
  const AttentionOracle oracle(attention.problem, contract, 80);
  EXPECT_EQ(oracle.judge(0, attention.o, {}).failed, 0);
  EXPECT_EQ(oracle.judge(1, attention.lse, {}).failed, 0);
}

// All weights are 1 then, for all scores.
TEST(AttentionOracle, JudgesAScaleOfZero) {
  for (int turn = 0; turn < 20; ++turn) {
    AttentionSetup setup;
    setup.scale = 0.0f;
    setup.keys = turn % 2 == 0 ? 64 : 70;
    setup.values = Values::integers;
    setup.lse = turn % 4 < 2 ? LseKind::natural : LseKind::base_2;
    AttentionContract contract = testing::attention_contract_of();
    contract.logit_base = static_cast<LogitBase>(turn / 4);
    Attention attention(setup);
    attention.run(contract, 80, Errors::random, static_cast<std::uint64_t>(turn));
    const AttentionOracle oracle(attention.problem, contract, 80);
    for (const int output : {0, 1}) {
      const Tensor& got = output == 0 ? attention.o : attention.lse;
      EXPECT_EQ(oracle.judge(output, got, {}).failed, 0) << turn;
      EXPECT_FALSE(oracle.element(output, 3, 0x7fc00000).pass) << turn << " output " << output;
      EXPECT_FALSE(oracle.element(output, 3, got.bits(3) ^ 0x1000).pass) << turn;
    }
  }
}

TEST(AttentionOracle, DemandsBitEqualityWhereTheArithmeticIsExact) {
  AttentionSetup setup;
  setup.scores = Scores::equal;
  setup.values = Values::integers;
  setup.keys = 128;
  Attention attention(setup);
  attention.run(testing::attention_contract_of(), 90, Errors::high);
  const OutputVerdict verdict = judged(attention);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.exact_required, verdict.elements);
  for (std::int64_t index = 0; index < verdict.elements; ++index) {
    const std::uint64_t bits = attention.o.bits(index);
    attention.o.set_bits(index, bits ^ 1);
    EXPECT_EQ(judged(attention).failed, 1);
    attention.o.set_bits(index, bits);
    if (index == 3) break;
  }
}

// The same with scales: V's is multiplied to 1 / l, which is exact, and O to both, once rounded.
TEST(AttentionOracle, ScalesOfExactRowsCostOneRounding) {
  AttentionSetup setup;
  setup.scores = Scores::equal;
  setup.values = Values::integers;
  setup.keys = 128;
  setup.scales = true;
  Attention attention(setup);
  attention.v_scale.set_bits(0, 0x3f9e3779);
  attention.run(testing::attention_contract_of(), 90, Errors::high);
  OutputVerdict verdict = judged(attention);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.exact_required, verdict.elements);
  attention.v_scale.set_bits(0, 0x3f9e377d);
  verdict = judged(attention);
  EXPECT_EQ(verdict.failed, verdict.nonzero);
  EXPECT_GT(verdict.failed, 0);
}

// The kernel's rounded product of scales is the reference's too, so nothing else is let through.
TEST(AttentionOracle, ScalesAreRoundedInTheContractsOrder) {
  AttentionSetup setup;
  setup.scales = true;
  setup.queries = 20;
  Attention attention(setup);
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  attention.q_scale.set_bits(0, bits(1.1f));
  attention.k_scale.set_bits(0, bits(1.9f));
  const HeadScales scales = head_scales(attention.problem, {});
  EXPECT_EQ(scale_in_effect(0.3f, scales), 0.3f * (1.1f * 1.9f));
  EXPECT_NE(scale_in_effect(0.3f, scales), 0.3f * 1.1f * 1.9f);
  attention.run(testing::attention_contract_of(), 90);
  EXPECT_EQ(judged(attention).failed, 0);
  EXPECT_EQ(judged(attention, 1).failed, 0);
}

// A2: all other weights underflow.
TEST(AttentionOracle, OneHotRowsAreTheirValue) {
  AttentionSetup setup;
  setup.scores = Scores::one_hot;
  setup.scale = 1.0f;
  setup.keys = 130;
  setup.output = FormatId::bf16;
  Attention attention(setup);
  attention.run(testing::attention_contract_of(), 90);
  EXPECT_EQ(judged(attention).failed, 0);
  for (std::int64_t x = 0; x < setup.dv; ++x)
    EXPECT_EQ(attention.o.bits(x), attention.v.bits(65 * setup.dv + x));
  attention.o.set_bits(2, attention.o.bits(2) ^ 1);
  EXPECT_EQ(judged(attention).failed, 1);
}

// A6: rows that see no key.
TEST(AttentionOracle, MaskedRowsHaveZeroAndTheDeclaredLse) {
  AttentionSetup setup;
  setup.queries = 8;
  setup.keys = 3;
  setup.mask.causal = Causal::bottom_right;  // the first five queries see nothing
  Attention attention(setup);
  attention.run(testing::attention_contract_of(), 90);
  EXPECT_EQ(judged(attention).failed, 0);
  EXPECT_EQ(judged(attention, 1).failed, 0);
  EXPECT_EQ(attention.lse.bits(0), 0xff800000u);
  attention.lse.set_bits(0, 0x7fc00000u);
  attention.o.set_bits(0, 0x7fc00000u);
  EXPECT_EQ(judged(attention).class_mismatches, 1);
  EXPECT_EQ(judged(attention, 1).class_mismatches, 1);
}

TEST(AttentionOracle, DecidesSpecialValuesByClass) {
  AttentionSetup setup;
  setup.queries = 4;
  setup.keys = 6;
  setup.mask.causal = Causal::bottom_right;
  const std::uint64_t nan = 0x7fc0, infinity = 0x7f80;
  const auto with = [&](Tensor Attention::* tensor, std::int64_t at, std::uint64_t bits, int row,
                        std::uint32_t stored) {
    Attention attention(setup);
    (attention.*tensor).set_bits(at, bits);
    attention.run(testing::attention_contract_of(), 90);
    for (std::int64_t x = 0; x < setup.dv; ++x) attention.o.set_bits(row * setup.dv + x, stored);
    return judged(attention);
  };
  // NaN in a query's row makes that row NaN, and it alone.
  EXPECT_EQ(with(&Attention::q, 1 * 16 + 3, nan, 1, 0x7fc00000u).failed, 0);
  EXPECT_EQ(with(&Attention::q, 1 * 16 + 3, nan, 1, 0).failed, 8);
  // Or its LSE is infinite, or the row is not judged: a max() of NaN and a number is the number.
  Attention lost(setup);
  lost.q.set_bits(1 * 16 + 3, nan);
  lost.run(testing::attention_contract_of(), 90);
  for (std::int64_t x = 0; x < 8; ++x) lost.o.set_bits(1 * 8 + x, 0x7fc00000u);
  lost.lse.set_bits(1, 0x7fc00000u);
  const auto failed = [&](const AttentionContract& contract, int output) {
    const Tensor& got = output == 0 ? lost.o : lost.lse;
    return AttentionOracle(lost.problem, contract, 90).judge(output, got, {}).failed;
  };
  AttentionContract infinite = testing::attention_contract_of(), open = infinite;
  infinite.nan_lse = NanLse::minus_infinity;
  open.nan_rows_open = true;
  EXPECT_EQ(failed(infinite, 1), 1);
  lost.lse.set_bits(1, 0xff800000u);
  EXPECT_EQ(failed(infinite, 1), 0);
  lost.o.set_bits(1 * 8 + 3, 0);
  EXPECT_EQ(failed(infinite, 0), 1);
  EXPECT_EQ(failed(open, 0), 0);
  EXPECT_EQ(failed(open, 1), 0);
  lost.o.set_bits(2 * 8 + 3, 0);
  EXPECT_EQ(failed(open, 0), 1);
  // The last key is hidden from query 2.
  EXPECT_EQ(with(&Attention::k, 5 * 16, nan, 3, 0x7fc00000u).failed, 0);
  EXPECT_EQ(with(&Attention::k, 5 * 16, nan, 2, 0x7fc00000u).failed, 8);
  // +Inf in V where it is seen.
  Attention attention(setup);
  attention.v.set_bits(5 * 8 + 2, infinity);
  attention.run(testing::attention_contract_of(), 90);
  EXPECT_EQ(attention.o.bits(3 * 8 + 2), 0x7f800000u);
  EXPECT_EQ(judged(attention).failed, 0);
  attention.o.set_bits(3 * 8 + 2, 0);
  EXPECT_EQ(judged(attention).failed, 1);
}

// What broken kernels give away, at least (f32 outputs, standard deviation of the scores 1).
TEST(AttentionOracle, SeesFaultsOfTheSizeItClaims) {
  AttentionSetup setup;
  setup.queries = 2;
  setup.keys = 2048;
  setup.d = setup.dv = 64;
  const AttentionContract contract = testing::attention_contract_of();
  const auto rate = [&](testing::AttentionFaultSwitches faults) {
    Attention attention(setup);
    attention.run(contract, 90, Errors::random, 5, faults);
    const OutputVerdict verdict = judged(attention);
    return static_cast<double>(verdict.failed) / static_cast<double>(verdict.compared);
  };
  EXPECT_EQ(rate({}), 0);
  EXPECT_GE(rate({.dropped_key = 700}), 0.84);
  EXPECT_GE(rate({.shifted_value = 700}), 0.88);
  EXPECT_GE(rate({.scale_in_bf16 = false, .scores_in_bf16 = true}), 0.85);
  EXPECT_GE(rate({.louder_tile = 5}), 0.72);
  EXPECT_GE(rate({.normalization_off = true}), 0.74);
}

// The same with everything in 8 bits, and with the keys in parts.
TEST(AttentionOracle, SeesFaultsOfOtherKernelsAsWell) {
  AttentionSetup setup;
  setup.queries = 1;
  setup.keys = 2048;
  setup.d = setup.dv = 64;
  setup.scales = true;
  const auto rate = [&](const AttentionContract& contract, const AttentionContract& kept,
                        testing::AttentionFaultSwitches faults) {
    Attention attention(setup);
    attention.run(kept, 90, Errors::random, 5, faults);
    const OutputVerdict verdict =
        AttentionOracle(attention.problem, contract, 90).judge(0, attention.o, {});
    return static_cast<double>(verdict.failed) / static_cast<double>(verdict.compared);
  };
  AttentionContract parts = testing::attention_contract_of();
  parts.parts = 4;
  EXPECT_EQ(rate(parts, parts, {}), 0);
  EXPECT_GE(rate(parts, testing::attention_contract_of(), {}), 0.9);  // not cut
  EXPECT_GE(rate(parts, parts, {.dropped_key = 700}), 0.9);
  EXPECT_GE(rate(parts, parts, {.unscaled_parts = true}), 0.9);

  setup.format = FormatId::e4m3;
  AttentionContract narrow = testing::attention_contract_of(FormatId::e4m3);
  narrow.p_shift = 8;
  AttentionContract without_shift = narrow, other_format = narrow;
  without_shift.p_shift = 0;
  other_format.p = FormatId::e5m2;
  EXPECT_EQ(rate(narrow, narrow, {}), 0);
  EXPECT_GE(rate(narrow, without_shift, {}), 0.9);
  EXPECT_GE(rate(narrow, other_format, {}), 0.9);
  EXPECT_GE(rate(narrow, narrow, {.dropped_key = 700}), 0.9);
  EXPECT_GE(rate(narrow, narrow, {.scale_in_bf16 = true}), 0.9);
  EXPECT_GE(rate(narrow, narrow, {.louder_tile = 5}), 0.9);
}

TEST(AttentionOracle, NamesTheFault) {
  AttentionSetup setup;
  setup.keys = 200;
  setup.d = setup.dv = 16;
  setup.scores = Scores::rising;
  const AttentionContract contract = testing::attention_contract_of();
  const auto told = [&](int output, testing::AttentionFaultSwitches faults) {
    Attention attention(setup);
    attention.run(contract, 90, Errors::random, 5, faults);
    const AttentionOracle oracle(attention.problem, contract, 90);
    const Tensor& got = output == 0 ? attention.o : attention.lse;
    const OutputVerdict verdict = oracle.judge(output, got, {});
    EXPECT_GT(verdict.failed, 0);
    return oracle.explain(output, verdict.worst.index, got).faults.names;
  };
  EXPECT_THAT(told(0, {.no_rescale_o = true}),
              ::testing::Contains("O is not rescaled when the maximum rises"));
  EXPECT_THAT(told(1, {.no_rescale_l = true}),
              ::testing::Contains("l is not rescaled when the maximum rises"));
  setup.scores = Scores::normal;
  EXPECT_THAT(told(0, {.dropped_key = 199}),
              ::testing::Contains("the last visible key is missing"));
}

// Kernels that keep another contract than the one they are judged by.
TEST(AttentionOracle, NamesOtherTilesAndOrders) {
  AttentionSetup setup;
  setup.keys = 300;
  setup.d = setup.dv = 16;
  const AttentionContract contract = testing::attention_contract_of();
  ASSERT_EQ(contract.tile, 64);
  const auto told = [&](int output, const AttentionContract& kept) {
    Attention attention(setup);
    attention.run(kept, 90, Errors::random, 5);
    const AttentionOracle oracle(attention.problem, contract, 90);
    const Tensor& got = output == 0 ? attention.o : attention.lse;
    const OutputVerdict verdict = oracle.judge(output, got, {});
    EXPECT_GT(verdict.failed, 0);
    return oracle.explain(output, verdict.worst.index, got).faults.names;
  };
  using ::testing::AllOf;
  using ::testing::Contains;
  using ::testing::ElementsAre;
  using ::testing::Le;
  using ::testing::SizeIs;
  AttentionContract kept = contract;
  kept.order = kept.order == TileOrder::ascending ? TileOrder::descending : TileOrder::ascending;
  EXPECT_THAT(told(0, kept), ElementsAre("tiles of keys are taken from the other end"));
  kept = contract;
  for (const auto& [tile, words] :
       {std::pair(16, "tiles hold 16 keys"), std::pair(48, "tiles hold 48 keys"),
        std::pair(128, "tiles hold 128 keys")}) {
    kept.tile = tile;
    // Tiles whose maxima are nearly the same may stay beside it.
    EXPECT_THAT(told(0, kept), AllOf(Contains(words), SizeIs(Le(2))));
  }
  kept = contract;
  kept.masked_lse_is_negative = !kept.masked_lse_is_negative;
  setup.mask.causal = Causal::bottom_right;
  setup.keys = 3;
  EXPECT_THAT(told(1, kept), ElementsAre("LSE of a row that sees no key has the other sign"));
}

TEST(AttentionOracle, NamesExchangedOperands) {
  AttentionSetup setup;
  setup.queries = setup.keys = 40;
  setup.d = setup.dv = 16;
  const AttentionContract contract = testing::attention_contract_of();
  const auto told = [&](const auto& exchange) {
    Attention attention(setup), right(setup);
    exchange(attention.problem);
    attention.run(contract, 90, Errors::random, 5);
    const AttentionOracle oracle(right.problem, contract, 90);
    const OutputVerdict verdict = oracle.judge(0, attention.o, {});
    EXPECT_GT(verdict.failed, 0);
    return oracle.explain(0, verdict.worst.index, attention.o).faults.names;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(told([](AttentionProblem& x) { std::swap(x.k, x.v); }),
              ElementsAre("K and V are exchanged"));
  EXPECT_THAT(told([](AttentionProblem& x) { std::swap(x.q, x.k); }),
              ElementsAre("Q and K are exchanged"));
}

// Exact parts are joined exactly.
TEST(AttentionOracle, PartsOfEqualScoresAreBitExact) {
  AttentionSetup setup;
  setup.scores = Scores::equal;
  setup.values = Values::integers;
  setup.keys = 256;
  AttentionContract contract = testing::attention_contract_of();
  contract.parts = 3;  // of 128 keys, 128 and none
  Attention attention(setup);
  attention.run(contract, 90, Errors::high);
  const OutputVerdict verdict =
      AttentionOracle(attention.problem, contract, 90).judge(0, attention.o, {});
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.exact_required, verdict.elements);
}

// What a kernel does that is not cut into these parts rounds P otherwise.
TEST(AttentionOracle, SeesPartsThatAreJoinedOrCutWrongly) {
  AttentionSetup setup;
  setup.scores = Scores::rising;
  setup.keys = 300;
  setup.queries = 3;
  AttentionContract contract = testing::attention_contract_of();
  contract.parts = 3;
  const auto told = [&](const AttentionContract& kept, testing::AttentionFaultSwitches faults) {
    Attention attention(setup);
    attention.run(kept, 90, Errors::random, 5, faults);
    const AttentionOracle oracle(attention.problem, contract, 90);
    const OutputVerdict verdict = oracle.judge(0, attention.o, {});
    EXPECT_GT(verdict.failed, 0);
    return oracle.explain(0, verdict.worst.index, attention.o).faults.names;
  };
  using ::testing::Contains;
  EXPECT_THAT(told(contract, {.unscaled_parts = true}),
              Contains("parts are joined without regard to their maxima"));
  setup.scores = Scores::normal;
  EXPECT_THAT(told(testing::attention_contract_of(), {}),
              Contains("the keys are not cut into parts"));
}

TEST(AttentionOracle, NamesTheScaleThatIsWrong) {
  AttentionSetup setup;
  setup.heads = 4;
  setup.kv_heads = 2;
  setup.scales = true;
  const AttentionContract contract = testing::attention_contract_of();
  // What a kernel makes of other scales, judged by those of the problem.
  const auto told = [&](const auto& change) {
    Attention attention(setup);
    Attention changed(setup);
    const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
    for (Attention* either : {&attention, &changed}) {
      for (const std::int64_t h : {0, 1, 2, 3})
        either->q_scale.set_bits(h, bits(0.7f + 0.1f * static_cast<float>(h)));
      for (const std::int64_t h : {0, 1}) {
        either->k_scale.set_bits(h, bits(1.2f + 0.3f * static_cast<float>(h)));
        either->v_scale.set_bits(h, bits(0.6f + 0.7f * static_cast<float>(h)));
      }
    }
    change(changed);
    changed.run(contract, 90);
    const AttentionOracle oracle(attention.problem, contract, 90);
    const OutputVerdict verdict = oracle.judge(0, changed.o, {});
    EXPECT_GT(verdict.failed, 0);
    // The last head's last output.
    return oracle.explain(0, verdict.elements - 1, changed.o).faults.names;
  };
  using ::testing::Contains;
  EXPECT_THAT(told([](Attention& x) { x.v_scale.set_bits(1, 0x3f800000); }),
              Contains("the scale of V is left out"));
  EXPECT_THAT(told([](Attention& x) { x.q_scale.set_bits(3, x.q_scale.bits(0)); }),
              Contains("the scale of Q is head 0's"));
  EXPECT_THAT(told([](Attention& x) { std::swap(x.problem.k_scale, x.problem.v_scale); }),
              Contains("the scales of K and V are exchanged"));
  EXPECT_THAT(told([](Attention& x) { x.problem.q_scale = x.problem.k_scale = nullptr; }),
              Contains("the scales of Q and K are left out"));
}

TEST(AttentionOracle, TheVerdictDoesNotDependOnThreads) {
  AttentionSetup setup;
  setup.queries = 150;
  setup.heads = 2;
  setup.kv_heads = 2;
  Attention attention(setup);
  attention.run(testing::attention_contract_of(), 90);
  const AttentionOracle oracle(attention.problem, testing::attention_contract_of(), 90);
  JudgeOptions one, three;
  three.threads = 3;
  const OutputVerdict a = oracle.judge(0, attention.o, one),
                      b = oracle.judge(0, attention.o, three);
  EXPECT_EQ(a.worst.index, b.worst.index);
  EXPECT_EQ(a.worst_share, b.worst_share);
  EXPECT_EQ(a.histogram, b.histogram);
  EXPECT_EQ(a.median_bound_ulp, b.median_bound_ulp);
}

}  // namespace
}  // namespace plumbline
