// SPDX-License-Identifier: MIT
// How likely one output of attention leaves its bound under a fault: the figures of
// docs/detection.md, "What one output element shows". 2048 keys, d = 64, scores of deviation 1.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracles/reference/attention/fixture.h"

namespace plumbline {
namespace {

using namespace testing;

// Of the outputs of `draws` problems.
double power(const AttentionFaultSwitches& faults, FormatId output, int draws) {
  const AttentionContract contract = attention_contract_of();
  std::int64_t compared = 0, failed = 0;
  for (int draw = 0; draw < draws; ++draw) {
    AttentionSetup setup;
    setup.seed = static_cast<std::uint64_t>(1 + draw);
    setup.queries = 2;
    setup.keys = 2048;
    setup.d = setup.dv = 64;
    setup.output = output;
    if (faults.scale_in_bf16) setup.scale = 0.12f;  // 1/8 is a bf16 number
    Attention attention(setup);
    attention.run(contract, 90, Errors::random, setup.seed, faults);
    const OutputVerdict verdict =
        AttentionOracle(attention.problem, contract, 90).judge(0, attention.o, {});
    compared += verdict.compared;
    failed += verdict.failed;
  }
  return static_cast<double>(failed) / static_cast<double>(compared);
}

struct Row {
  const char* fault;
  AttentionFaultSwitches faults;
  double f32, bf16;  // published
};

TEST(AttentionPowerDeep, IsWhatIsPublished) {
  constexpr int kDraws = 12;
  const Row rows[] = {
      {"one key dropped", {.dropped_key = 700}, .84, .61},
      {"a key takes its neighbor's row of V", {.shifted_value = 700}, .88, .69},
      {"the scale rounded to bf16", {.scale_in_bf16 = true}, .83, .43},
      {"scores rounded to bf16", {.scores_in_bf16 = true}, .85, .51},
      {"a tile of keys times 1 + 2^-7", {.louder_tile = 5}, .72, .31},
      {"the result times 1 + 2^-9", {.normalization_off = true}, .74, .15},
  };
  for (const Row& row : rows) {
    const double f32 = power(row.faults, FormatId::f32, kDraws),
                 bf16 = power(row.faults, FormatId::bf16, kDraws);
    fmt::print("{:36}  {:5.3f} / {:5.3f}\n", row.fault, f32, bf16);
    EXPECT_GE(f32, 0.9 * row.f32) << row.fault;
    EXPECT_GE(bf16, 0.9 * row.bf16) << row.fault;
  }
  EXPECT_EQ(power({}, FormatId::f32, 2), 0);
  EXPECT_EQ(power({}, FormatId::bf16, 2), 0);
}

}  // namespace
}  // namespace plumbline
