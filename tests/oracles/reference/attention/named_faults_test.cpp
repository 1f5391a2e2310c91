// SPDX-License-Identifier: MIT
// Faults of masks, scales and roundings: rows computed the wrong way, which must be named first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "oracles/base/numbers.h"
#include "tests/oracles/reference/attention/fixture.h"

namespace plumbline {
namespace {

using testing::Attention;
using testing::AttentionSetup;
using testing::Scores;

double rounded(const Format& to, double x, Rounding rounding = Rounding::nearest_even) {
  return to_double(to, encode(to, x, {.rounding = rounding}));
}

// A kernel of one tile in FP64, with places to go wrong.
struct Kernel {
  double hidden = -kInfinity;  // logit of a key that is not seen
  bool cap_after_mask = false;
  double first_maximum = -kInfinity;
  bool subtracts = true;
  bool padding_is_nan = false;
  bool cap_by_exponentials = false, caps_sink = false, sink_first = false;
  bool nan_row_is_empty = false;
  FormatId p = FormatId::bf16;
  Rounding rounding = Rounding::nearest_even;
  std::function<double(double)> scale = [](double x) { return x; };

  void run(Attention& attention) const {
    const AttentionProblem& problem = attention.problem;
    for (const HeadPlace& place : head_places(problem)) {
      const AttentionHead head = attention_head(problem, place);
      for (std::int64_t i = 0; i < head.queries; ++i) row(head, place, i, attention);
    }
  }

 private:
  double logit(const AttentionHead& head, std::int64_t i, std::int64_t j) const {
    const KeyRange seen = head.visible(i);
    const bool is_seen = j >= seen.first && j < seen.end;
    if (!is_seen && !cap_after_mask) return hidden;
    double score = 0;
    for (std::int64_t x = 0; x < head.d; ++x)
      score += double{head.q[static_cast<std::size_t>(i * head.d + x)]} *
               double{head.k[static_cast<std::size_t>(j * head.d + x)]};
    score = is_seen ? score * scale(double{head.scale}) : -kInfinity;
    if (head.softcap == 0) return score;
    const double cap = double{head.softcap};
    if (!cap_by_exponentials) return cap * std::tanh(score / cap);
    const auto e = double{static_cast<float>(std::exp(2 * score / cap))};
    return cap * (e - 1) / (e + 1);
  }

