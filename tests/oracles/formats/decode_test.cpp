// SPDX-License-Identifier: MIT
// Every code of every 8- and 16-bit format: its value, its order among the others, and its way
// back.
#include "oracles/formats/decode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/formats/encode.h"
#include "tests/oracles/formats/number_set.h"

namespace plumbline {
namespace {

std::uint64_t code_count(const Format& f) { return std::uint64_t{1} << f.storage_bits; }

// By way of the Decoded alone, as plain as can be.
double plain_value(const Decoded& decoded) {
  double magnitude = std::ldexp(static_cast<double>(decoded.significand), decoded.exponent);
  if (decoded.cls == ValueClass::infinite) magnitude = std::numeric_limits<double>::infinity();
  if (decoded.cls == ValueClass::nan) return std::numeric_limits<double>::quiet_NaN();
  return decoded.negative ? -magnitude : magnitude;
}

TEST(Decode, EveryFiniteCodeHasThePublishedValue) {
  for (const test::PublishedFormat& published : test::kPublished) {
    const Format& f = format(*format_by_name(published.name));
    const std::vector<double> values = test::magnitudes_and_one_more(published);
    for (int code = 0; code < published.finite_codes; ++code) {
      const double value = values[static_cast<std::size_t>(code)];
      ASSERT_EQ(to_double(f, static_cast<std::uint64_t>(code)), value) << f.name << " " << code;
      const double negated = to_double(f, static_cast<std::uint64_t>(code) | published.sign);
      ASSERT_EQ(negated, -value) << f.name << " " << code;
      ASSERT_TRUE(std::signbit(negated)) << f.name << " " << code;
    }
  }
}

TEST(Decode, ScaleCodesArePowersOfTwo) {
  const Format& f = format(FormatId::ue8m0);
  for (int code = 0; code < 255; ++code) {
    EXPECT_EQ(to_double(f, static_cast<std::uint64_t>(code)), std::ldexp(1.0, code - 127));
  }
  EXPECT_TRUE(std::isnan(to_double(f, 0xff)));
}

TEST(Decode, IntegerCodesAreTwosComplement) {
  for (int code = 0; code < 256; ++code) {
    const auto bits = static_cast<std::uint64_t>(code);
    EXPECT_EQ(to_double(format(FormatId::s8), bits), static_cast<std::int8_t>(code));
    EXPECT_EQ(to_double(format(FormatId::u8), bits), code);
  }
  EXPECT_EQ(to_double(format(FormatId::s32), 0xffffffffu), -1.0);
}

TEST(Decode, IsStrictlyMonotoneInTheCode) {
  for (const Format& f : all_formats()) {
    if (f.storage_bits > 16) continue;
    double previous = -1.0;
    for (std::uint64_t code = 0; code <= f.max_finite(); ++code) {
      const double value = to_double(f, code);
      ASSERT_GT(value, previous) << f.name << " " << code;
      previous = value;
    }
  }
}

TEST(Decode, ThenEncodeIsTheIdentityInEveryMode) {
  using enum Rounding;
  for (const Format& f : all_formats()) {
    if (f.storage_bits > 16) continue;
    const std::uint64_t code_mask = (std::uint64_t{1} << f.code_bits()) - 1;
    for (std::uint64_t code = 0; code < code_count(f); ++code) {
      for (const Rounding rounding :
           {nearest_even, nearest_away, toward_zero, up, down, stochastic}) {
        for (const Overflow overflow : {Overflow::to_special, Overflow::saturate}) {
          const Decoded decoded = decode(f, code);
          if (decoded.cls == ValueClass::infinite && overflow == Overflow::saturate) continue;
          const std::uint64_t expected =
              decoded.cls == ValueClass::nan ? f.canonical_nan : code & code_mask;
          const EncodeOptions options{rounding, overflow, 0};
          ASSERT_EQ(encode(f, Unrounded{decoded, false}, options), expected)
              << f.name << " " << code;
          ASSERT_EQ(encode(f, to_double(f, code), options), expected) << f.name << " " << code;
        }
      }
    }
  }
}

TEST(Decode, Tf32IgnoresTheLowThirteenBits) {
  const Format& tf32 = format(FormatId::tf32);
  EXPECT_EQ(to_double(tf32, 0x3f801fff), 1.0);
  EXPECT_EQ(to_double(tf32, 0xbf803fff), -1.0009765625);
  EXPECT_EQ(decode(tf32, 0x00001fff).cls, ValueClass::zero);
  EXPECT_EQ(decode(tf32, 0x7f800001).cls,
            ValueClass::infinite);  // a NaN by its low bit alone is read as Inf
  EXPECT_EQ(decode(tf32, 0x7f802000).cls, ValueClass::nan);
}

TEST(Decode, E2m1IgnoresTheUpperHalfOfTheByte) {
  EXPECT_EQ(to_double(format(FormatId::e2m1), 0xa5), 3.0);
  EXPECT_EQ(to_double(format(FormatId::e2m1), 0x5b), -1.5);
}

TEST(Decode, F32AndF64AreTheMachinesOwn) {
  Random random(7);
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t bits = random.next();
    const double as_f64 = std::bit_cast<double>(bits);
    const float as_f32 = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const double f64 = plain_value(decode(format(FormatId::f64), bits));
    const double f32 = plain_value(decode(format(FormatId::f32), bits & 0xffffffffu));
    ASSERT_TRUE(f64 == as_f64 || (std::isnan(f64) && std::isnan(as_f64))) << bits;
    ASSERT_TRUE(f32 == static_cast<double>(as_f32) || (std::isnan(f32) && std::isnan(as_f32)))
        << bits;
  }
}

// The fast paths against decode(), bit for bit, from storage that is not aligned.
TEST(Decode, InBulkGivesTheSameBitsAsOneByOne) {
  Random random(11);
  for (const Format& f : all_formats()) {
    const std::int64_t count = f.storage_bits == 8 ? 256 : 65536;
    const auto size = static_cast<std::size_t>(f.storage_bytes());
    std::vector<std::uint64_t> codes;
    std::vector<std::byte> storage(static_cast<std::size_t>(count) * size + 1);
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint64_t code = f.storage_bits <= 16 ? static_cast<std::uint64_t>(i) : random.next();
      if (f.storage_bits < 64) code &= (std::uint64_t{1} << f.storage_bits) - 1;
      codes.push_back(code);
      std::memcpy(storage.data() + 1 + static_cast<std::size_t>(i) * size, &code, size);
    }
    std::vector<double> doubles(codes.size());
    std::vector<float> floats(codes.size());
    to_double(f, storage.data() + 1, count, doubles.data());
    const bool fits_float = f.precision() <= 24;
    if (fits_float) to_float(f, storage.data() + 1, count, floats.data());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const double plain = plain_value(decode(f, codes[i]));
      const auto expected = std::bit_cast<std::uint64_t>(plain);
      ASSERT_EQ(std::bit_cast<std::uint64_t>(doubles[i]), expected) << f.name << " " << codes[i];
      ASSERT_EQ(std::bit_cast<std::uint64_t>(to_double(f, codes[i])), expected)
          << f.name << " " << codes[i];
      if (!fits_float) continue;
      const auto expected_float = std::bit_cast<std::uint32_t>(static_cast<float>(plain));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]), expected_float)
          << f.name << " " << codes[i];
    }
  }
}

}  // namespace
}  // namespace plumbline
