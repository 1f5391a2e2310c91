// SPDX-License-Identifier: MIT
// encode(): overflow thresholds, known conversions, integers and scales, and the fast path against
// the general one.
#include "oracles/formats/encode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"

namespace plumbline {
namespace {

constexpr EncodeOptions kSaturate{Rounding::nearest_even, Overflow::saturate, 0};

std::uint64_t encode(FormatId id, double x, const EncodeOptions& options = {}) {
  return plumbline::encode(format(id), x, options);
}

Unrounded exact(double x) {
  return {decode(format(FormatId::f64), std::bit_cast<std::uint64_t>(x)), false};
}

struct Threshold {
  FormatId id;
  double last_that_stays;  // rounds to the largest finite value
  std::uint64_t max;
  std::uint64_t beyond;  // what the next larger double gives
};

// clang-format off
const Threshold kThresholds[] = {
    {FormatId::e4m3, 464.0,                                            0x7e,       0x7f},  // the tie goes to even 448
    {FormatId::e5m2, std::nextafter(61440.0, 0),                       0x7b,       0x7c},  // the tie goes to Inf
    {FormatId::f16,  std::nextafter(65520.0, 0),                       0x7bff,     0x7c00},
    {FormatId::bf16, std::nextafter((2 - 0x1p-8) * 0x1p127, 0),        0x7f7f,     0x7f80},
    {FormatId::tf32, std::nextafter((2 - 0x1p-11) * 0x1p127, 0),       0x7f7fe000, 0x7f800000},
    {FormatId::f32,  std::nextafter((2 - 0x1p-24) * 0x1p127, 0),       0x7f7fffff, 0x7f800000},
};

// clang-format on

TEST(Encode, OverflowsExactlyAboveTheThreshold) {
  for (const Threshold& row : kThresholds) {
    SCOPED_TRACE(format(row.id).name);
    const double beyond = std::nextafter(row.last_that_stays, kInfinity);
    EXPECT_EQ(encode(row.id, row.last_that_stays), row.max);
    EXPECT_EQ(encode(row.id, beyond), row.beyond);
    EXPECT_EQ(encode(row.id, beyond, kSaturate), row.max);
    EXPECT_EQ(encode(row.id, kInfinity, kSaturate), row.max);
    EXPECT_EQ(encode(row.id, kInfinity), row.beyond);
  }
  EXPECT_EQ(encode(FormatId::e5m2, 61440.0), 0x7cu);
  EXPECT_EQ(encode(FormatId::f16, 65520.0), 0x7c00u);
  EXPECT_EQ(encode(FormatId::f64, kInfinity), 0x7ff0000000000000u);
  EXPECT_EQ(encode(FormatId::f64, -kInfinity, kSaturate), 0xffefffffffffffffu);
}

TEST(Encode, InfinityStaysInfinityInEveryMode) {
  for (const Rounding rounding :
       {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero, Rounding::up,
        Rounding::down, Rounding::stochastic}) {
    EXPECT_EQ(encode(FormatId::f16, kInfinity, {rounding}), 0x7c00u);
    EXPECT_EQ(encode(FormatId::f16, -kInfinity, {rounding}), 0xfc00u);
    EXPECT_EQ(encode(FormatId::e4m3, -kInfinity, {rounding}), 0x7fu);
    EXPECT_EQ(encode(FormatId::e2m1, -kInfinity, {rounding}), 0xfu);
  }
}

TEST(Encode, NanIsCanonicalForEverySignAndMode) {
  for (const Format& f : all_formats()) {
    for (const double nan : {kNan, -kNan}) {
      EXPECT_EQ(plumbline::encode(f, nan), f.canonical_nan) << f.name;
      EXPECT_EQ(plumbline::encode(f, nan, kSaturate), f.canonical_nan) << f.name;
      EXPECT_EQ(plumbline::encode(f, nan, {Rounding::up}), f.canonical_nan) << f.name;
      EXPECT_EQ(plumbline::encode(f, exact(nan)), f.canonical_nan) << f.name;
    }
  }
}

TEST(Encode, ZeroKeepsItsSignWhereThereIsOne) {
  for (const Format& f : all_formats()) {
    const bool signed_zero = f.has_sign && !f.is_integer;
    const std::uint64_t negative =
        signed_zero ? std::uint64_t{1} << (f.code_bits() - 1 + f.padding_bits) : 0;
    EXPECT_EQ(plumbline::encode(f, 0.0), 0u) << f.name;
    EXPECT_EQ(plumbline::encode(f, -0.0), negative) << f.name;
    EXPECT_EQ(plumbline::encode(f, exact(-0.0)), negative) << f.name;
  }
}

struct Conversion {
  std::uint32_t from_f32;
  std::uint32_t to;
};

// tensor-core-numerics 4.1: from the PTX manual and the fall-back code of the CUDA 13 headers.
constexpr Conversion kToBf16[] = {
    {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81}, {0x7f7f8000, 0x7f80},
    {0x7f7f7fff, 0x7f7f}, {0x7f800001, 0x7fff}, {0xffc00000, 0x7fff}, {0x80000000, 0x8000},
    {0x00008000, 0x0000}, {0x00018000, 0x0002}, {0x80008001, 0x8001},
};
constexpr Conversion kToE4m3[] = {
    {0x3f880000, 0x38}, {0x3f980000, 0x3a}, {0x41880000, 0x58}, {0x41980000, 0x5a},
    {0x43e00000, 0x7e}, {0x43e80000, 0x7e}, {0x4e6e6b28, 0x7e}, {0x7f800000, 0x7e},
    {0xff800000, 0xfe}, {0x7fc00000, 0x7f}, {0x3c800000, 0x08}, {0x3b000000, 0x01},
    {0x3a800000, 0x00}, {0x3a800001, 0x01}, {0x3b400000, 0x02}, {0x3ba00000, 0x02},
    {0xb9800000, 0x80}, {0x3e99999a, 0x2a},
};
constexpr Conversion kToE5m2[] = {
    {0x3f900000, 0x3c}, {0x3fb00000, 0x3e}, {0x47600000, 0x7b}, {0x47700000, 0x7b},
    {0x7f800000, 0x7b}, {0x7fc00000, 0x7f}, {0x38800000, 0x04}, {0x37800000, 0x01},
    {0x37000000, 0x00}, {0x37c00000, 0x02}, {0x38200000, 0x02}, {0xb5800000, 0x80},
    {0x3e99999a, 0x35},
};

void expect_conversions(FormatId id, std::span<const Conversion> conversions,
                        const EncodeOptions& options) {
  for (const Conversion& row : conversions) {
    const double x = to_double(format(FormatId::f32), row.from_f32);
    EXPECT_EQ(encode(id, x, options), row.to)
        << format(id).name << " from " << std::hex << row.from_f32;
  }
}

TEST(Encode, AgreesWithTheVectorsOfCvt) {
  expect_conversions(FormatId::bf16, kToBf16, {});
  expect_conversions(FormatId::e4m3, kToE4m3, kSaturate);
  expect_conversions(FormatId::e5m2, kToE5m2, kSaturate);
}

TEST(Encode, Tf32RoundsAwayOrToEvenAndClearsThePadding) {
  const double tie_to_even_down = 1.0 + 0x1p-11;
  EXPECT_EQ(encode(FormatId::tf32, tie_to_even_down, {Rounding::nearest_away}), 0x3f802000u);
  EXPECT_EQ(encode(FormatId::tf32, tie_to_even_down), 0x3f800000u);
  EXPECT_EQ(encode(FormatId::tf32, tie_to_even_down, {Rounding::toward_zero}), 0x3f800000u);
  EXPECT_EQ(encode(FormatId::tf32, -tie_to_even_down, {Rounding::down}), 0xbf802000u);
}

TEST(Encode, IntegersRoundClampAndTurnNanIntoZero) {
  EXPECT_EQ(encode(FormatId::s8, 126.5), 126u);
  EXPECT_EQ(encode(FormatId::s8, 127.5), 127u);
  EXPECT_EQ(encode(FormatId::s8, -128.5), 0x80u);
  EXPECT_EQ(encode(FormatId::s8, -1e300), 0x80u);
  EXPECT_EQ(encode(FormatId::s8, -0.5), 0u);
  EXPECT_EQ(encode(FormatId::s8, -0.5, {Rounding::down}), 0xffu);
  EXPECT_EQ(encode(FormatId::s8, -0.5, {Rounding::nearest_away}), 0xffu);
  EXPECT_EQ(encode(FormatId::s8, 2.5), 2u);
  EXPECT_EQ(encode(FormatId::s8, 3.5), 4u);
  EXPECT_EQ(encode(FormatId::u8, 255.4), 255u);
  EXPECT_EQ(encode(FormatId::u8, 256.0), 255u);
  EXPECT_EQ(encode(FormatId::u8, -3.0), 0u);
  EXPECT_EQ(encode(FormatId::u8, -kInfinity), 0u);
  EXPECT_EQ(encode(FormatId::s32, 2147483647.5), 0x7fffffffu);
  EXPECT_EQ(encode(FormatId::s32, -2147483648.0), 0x80000000u);
  EXPECT_EQ(encode(FormatId::s32, kInfinity), 0x7fffffffu);
  EXPECT_EQ(encode(FormatId::s32, kNan), 0u);
  EXPECT_EQ(
      plumbline::encode(format(FormatId::s8), Unrounded{{ValueClass::finite, false, 1, -1}, true}),
      1u);
}

TEST(Encode, ScalesTakeTheMagnitudeAndHaveNoZero) {
  const FormatId ue8m0 = FormatId::ue8m0;
  EXPECT_EQ(encode(ue8m0, 1.0), 127u);
  EXPECT_EQ(encode(ue8m0, -1.0), 127u);
  EXPECT_EQ(encode(ue8m0, 0.0), 0u);
  EXPECT_EQ(encode(ue8m0, 0x1p-1000, {Rounding::up}), 0u);
  EXPECT_EQ(encode(ue8m0, 1.999, {Rounding::toward_zero}), 127u);
  EXPECT_EQ(encode(ue8m0, 1.001, {Rounding::up}), 128u);
  EXPECT_EQ(encode(ue8m0, -1.001, {Rounding::up}), 128u);
  EXPECT_EQ(encode(ue8m0, 1.499), 127u);
  EXPECT_EQ(encode(ue8m0, 1.5), 128u);  // a tie: neither neighbor is even, the larger is taken
  EXPECT_EQ(encode(ue8m0, 3.0), 129u);
  EXPECT_EQ(encode(ue8m0, 0x1.8p127), 0xffu);
  EXPECT_EQ(encode(ue8m0, 0x1.8p127, kSaturate), 0xfeu);
  EXPECT_EQ(encode(ue8m0, 0x1.8p127, {Rounding::toward_zero}), 0xfeu);
  EXPECT_EQ(encode(ue8m0, kInfinity), 0xffu);
  EXPECT_EQ(encode(ue8m0, kInfinity, kSaturate), 0xfeu);
}

TEST(Encode, RoundsOnceNotThroughF32) {
  // Just above the tie between two bf16 values, by less than f32 can tell: once up, twice down to
  // even.
  const double x = 1.0 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(encode(FormatId::bf16, x), 0x3f81u);
  EXPECT_EQ(encode(FormatId::bf16, static_cast<double>(static_cast<float>(x))), 0x3f80u);
}

TEST(Encode, UsesAllSixtyFourBitsOfTheSignificand) {
  const Format& f64 = format(FormatId::f64);
  const std::uint64_t one_and_half_ulp = (std::uint64_t{1} << 63) | (std::uint64_t{1} << 10);
  const Unrounded tie{{ValueClass::finite, false, one_and_half_ulp, -63}, false};
  EXPECT_EQ(plumbline::encode(f64, tie), std::bit_cast<std::uint64_t>(1.0));
  const Unrounded above{{ValueClass::finite, false, one_and_half_ulp, -63}, true};
  EXPECT_EQ(plumbline::encode(f64, above), std::bit_cast<std::uint64_t>(std::nextafter(1.0, 2.0)));
  const Unrounded all_ones{{ValueClass::finite, true, ~std::uint64_t{0}, -64}, true};
  EXPECT_EQ(plumbline::encode(f64, all_ones), std::bit_cast<std::uint64_t>(-1.0));
}

TEST(Encode, ZeroWithStickyIsATinyNonZeroValue) {
  for (const Format& f : all_formats()) {
    if (f.specials == Specials::scale_nan) continue;
    const Unrounded tiny{{ValueClass::zero, false, 0, 0}, true};
    EXPECT_EQ(plumbline::encode(f, tiny), 0u) << f.name;
    EXPECT_EQ(plumbline::encode(f, tiny, {Rounding::up}), std::uint64_t{1} << f.padding_bits)
        << f.name;
    EXPECT_EQ(plumbline::encode(f, tiny, {Rounding::down}), 0u) << f.name;
  }
}

// The significand slides down past the last bit of the format, by more than its own length in the
// end.
TEST(Encode, FarBelowTheLastBitOnlyTheDirectionCounts) {
  const Format& e4m3 = format(FormatId::e4m3);  // the smallest number is 2^-9
  for (const std::uint64_t significand :
       {std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 1, ~std::uint64_t{0}}) {
    for (int shift = 64; shift <= 200; ++shift) {
      const Unrounded value{{ValueClass::finite, false, significand, -9 - shift}, false};
      SCOPED_TRACE(shift);
      // With shift 64 the value is in [1/2, 1) of the smallest number; below, it is less than half.
      const bool above_half = shift == 64 && significand > std::uint64_t{1} << 63;
      EXPECT_EQ(plumbline::encode(e4m3, value), above_half ? 1u : 0u);
      EXPECT_EQ(plumbline::encode(e4m3, value, {Rounding::nearest_away}), shift == 64 ? 1u : 0u);
      EXPECT_EQ(plumbline::encode(e4m3, value, {Rounding::up}), 1u);
      EXPECT_EQ(plumbline::encode(e4m3, value, {Rounding::down}), 0u);
      // The discarded fraction is significand / 2^shift, cut to 64 bits.
      const std::uint64_t fraction = shift < 128 ? significand >> (shift - 64) : 0;
      const EncodeOptions just_enough{Rounding::stochastic, Overflow::to_special, fraction - 1};
      const EncodeOptions too_much{Rounding::stochastic, Overflow::to_special, fraction};
      if (fraction != 0) {
        EXPECT_EQ(plumbline::encode(e4m3, value, just_enough), 1u);
      }
      EXPECT_EQ(plumbline::encode(e4m3, value, too_much), 0u);
    }
  }
}

TEST(Encode, BitsLostBehindTheFractionStillBreakTies) {
  const Format& e4m3 = format(FormatId::e4m3);
  // A full significand whose upper half ends on a tie of e4m3's smallest number: 2^-10 and
  // something.
  for (int below = 1; below < 64; ++below) {
    const std::uint64_t tie = std::uint64_t{1} << 63;
    const Unrounded exact_tie{{ValueClass::finite, false, tie, -10 - 63}, false};
    const Unrounded above{{ValueClass::finite, false, tie | tie >> below, -10 - 63}, false};
    EXPECT_EQ(plumbline::encode(e4m3, exact_tie), 0u);
    EXPECT_EQ(plumbline::encode(e4m3, above), 1u);
  }
}

TEST(EncodeDeath, StickyBelowACoarseSignificandIsABug) {
  const Unrounded undecidable{{ValueClass::finite, false, 1, 0}, true};
  EXPECT_DEATH(static_cast<void>(plumbline::encode(format(FormatId::f32), undecidable)), "sticky");
}

// The machine's own conversion, an independent implementation for f32.
TEST(Encode, F32FromDoubleIsTheMachinesOwn) {
  Random random(3);
  for (int i = 0; i < 500000; ++i) {
    const std::uint64_t bits = random.next();
    // Half of them with an exponent near f32's range, subnormals and overflow included.
    const std::uint64_t field = static_cast<std::uint64_t>(random.between(1023 - 160, 1023 + 130));
    const bool near = (i & 1) != 0;
    const double x =
        std::bit_cast<double>(near ? (bits & 0x800fffffffffffffu) | field << 52 : bits);
    if (std::isnan(x)) continue;
    const auto machine = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    ASSERT_EQ(encode(FormatId::f32, x), machine) << x;
    ASSERT_EQ(plumbline::encode(format(FormatId::f32), exact(x)), machine) << x;
  }
}

// Doubles that stress rounding to this format: exponents around its range, and often a tail of
// zeros or ones behind the bits it keeps, so that ties and near-ties are common.
double stressful_double(const Format& f, Random& random) {
  const int kept = static_cast<int>(random.between(f.mantissa_bits, f.mantissa_bits + 2));
  const std::uint64_t tail = kept >= 52 ? 0 : (std::uint64_t{1} << (52 - kept)) - 1;
  std::uint64_t mantissa = random.next() >> 12;
  switch (random.below(4)) {
    case 0:
      mantissa &= ~tail;
      break;
    case 1:
      mantissa |= tail;
      break;
    case 2:
      mantissa = (mantissa & ~tail) | 1;
      break;
    default:
      break;
  }
  const int low = std::max(f.emin() - f.mantissa_bits - 3, -1022);
  const int exponent = static_cast<int>(random.between(low, std::min(f.emax() + 2, 1023)));
  const std::uint64_t sign = random.next() & (std::uint64_t{1} << 63);
  return std::bit_cast<double>(sign | static_cast<std::uint64_t>(exponent + 1023) << 52 | mantissa);
}

TEST(Encode, FastPathFromDoubleEqualsTheGeneralPath) {
  Random random(5);
  for (const Format& f : all_formats()) {
    for (int i = 0; i < 200000; ++i) {
      const double x =
          (i & 7) == 0 ? std::bit_cast<double>(random.next()) : stressful_double(f, random);
      for (const Overflow overflow : {Overflow::to_special, Overflow::saturate}) {
        const EncodeOptions options{Rounding::nearest_even, overflow, 0};
        ASSERT_EQ(plumbline::encode(f, x, options), plumbline::encode(f, exact(x), options))
            << f.name << " " << x;
      }
    }
  }
}

TEST(Encode, IsMonotoneInEveryMode) {
  Random random(9);
  for (const Format& f : all_formats()) {
    if (f.specials == Specials::scale_nan) continue;  // drops the sign
    for (int i = 0; i < 40000; ++i) {
      double low = stressful_double(f, random);
      double high = (i & 1) != 0 ? std::nextafter(low, kInfinity) : stressful_double(f, random);
      if (high < low) std::swap(low, high);
      const std::uint64_t word = random.next();
      for (const Rounding rounding :
           {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero, Rounding::up,
            Rounding::down, Rounding::stochastic}) {
        if (rounding == Rounding::stochastic && std::signbit(low) != std::signbit(high)) continue;
        const EncodeOptions options{rounding, Overflow::saturate, word};
        const double rounded_low = to_double(f, plumbline::encode(f, low, options));
        const double rounded_high = to_double(f, plumbline::encode(f, high, options));
        ASSERT_LE(rounded_low, rounded_high)
            << f.name << " " << low << " " << high << " mode " << int(rounding);
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