  void row(const AttentionHead& head, const HeadPlace& place, std::int64_t i,
           Attention& attention) const {
    std::vector<double> z, o(static_cast<std::size_t>(head.dv), 0);
    double maximum = first_maximum, sum = 0;
    for (std::int64_t j = 0; j < head.keys; ++j) {
      z.push_back(logit(head, i, j));
      maximum = std::max(maximum, z.back());
    }
    const double cap = double{head.softcap};
    double sink = head.has_sink ? double{head.sink} : -kInfinity;
    if (caps_sink) sink = cap * std::tanh(sink / cap);
    if (sink_first) maximum = std::max(maximum, sink);
    if (!subtracts) maximum = 0;
    if (head.has_sink) sum = std::exp(sink - maximum);
    for (std::int64_t j = 0; j < head.keys; ++j) {
      const double logit = z[static_cast<std::size_t>(j)];
      const auto weight = static_cast<double>(
          logit == -kInfinity ? 0.0f : static_cast<float>(std::exp(logit - maximum)));
      const double kept = std::fabs(weight) < 0x1p-126 ? 0 : weight;
      sum += kept;
      if (kept == 0) continue;
      for (std::size_t x = 0; x < o.size(); ++x)
        o[x] += rounded(format(p), kept, rounding) *
                double{head.v[static_cast<std::size_t>(j * head.dv) + x]};
    }
    if (padding_is_nan) std::ranges::fill(o, std::nan(""));
    const std::int64_t at =
        ((place.batch * attention.problem.heads() + place.head) * head.queries + i);
    const bool empty = nan_row_is_empty && maximum == -kInfinity;
    for (std::size_t x = 0; x < o.size(); ++x) {
      const Format& f = format(attention.problem.output);
      attention.o.set_bits(at * head.dv + static_cast<std::int64_t>(x),
                           encode(f, empty ? 0 : o[x] / sum));
    }
    attention.lse.set_bits(
        at, encode(format(FormatId::f32), empty ? -kInfinity : maximum + std::log(sum)));
  }
};

std::string told(const Kernel& kernel, Attention& attention, int output = 0) {
  kernel.run(attention);
  const AttentionContract contract = testing::attention_contract_of();
  const AttentionOracle oracle(attention.problem, contract, 90);
  const Tensor& got = output == 0 ? attention.o : attention.lse;
  const OutputVerdict verdict = oracle.judge(output, got, {});
  if (verdict.failed == 0) return "passed";
  const Explanation said = oracle.explain(output, verdict.worst.index, got);
  return said.faults.names.empty() ? "nothing" : said.faults.names[0];
}

std::string told(const Kernel& kernel, const AttentionSetup& setup, int output = 0) {
  Attention attention(setup);
  return told(kernel, attention, output);
}

AttentionSetup masked() {
  AttentionSetup setup;
  setup.queries = 40;
  setup.keys = 30;
  setup.mask.causal = Causal::bottom_right;  // ten rows see no key
  return setup;
}

TEST(AttentionNamesFaults, ARightKernelIsNotAccused) {
  EXPECT_EQ(told({}, AttentionSetup{.keys = 60}), "passed");
}

TEST(AttentionNamesFaults, FiniteMasks) {
  EXPECT_EQ(told({.hidden = -10000}, masked()),
            "hidden keys have a logit like -10000, not -infinity");
  EXPECT_EQ(told({.hidden = -10000}, masked(), 1),
            "hidden keys have a logit like -10000, not -infinity");
  EXPECT_EQ(told({.hidden = 0}, masked()), "hidden keys have a logit of 0, not -infinity");
}

TEST(AttentionNamesFaults, ASoftcapAfterTheMask) {
  AttentionSetup setup = masked();
  setup.softcap = 3;
  EXPECT_EQ(told({.cap_after_mask = true}, setup), "the softcap is applied after the mask");
  EXPECT_EQ(told({.cap_after_mask = true}, setup, 1), "the softcap is applied after the mask");
}

TEST(AttentionNamesFaults, MaximaThatStartWrong) {
  AttentionSetup setup{.keys = 60};
  setup.scores = Scores::far_negative;
  EXPECT_EQ(told({.first_maximum = 0}, setup), "the maximum starts at 0, not at -infinity");
}

TEST(AttentionNamesFaults, AMaximumThatIsNotSubtracted) {
  AttentionSetup setup{.keys = 60};
  setup.scores = Scores::hundreds;
  EXPECT_EQ(told({.subtracts = false}, setup), "the maximum is not subtracted");
}

TEST(AttentionNamesFaults, RescaleThresholds) {
  AttentionSetup setup;
  setup.keys = 200;
  Attention attention(setup);
  AttentionContract rescales = testing::attention_contract_of();
  rescales.tile = 16;
  AttentionContract keeps = rescales;
  keeps.rescale_threshold = 8;
  const auto named = [&](const AttentionContract& kernel, const AttentionContract& promised,
                         const testing::AttentionFaultSwitches& faults = {}) {
    attention.run(kernel, 80, testing::Errors::random, 1, faults);
    const AttentionOracle oracle(attention.problem, promised, 80);
    const OutputVerdict verdict = oracle.judge(0, attention.o, {});
    if (verdict.failed == 0) return std::string("passed");
    const Explanation said = oracle.explain(0, verdict.worst.index, attention.o);
    return said.faults.names.empty() ? std::string("nothing") : said.faults.names[0];
  };
  EXPECT_EQ(named(keeps, keeps), "passed");
  EXPECT_EQ(named(keeps, rescales),
            "the maximum is kept until it rises by more than 2^8 in p: rescale_threshold = 8");
  EXPECT_EQ(named(rescales, keeps), "every new maximum is taken, also below the threshold");
  EXPECT_EQ(named(keeps, keeps, {.takes_kept_maximum = true}),
            "a maximum that rises by less than the threshold is taken, and nothing is rescaled");
}

TEST(AttentionNamesFaults, OtherRoundingsOfP) {
  AttentionSetup setup{.keys = 60};
  EXPECT_EQ(told({.rounding = Rounding::toward_zero}, setup),
            "P is truncated instead of rounded to nearest");
  EXPECT_EQ(told({.p = FormatId::f16}, setup), "P is rounded to f16");
  EXPECT_EQ(told({.p = FormatId::e4m3}, setup), "P is rounded to e4m3");
}

TEST(AttentionNamesFaults, OtherScales) {
  AttentionSetup setup{.keys = 60};
  setup.scale = 0.1f;
  EXPECT_EQ(told({.scale = [](double) { return 0.25; }}, setup), "the scale is 1 / sqrt(d)");
  EXPECT_EQ(told({.scale = [](double) { return 4.0; }}, setup), "the scale is sqrt(d)");
  setup.d = 32;
  EXPECT_EQ(told({.scale = [](double) { return 1.0 / 32; }}, setup), "the scale is 1 / d");
  setup.scale = {};
  EXPECT_EQ(told({.scale = [](double) { return 1.0; }}, setup), "the scale is left out");
}

TEST(AttentionNamesFaults, ASoftcapThatOverflows) {
  AttentionSetup setup{.keys = 60};
  setup.scores = Scores::hundreds;
  setup.softcap = 1;
  const std::string fault = "the softcap's tanh is a quotient of exponentials, and they overflow";
  EXPECT_EQ(told({.cap_by_exponentials = true}, setup), fault);
  EXPECT_EQ(told({.cap_by_exponentials = true}, setup, 1), fault);
}

TEST(AttentionNamesFaults, ASinkThroughTheSoftcap) {
  AttentionSetup setup{.keys = 60};
  setup.sink = true;
  setup.softcap = 0.5f;
  EXPECT_EQ(told({}, setup), "passed");
  EXPECT_EQ(told({.caps_sink = true}, setup), "the sink goes through the softcap");
}

// Which reference P has decides how it is rounded.
TEST(AttentionNamesFaults, ASinkAheadOfTheKeys) {
  AttentionSetup setup{.keys = 60};
  setup.sink = true;
  EXPECT_EQ(told({.sink_first = true}, setup),
            "the maximum begins with the sink, which the contract takes last");
}

TEST(AttentionNamesFaults, ASinkThatShouldHaveComeAhead) {
  AttentionSetup setup{.keys = 60};
  setup.sink = true;
  Attention attention(setup);
  AttentionContract promised = testing::attention_contract_of();
  promised.sink_step = SinkStep::first;
  attention.run(promised, 80, testing::Errors::random, 1);
  EXPECT_EQ(AttentionOracle(attention.problem, promised, 80).judge(0, attention.o, {}).failed, 0);
  attention.run(testing::attention_contract_of(), 80, testing::Errors::random, 1);
  const AttentionOracle oracle(attention.problem, promised, 80);
  const OutputVerdict verdict = oracle.judge(0, attention.o, {});
  ASSERT_GT(verdict.failed, 0);
  const Explanation said = oracle.explain(0, verdict.worst.index, attention.o);
  ASSERT_FALSE(said.faults.names.empty());
  EXPECT_EQ(said.faults.names[0],
            "the sink comes after all keys, which the contract's maximum begins with");
}

// Its maximum stays -infinity, as where a comparison ignores NaN. Other rows are right.
TEST(AttentionNamesFaults, ARowOfNanTakenForAnEmptyOne) {
  Attention attention({.keys = 60});
  attention.q.set_bits(2 * 16, 0x7fc0);
  EXPECT_EQ(told({}, attention), "passed");
  for (const int output : {0, 1}) {
    EXPECT_EQ(told({.nan_row_is_empty = true}, attention, output),
              "a row whose logits are all NaN is taken for one that sees no key");
  }
}

TEST(AttentionNamesFaults, PaddedKeysTimesZero) {
  EXPECT_EQ(told({.padding_is_nan = true}, AttentionSetup{.keys = 60}),
            "values behind the last key are multiplied by 0, and they are NaN");
}

}  // namespace
}  // namespace plumbline
