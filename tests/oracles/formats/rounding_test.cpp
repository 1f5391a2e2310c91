// SPDX-License-Identifier: MIT
// encode() against rounding by definition (number_set.h): every member of every 8- and 16-bit float
// format, every midpoint between two of them, and the doubles next to both, in every deterministic
// mode.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "oracles/base/numbers.h"
#include "oracles/formats/encode.h"
#include "tests/oracles/formats/number_set.h"

namespace plumbline {
namespace {

using test::PublishedFormat;

constexpr Rounding kDeterministic[] = {Rounding::nearest_even, Rounding::nearest_away,
                                       Rounding::toward_zero, Rounding::up, Rounding::down};

Unrounded exact(double x) {
  return {decode(format(FormatId::f64), std::bit_cast<std::uint64_t>(x)), false};
}

class RoundingByDefinition : public testing::TestWithParam<PublishedFormat> {
 protected:
  // Calls check(index, x) with points in [value(index), value(index + 1)), of both signs.
  template <typename Check>
  void for_each_point(const std::vector<double>& values, Check check) {
    for (std::size_t index = 0; index + 1 < values.size(); ++index) {
      const double lower = values[index];
      const double upper = values[index + 1];
      const double midpoint = lower + (upper - lower) / 2;
      for (const double x :
           {lower, std::nextafter(lower, kInfinity), std::nextafter(midpoint, 0.0), midpoint,
            std::nextafter(midpoint, kInfinity), std::nextafter(upper, 0.0)}) {
        check(index, x);
        check(index, -x);
      }
    }
  }
};

TEST_P(RoundingByDefinition, HoldsAtEveryMemberAndMidpointAndBesideThem) {
  const PublishedFormat& published = GetParam();
  const Format& f = format(*format_by_name(published.name));
  const std::vector<double> values = test::magnitudes_and_one_more(published);
  for_each_point(values, [&](std::size_t index, double x) {
    for (const Rounding rounding : kDeterministic) {
      for (const Overflow overflow : {Overflow::to_special, Overflow::saturate}) {
        const std::uint64_t expected =
            test::expected_code(published, values, index, x, rounding, overflow);
        const EncodeOptions options{rounding, overflow, 0};
        ASSERT_EQ(encode(f, x, options), expected)
            << f.name << " of " << x << " mode " << int(rounding);
        ASSERT_EQ(encode(f, exact(x), options), expected)
            << f.name << " of " << x << " mode " << int(rounding);
      }
    }
  });
}

TEST_P(RoundingByDefinition, StickyCountsAsALittleMore) {
  const PublishedFormat& published = GetParam();
  const Format& f = format(*format_by_name(published.name));
  const std::vector<double> values = test::magnitudes_and_one_more(published);
  for_each_point(values, [&](std::size_t index, double x) {
    Unrounded unrounded = exact(x);
    unrounded.sticky = true;
    // At a member or a midpoint a little more is already the next double's case; strictly between
    // them nothing changes.
    const double lower = values[index];
    const double midpoint = lower + (values[index + 1] - lower) / 2;
    const bool on_the_edge = std::fabs(x) == lower || std::fabs(x) == midpoint;
    const double same_case =
        on_the_edge ? std::nextafter(x, std::signbit(x) ? -kInfinity : kInfinity) : x;
    for (const Rounding rounding : kDeterministic) {
      const std::uint64_t expected =
          test::expected_code(published, values, index, same_case, rounding, Overflow::to_special);
      ASSERT_EQ(encode(f, unrounded, {rounding}), expected)
          << f.name << " of " << x << " mode " << int(rounding);
    }
  });
}

TEST_P(RoundingByDefinition, OverflowsFarBeyondTheEndAsAtTheEnd) {
  const PublishedFormat& published = GetParam();
  const Format& f = format(*format_by_name(published.name));
  const std::vector<double> values = test::magnitudes_and_one_more(published);
  const std::uint64_t max = static_cast<std::uint64_t>(published.finite_codes - 1);
  const bool to_nan = published.infinity == 0 && published.has_specials();
  const std::uint64_t special = !published.has_specials() ? max
                                : to_nan                  ? published.nan
                                                          : published.infinity;
  for (const double x :
       {values.back(), 2 * values.back(), 0x1p200, std::numeric_limits<double>::max()}) {
    const std::uint64_t negative_special = to_nan ? special : special | published.sign;
    EXPECT_EQ(encode(f, x, {Rounding::nearest_even}), special);
    EXPECT_EQ(encode(f, -x, {Rounding::nearest_even}), negative_special);
    EXPECT_EQ(encode(f, x, {Rounding::nearest_away}), special);
    EXPECT_EQ(encode(f, x, {Rounding::stochastic, Overflow::to_special, ~std::uint64_t{0}}),
              special);
    EXPECT_EQ(encode(f, x, {Rounding::up}), special);
    EXPECT_EQ(encode(f, -x, {Rounding::up}), max | published.sign);
    EXPECT_EQ(encode(f, x, {Rounding::down}), max);
    EXPECT_EQ(encode(f, -x, {Rounding::down}), negative_special);
    EXPECT_EQ(encode(f, x, {Rounding::toward_zero}), max);
    EXPECT_EQ(encode(f, -x, {Rounding::toward_zero}), max | published.sign);
    for (const Rounding rounding : kDeterministic) {
      EXPECT_EQ(encode(f, x, {rounding, Overflow::saturate}), max);
      EXPECT_EQ(encode(f, -x, {rounding, Overflow::saturate}), max | published.sign);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundingByDefinition, testing::ValuesIn(test::kPublished),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace plumbline
