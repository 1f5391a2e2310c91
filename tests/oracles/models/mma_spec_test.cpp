// SPDX-License-Identifier: MIT
// mma_spec() where probes and golden data do not reach: integers, aliasing, and the kinds that have
// no vector path.
#include <array>

#include <gtest/gtest.h>

#include "tests/oracles/models/mma_cases.h"

namespace plumbline {
namespace {

using enum FormatId;

// Element (0, 0): c plus products of codes at the given k, all else zero.
std::uint32_t integer_element(FormatId a, FormatId b, bool saturate, std::uint32_t c,
                              std::initializer_list<std::array<std::uint32_t, 3>> k_a_b) {
  const MmaKind kind = integer_kind(a, b, 32, saturate).mma;
  Fragments in;
  for (const auto& [k, x, y] : k_a_b) {
    const std::uint32_t lane = k % 16 / 4;
    in.a[k / 16 * 2][lane] |= x << (k % 4 * 8);
    in.b[k / 16][lane] |= y << (k % 4 * 8);
  }
  in.c[0][0] = c;
  LaneRegister spec[4], best[4];
  mma_spec(kind, in.a, in.b, in.c, spec);
  mma(kind, in.a, in.b, in.c, best);
  EXPECT_EQ(std::memcmp(spec, best, sizeof spec), 0);
  return spec[0][0];
}

TEST(IntegerMma, WrapsWithoutSatfiniteAndClampsWithIt) {
  EXPECT_EQ(integer_element(s8, s8, false, 0x7fffffff, {{0, 1, 1}}), 0x80000000u);
  EXPECT_EQ(integer_element(s8, s8, true, 0x7fffffff, {{0, 1, 1}}), 0x7fffffffu);
  EXPECT_EQ(integer_element(s8, s8, false, 0x80000000, {{0, 1, 0xff}}), 0x7fffffffu);
  EXPECT_EQ(integer_element(s8, s8, true, 0x80000000, {{0, 1, 0xff}}), 0x80000000u);
}

TEST(IntegerMma, ReadsBytesAsTheirTypeSays) {
  EXPECT_EQ(integer_element(s8, s8, false, 0, {{0, 0x80, 0x80}}), 128u * 128u);
  EXPECT_EQ(integer_element(u8, u8, false, 0, {{0, 0xff, 0xff}}), 255u * 255u);
  EXPECT_EQ(integer_element(s8, u8, false, 0, {{5, 0x80, 0xff}}), 0u - 128u * 255u);
  EXPECT_EQ(integer_element(u8, s8, false, 0, {{31, 0xff, 0x80}}), 0u - 128u * 255u);
}

TEST(IntegerMma, AddsThirtyTwoLargestProducts) {
  const MmaKind kind = integer_kind(s8, s8, 32, false).mma;
  Fragments in;
  for (auto& reg : in.a) std::fill(std::begin(reg), std::end(reg), 0x80808080u);
  for (auto& reg : in.b) std::fill(std::begin(reg), std::end(reg), 0x80808080u);
  LaneRegister d[4];
  mma_spec(kind, in.a, in.b, in.c, d);
  for (const auto& reg : d) {
    for (const std::uint32_t word : reg) EXPECT_EQ(word, 0x00080000u);
  }
}

// Where hardware clamps, once or per internal step, is not documented; this is our reading: once.
TEST(IntegerMma, ClampsOnceAtTheEnd) {
  EXPECT_EQ(integer_element(s8, s8, true, 0x7fffffff, {{0, 1, 1}, {16, 1, 0xff}}), 0x7fffffffu);
}

TEST(MmaSpec, AcceptsTheAccumulatorAsDestination) {
  Random random(1);
  const MmaKind kind = float_kind(90, f16, f16, 16, f16).mma;
  Fragments in = random_fragments(kind, ValueMix::ordinary, random);
  LaneRegister apart[4];
  mma_spec(kind, in.a, in.b, in.c, apart);
  mma_spec(kind, in.a, in.b, in.c, in.c);
  const std::size_t bytes = sizeof(LaneRegister) * 2;
  EXPECT_EQ(std::memcmp(apart, in.c, bytes), 0);
}

// tf32 inputs and f16 results have no vector path; mma() must then be mma_spec().
TEST(Mma, FallsBackToTheSpecification) {
  Random random(2);
  for (const FragmentKind& kind :
       {float_kind(90, tf32, tf32, 8), float_kind(80, tf32, tf32, 4),
        float_kind(90, f16, f16, 16, f16), float_kind(89, e4m3, e5m2, 32, f16)}) {
    for (const ValueMix mix : kValueMixes) {
      const Fragments in = random_fragments(kind.mma, mix, random);
      LaneRegister spec[4] = {}, best[4] = {};
      EXPECT_FALSE(mma_fast(kind.mma, in.a, in.b, in.c, best));
      mma(kind.mma, in.a, in.b, in.c, best);
      mma_spec(kind.mma, in.a, in.b, in.c, spec);
      EXPECT_EQ(std::memcmp(spec, best, sizeof spec), 0) << kind.name;
    }
  }
}

TEST(Mma, ExistsForTheShapesOfTheIsaOnly) {
  const auto exists = [](int k, FormatId a, FormatId b, FormatId accumulator) {
    return mma_exists({{16, 8, k}, a, b, accumulator, false, {}});
  };
  EXPECT_TRUE(exists(16, bf16, bf16, f32));
  EXPECT_TRUE(exists(32, u8, s8, s32));
  EXPECT_FALSE(exists(32, bf16, bf16, f32));
  EXPECT_FALSE(exists(16, bf16, f16, f32));
  EXPECT_FALSE(exists(16, bf16, bf16, f16));
  EXPECT_FALSE(exists(16, bf16, bf16, s32));
  EXPECT_FALSE(exists(16, s8, s8, f32));
  EXPECT_FALSE(exists(8, e4m3, e4m3, f32));
  EXPECT_FALSE(mma_exists({{8, 8, 16}, bf16, bf16, f32, false, {}}));
}

// Elements do not depend on each other: each is the dot product of its row and column.
TEST(MmaSpec, IsOneDotProductPerElement) {
  Random random(3);
  const MmaKind kind = float_kind(80, bf16, bf16, 8).mma;
  const Fragments in = random_fragments(kind, ValueMix::raw, random);
  LaneRegister d[4];
  mma_spec(kind, in.a, in.b, in.c, d);
  std::vector<std::uint32_t> row(8), column(8);
  for (std::size_t k = 0; k < 8; ++k) {
    const int half = static_cast<int>(k % 2) * 16;
    row[k] = in.a[1][4 * 6 + k / 2] >> half & 0xffff;     // row 14
    column[k] = in.b[0][4 * 3 + k / 2] >> half & 0xffff;  // column 3
  }
  const Format& input = format(bf16);
  EXPECT_EQ(d[3][4 * 6 + 1], dot(kind.model, input, input, row, column, in.c[3][4 * 6 + 1]));
}

}  // namespace
}  // namespace plumbline
