// SPDX-License-Identifier: MIT
// The catalog against the published parameters of each format.
#include "oracles/formats/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

struct Row {
  FormatId id;
  int emin;
  int emax;
  std::uint64_t max_code;
  double max_finite;
  double min_normal;
  double min_positive;
};

// clang-format off
const Row kRows[] = {
    // format         emin   emax  max code               max finite                          min normal  min positive
    {FormatId::e2m1,      0,    2, 0x7,                   6.0,                                1.0,        0.5},
    {FormatId::e2m3,      0,    2, 0x1f,                  7.5,                                1.0,        0.125},
    {FormatId::e3m2,     -2,    4, 0x1f,                  28.0,                               0.25,       0x1p-4},
    {FormatId::e4m3,     -6,    8, 0x7e,                  448.0,                              0x1p-6,     0x1p-9},
    {FormatId::e5m2,    -14,   15, 0x7b,                  57344.0,                            0x1p-14,    0x1p-16},
    {FormatId::ue8m0,  -127,  127, 0xfe,                  0x1p127,                            0x1p-127,   0x1p-127},
    {FormatId::f16,     -14,   15, 0x7bff,                65504.0,                            0x1p-14,    0x1p-24},
    {FormatId::bf16,   -126,  127, 0x7f7f,                3.3895313892515355e38,              0x1p-126,   0x1p-133},
    {FormatId::tf32,   -126,  127, 0x7f7fe000,            (2 - 0x1p-10) * 0x1p127,            0x1p-126,   0x1p-136},
    {FormatId::f32,    -126,  127, 0x7f7fffff,            std::numeric_limits<float>::max(),  0x1p-126,   0x1p-149},
    {FormatId::f64,   -1022, 1023, 0x7fefffffffffffff,    std::numeric_limits<double>::max(), 0x1p-1022,  0x1p-1074},
};

// clang-format on

TEST(Format, ParametersAreThePublishedOnes) {
  for (const Row& row : kRows) {
    const Format& f = format(row.id);
    SCOPED_TRACE(f.name);
    EXPECT_EQ(f.emin(), row.emin);
    EXPECT_EQ(f.emax(), row.emax);
    EXPECT_EQ(f.max_finite(), row.max_code);
    EXPECT_EQ(to_double(f, f.max_finite()), row.max_finite);
    EXPECT_EQ(std::ldexp(1.0, f.emin()), row.min_normal);
    const std::uint64_t smallest =
        row.id == FormatId::ue8m0 ? 0 : std::uint64_t{1} << f.padding_bits;
    EXPECT_EQ(to_double(f, smallest), row.min_positive);
  }
}

TEST(Format, IntegersSpanTheirRange) {
  EXPECT_EQ(format(FormatId::s8).max_finite(), 127u);
  EXPECT_EQ(format(FormatId::u8).max_finite(), 255u);
  EXPECT_EQ(format(FormatId::s32).max_finite(), 0x7fffffffu);
  EXPECT_EQ(to_double(format(FormatId::s8), 0x80), -128.0);
  EXPECT_EQ(to_double(format(FormatId::u8), 0xff), 255.0);
  EXPECT_EQ(to_double(format(FormatId::s32), 0x80000000u), -2147483648.0);
  const Format& s64 = format(FormatId::s64);
  EXPECT_EQ(to_double(s64, std::uint64_t{1} << 63), -0x1p63);
  EXPECT_EQ(encode(s64, -5.0), ~std::uint64_t{4});
  EXPECT_EQ(encode(s64, 0x1p63), s64.max_finite());
  EXPECT_EQ(encode(s64, -0x1p64), std::uint64_t{1} << 63);
}

TEST(Format, EveryNameFindsItsFormatAndNoOtherDoes) {
  ASSERT_EQ(all_formats().size(), 15u);
  for (const Format& f : all_formats()) {
    ASSERT_TRUE(format_by_name(f.name).has_value()) << f.name;
    EXPECT_EQ(*format_by_name(f.name), f.id);
    EXPECT_EQ(&format(f.id), &f);
  }
  EXPECT_FALSE(format_by_name("fp8").has_value());
  EXPECT_FALSE(format_by_name("").has_value());
  EXPECT_FALSE(format_by_name("BF16").has_value());
}

// What NVIDIA's conversions and arithmetic return, tensor-core-numerics 1.1 and 4.1; for e2m1 and
// the integers, which have no NaN, what converting one gives.
TEST(Format, CanonicalNanIsWhatTheHardwareGives) {
  const std::pair<FormatId, std::uint64_t> rows[] = {
      {FormatId::e2m1, 0x7},       {FormatId::e2m3, 0x1f},   {FormatId::e3m2, 0x1f},
      {FormatId::e4m3, 0x7f},      {FormatId::e5m2, 0x7f},   {FormatId::ue8m0, 0xff},
      {FormatId::f16, 0x7fff},     {FormatId::bf16, 0x7fff}, {FormatId::tf32, 0x7fffffff},
      {FormatId::f32, 0x7fffffff}, {FormatId::s8, 0},        {FormatId::u8, 0},
      {FormatId::s32, 0},
  };
  for (const auto& [id, code] : rows) EXPECT_EQ(format(id).canonical_nan, code) << format(id).name;
}

TEST(Format, CanonicalNanDecodesAsNanWhereThereIsOne) {
  for (const Format& f : all_formats()) {
    EXPECT_EQ(decode(f, f.canonical_nan).cls == ValueClass::nan, f.has_nan()) << f.name;
  }
}

TEST(Format, CodeOneAboveTheLargestFiniteIsNotFinite) {
  for (const Format& f : all_formats()) {
    if (!f.has_nan()) continue;
    const Decoded next = decode(f, f.max_finite() + (std::uint64_t{1} << f.padding_bits));
    EXPECT_EQ(next.cls, f.has_infinity() ? ValueClass::infinite : ValueClass::nan) << f.name;
  }
}

}  // namespace
}  // namespace plumbline
