// SPDX-License-Identifier: MIT
// A node whose roundings are moved at random: by how much they move it, on average and about that,
// follows from where its terms lie.
#include "oracles/models/random_node.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "oracles/models/generation.h"
#include "tests/oracles/models/mma_cases.h"

namespace plumbline {
namespace {

constexpr int kDraws = 4000;
// Of a mean of draws that differ by at most two units, five deviations.
constexpr double kChance = 5.0 / 63;

std::vector<Decoded> decoded(const Format& f, const std::vector<double>& values) {
  std::vector<Decoded> out;
  for (const double value : values) out.push_back(decode(f, encode(f, value)));
  return out;
}

struct Mean {
  double mean = 0, low = 0, high = 0;
};

// c + sum of a * 1 on a Hopper node for bf16 (F = 25, 24 bits out), over many draws.
Mean mean_of(const std::vector<double>& a, float c, bool centered, FormatId id = FormatId::bf16,
             int sm = 90) {
  const Format& f = format(id);
  const DotModel model = *dot_model(sm, Instruction::mma_sync, id, id, FormatId::f32);
  const std::vector<Decoded> x = decoded(f, a);
  const std::vector<Decoded> y = decoded(f, std::vector<double>(a.size(), 1.0));
  Mean out{0, HUGE_VAL, -HUGE_VAL};
  for (int draw = 0; draw < kDraws; ++draw) {
    NodeNoise noise{Random(static_cast<std::uint64_t>(draw)), centered};
    const double d = std::bit_cast<float>(
        dot_randomly(model, f, f, x, y, std::bit_cast<std::uint32_t>(c), noise));
    out.mean += d / kDraws;
    out.low = std::min(out.low, d);
    out.high = std::max(out.high, d);
  }
  return out;
}

// A quarter of a unit of the result is the last bit that the alignment keeps beside terms from 1 to
// 2: only the conversion rounds, and goes a unit below one time in four.
TEST(RandomNode, TheConversionKeepsItsBiasOfHalfAUnit) {
  const double unit = 0x1p-23;
  EXPECT_NEAR((mean_of({0.25 * unit}, 1.5, false).mean - 1.5) / unit, 0.25 - 0.5, kChance);
  EXPECT_NEAR((mean_of({0.25 * unit}, 1.5, true).mean - 1.5) / unit, 0.25, kChance);
  // Below 1 units are half as large.
  EXPECT_NEAR((mean_of({0.25 * unit}, 1, false).mean - 1) / unit, -0.25 / 2, kChance);
}

// Eight addends of 1.25 of that last bit. Cut, each is one of it, or none one time in four: six of
// eight on average, and 8 - B with B binomial. The conversion is exact where 4 divides that, else
// half a unit short.
TEST(RandomNode, CutAddendsKeepTheirBiasToo) {
  const double unit = 0x1p-23,
               chance = std::pow(0.75, 8) + 70 * std::pow(0.75 * 0.25, 4) + std::pow(0.25, 8);
  const std::vector<double> eight(8, 1.25 * 0x1p-25);
  EXPECT_NEAR((mean_of(eight, 1.5, false).mean - 1.5) / unit, 6 / 4.0 - 0.5 * (1 - chance),
              kChance);
  EXPECT_NEAR((mean_of(eight, 1.5, true).mean - 1.5) / unit, 8 * 1.25 / 4, kChance);
}

TEST(RandomNode, WhatIsExactIsTheNodesOwn) {
  for (const FormatId id : {FormatId::bf16, FormatId::e4m3}) {
    for (const int sm : {89, 90}) {
      const Mean mean = mean_of({1, 2, -0.5, 16, 0.125}, 3, false, id, sm);
      EXPECT_EQ(mean.low, 21.625);
      EXPECT_EQ(mean.high, 21.625);
    }
  }
}

// Ada keeps 1 + 13 bits in FP8: c is cut at 2^-13, an eighth of the time up, and the sum from 2 to
// 4 at 2^-12.
TEST(RandomNode, ShortAccumulatorsAreRoundedAtTheirOwnLastBit) {
  const double last = 0x1p-12;
  const Mean moved = mean_of({1.5}, 1.5F + 0x1p-16F, true, FormatId::e4m3, 89);
  EXPECT_NEAR((moved.mean - 3) / last, 0x1p-16 / last, kChance / 2);
  EXPECT_EQ(moved.low, 3);
  EXPECT_EQ(moved.high, 3 + last);
}

TEST(RandomMma, EveryOutputHasAStreamOfItsOwnAndTheSeedDecidesAll) {
  const MmaKind kind = {
      {16, 8, 16},
      FormatId::bf16,
      FormatId::bf16,
      FormatId::f32,
      false,
      *dot_model(90, Instruction::mma_sync, FormatId::bf16, FormatId::bf16, FormatId::f32)};
  Fragments in;
  for (auto& reg : in.a) std::fill(std::begin(reg), std::end(reg), 0x3f813f81u);
  for (auto& reg : in.b) std::fill(std::begin(reg), std::end(reg), 0x3e553e55u);
  for (auto& reg : in.c) std::fill(std::begin(reg), std::end(reg), 0x4b000001u);
  LaneRegister one[4], again[4], other[4];
  mma_randomly(kind, in.a, in.b, in.c, one, {Random(1)});
  mma_randomly(kind, in.a, in.b, in.c, again, {Random(1)});
  mma_randomly(kind, in.a, in.b, in.c, other, {Random(2)});
  EXPECT_EQ(std::memcmp(one, again, sizeof one), 0);
  EXPECT_NE(std::memcmp(one, other, sizeof one), 0);
  int different = 0;
  for (const auto& reg : one)
    for (const std::uint32_t word : reg) different += word != one[0][0];
  EXPECT_GT(different, 0);
}

}  // namespace
}  // namespace plumbline
