// SPDX-License-Identifier: MIT
// Stochastic rounding: up in magnitude with probability equal to the discarded fraction, exactly.
#include <gtest/gtest.h>

#include <cmath>

#include "oracles/base/random.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

std::uint64_t stochastic(const Format& f, double x, std::uint64_t word) {
  return encode(f, x, {Rounding::stochastic, Overflow::to_special, word});
}

TEST(StochasticRounding, StepsUpForExactlyTheFractionOfAllWords) {
  const Format& bf16 = format(FormatId::bf16);
  const double x = 1.0 + 0x1p-7 * 0.375;  // 3/8 of the way from 1 to the next bf16
  const std::uint64_t boundary = std::uint64_t{3} << 61;
  EXPECT_EQ(stochastic(bf16, x, 0), 0x3f81u);
  EXPECT_EQ(stochastic(bf16, x, boundary - 1), 0x3f81u);
  EXPECT_EQ(stochastic(bf16, x, boundary), 0x3f80u);
  EXPECT_EQ(stochastic(bf16, x, ~std::uint64_t{0}), 0x3f80u);
  EXPECT_EQ(stochastic(bf16, -x, boundary - 1), 0xbf81u);
  EXPECT_EQ(stochastic(bf16, -x, boundary), 0xbf80u);
}

TEST(StochasticRounding, LeavesMembersAlone) {
  const Format& e4m3 = format(FormatId::e4m3);
  for (std::uint64_t code = 0; code <= e4m3.max_finite(); ++code) {
    EXPECT_EQ(stochastic(e4m3, to_double(e4m3, code), 0), code);
    EXPECT_EQ(stochastic(e4m3, to_double(e4m3, code), ~std::uint64_t{0}), code);
  }
}

TEST(StochasticRounding, WorksBelowTheSmallestNumberToo) {
  const Format& e5m2 = format(FormatId::e5m2);
  const double quarter = 0x1p-18;  // a quarter of 2^-16
  EXPECT_EQ(stochastic(e5m2, quarter, (std::uint64_t{1} << 62) - 1), 1u);
  EXPECT_EQ(stochastic(e5m2, quarter, std::uint64_t{1} << 62), 0u);
  EXPECT_EQ(stochastic(e5m2, 0x1p-80, 0), 1u);  // 2^-64 of the smallest number: one word in 2^64
  EXPECT_EQ(stochastic(e5m2, 0x1p-80, 1), 0u);
}

// n draws with probability p: the count is within 5 standard deviations, sqrt(n p (1-p)). The seed
// is fixed, so this cannot flicker; a wrong p by 0.01 would be 9 of them off.
TEST(StochasticRounding, FrequencyIsTheFractionOnRandomWords) {
  Random random(21);
  constexpr int kDraws = 200000;
  for (const FormatId id :
       {FormatId::e2m1, FormatId::e4m3, FormatId::e5m2, FormatId::f16, FormatId::bf16}) {
    const Format& f = format(id);
    for (const double p : {0.05, 0.25, 0.5, 0.9}) {
      const double lower = 2.0;
      const double upper = 2.0 + std::ldexp(1.0, 1 - f.mantissa_bits);
      const double x = lower + (upper - lower) * p;
      int up = 0;
      for (int i = 0; i < kDraws; ++i) {
        const double rounded = to_double(f, stochastic(f, x, random.next()));
        ASSERT_TRUE(rounded == lower || rounded == upper) << f.name;
        up += rounded == upper ? 1 : 0;
      }
      EXPECT_NEAR(up, kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p))) << f.name << " p=" << p;
    }
  }
}

TEST(StochasticRounding, IsMonotoneForOneWord) {
  Random random(23);
  const Format& e4m3 = format(FormatId::e4m3);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t word = random.next();
    double previous = 0.0;
    for (double x = 0x1p-11; x < 448.0; x *= 1.03) {
      const double rounded = to_double(e4m3, stochastic(e4m3, x, word));
      ASSERT_GE(rounded, previous);
      previous = rounded;
    }
  }
}

TEST(StochasticRounding, OverflowsWithTheFractionBeyondTheLargest) {
  const Format& e4m3 = format(FormatId::e4m3);  // 448, and 480 if the exponent had no end
  EXPECT_EQ(stochastic(e4m3, 456.0, std::uint64_t{1} << 62), 0x7eu);
  EXPECT_EQ(stochastic(e4m3, 456.0, (std::uint64_t{1} << 62) - 1), 0x7fu);
  EXPECT_EQ(stochastic(e4m3, 480.0, ~std::uint64_t{0}), 0x7fu);
  EXPECT_EQ(encode(e4m3, 1e9, {Rounding::stochastic, Overflow::saturate, 0}), 0x7eu);
}

}  // namespace
}  // namespace plumbline
