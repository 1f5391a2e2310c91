// SPDX-License-Identifier: MIT
// Ranges of f32 hold what they say: every result of an operation on members is a member, in every
// class, and every order of a sum lies within its range.
#include "oracles/bounds/contract/f32_range.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/bounds/contract/attention.h"
#include "oracles/bounds/contract/rows.h"

namespace plumbline {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

float drawn(Random& random) {
  static constexpr std::array<float, 12> kSpecial = {
      0.0f,     -0.0f,     1.0f,      -1.0f,      kFloatInfinity, -kFloatInfinity,
      kLargest, -kLargest, 0x1p-149f, -0x1p-149f, 0x1p-126f,      0x1p127f};
  if (random.below(3) == 0) return kSpecial[random.below(kSpecial.size())];
  const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
  return std::isnan(x) ? 2.5f : x;
}

F32Range drawn_range(Random& random) {
  const float x = drawn(random), y = random.below(3) == 0 ? x : drawn(random);
  return {std::fmin(x, y), std::fmax(x, y), false};
}

// A member: an end, or something between.
float member(const F32Range& range, Random& random) {
  switch (random.below(4)) {
    case 0:
      return range.low;
    case 1:
      return range.high;
    case 2:
      if (range.contains(0)) return random.below(2) == 0 ? 0.0f : -0.0f;
      break;
    default:
      break;
  }
  const double t = random.unit();
  const double low = std::fmax(static_cast<double>(range.low), -3e38),
               high = std::fmin(static_cast<double>(range.high), 3e38);
  const auto between = static_cast<float>(low + t * (high - low));
  return range.contains(between) ? between : range.low;
}

TEST(F32Range, OperationsOnMembersAreMembers) {
  Random random(1);
  for (int round = 0; round < 200000; ++round) {
    const F32Range a = drawn_range(random), b = drawn_range(random), c = drawn_range(random);
    const float x = member(a, random), y = member(b, random), z = member(c, random);
    ASSERT_TRUE((a + b).contains(x + y)) << x << " + " << y;
    ASSERT_TRUE((a - b).contains(x - y)) << x << " - " << y;
    ASSERT_TRUE((a * b).contains(x * y)) << x << " * " << y;
    ASSERT_TRUE(fma(a, b, c).contains(std::fmaf(x, y, z))) << x << " " << y << " " << z;
    ASSERT_TRUE(sqrt(a).contains(std::sqrt(x))) << x;
    ASSERT_TRUE(y == 0 || (a / b).contains(x / y)) << x << " / " << y;
  }
}

// Of results; what was rounded up to 2^-126 may be gone too.
TEST(F32Range, FlushedRangesHoldFlushedMembers) {
  Random random(6);
  for (int round = 0; round < 100000; ++round) {
    F32Range a = drawn_range(random);
    if (round % 2 == 0) {
      const auto x = static_cast<float>(std::ldexp(random.unit() - 0.5, -124));
      const auto y = static_cast<float>(std::ldexp(random.unit() - 0.5, -124));
      a = {std::fmin(x, y), std::fmax(x, y), false};
    }
    const float x = member(a, random), size = std::fabs(x);
    const F32Range out = flushed(a);
    ASSERT_TRUE(size <= 0x1p-126f ? out.contains(0) : out.contains(x)) << x;
    ASSERT_TRUE(size != 0x1p-126f || out.contains(x)) << x;
    ASSERT_FALSE(std::fabs(out.low) < 0x1p-126f && out.low != 0);
    ASSERT_FALSE(std::fabs(out.high) < 0x1p-126f && out.high != 0);
  }
  EXPECT_EQ(flushed(F32Range::of(0x1p-127f)), F32Range::of(0));
  EXPECT_EQ(flushed(F32Range::of(-0x1.8p-126f)), F32Range::of(-0x1.8p-126f));
  EXPECT_EQ(flushed(F32Range::only_nan()), F32Range::only_nan());
}

TEST(F32Range, ApproximateQuotientsHaveEverySign) {
  Random random(7);
  for (int round = 0; round < 100000; ++round) {
    const float x = drawn(random), n = static_cast<float>(random.between(1, 1 << 24));
    const F32Range out = div_full(F32Range::of(x), F32Range::of(n));
    const double exact = static_cast<double>(x) / static_cast<double>(n);
    const double error = 1.4 * 0x1p-23 * (2 * random.unit() - 1);
    ASSERT_TRUE(out.contains(static_cast<float>(exact * (1 + error)))) << x << " " << n;
    if (x == 0 || std::isinf(x)) {
      ASSERT_EQ(out, F32Range::of(x));
    } else {
      const double more = exact * (1 + 0x1p-20) + std::copysign(0x1p-146, exact);
      ASSERT_FALSE(std::fabs(more) < 3e38 && out.contains(static_cast<float>(more))) << x;
    }
  }
}

TEST(F32Range, OperationsOnNumbersAreNumbers) {
  Random random(2);
  for (int round = 0; round < 100000; ++round) {
    const float x = drawn(random), y = drawn(random), z = drawn(random);
    const F32Range a = F32Range::of(x), b = F32Range::of(y), c = F32Range::of(z);
    ASSERT_EQ(a + b, F32Range::of(x + y));
    ASSERT_EQ(a * b, F32Range::of(x * y));
    ASSERT_EQ(fma(a, b, c), F32Range::of(std::fmaf(x, y, z))) << x << " " << y << " " << z;
    ASSERT_TRUE(y == 0 || a / b == F32Range::of(x / y));
  }
}

TEST(F32Range, NanStaysNan) {
  const F32Range nan = F32Range::only_nan(), one = F32Range::of(1);
  for (const F32Range& range : {nan + one, one - nan, nan * one, one / nan, fma(one, nan, one),
                                sqrt(nan), ex2_approx(nan), rsqrt_approx(nan), -nan}) {
    EXPECT_TRUE(range.nan);
    EXPECT_FALSE(range.has_numbers());
  }
}

TEST(F32Range, ApproximationsHoldTheirErrors) {
  Random random(3);
  for (int round = 0; round < 100000; ++round) {
    const auto x = static_cast<float>(300 * random.unit() - 200);
    const double error = (kEx2Error - 0x1p-24) * (2 * random.unit() - 1);  // and a rounding
    auto y = static_cast<float>(std::exp2(static_cast<double>(x)) * (1 + error));
    ASSERT_TRUE(ex2_approx(F32Range::of(x), false).contains(y)) << x;
    ASSERT_FALSE(ex2_approx(F32Range::of(x), false).contains(y * (1 + 0x1p-20f) + 0x1p-146f)) << x;
    const auto l = static_cast<float>(1 + 100 * random.unit());
    const double quotient = static_cast<double>(y) / static_cast<double>(l);
    const F32Range divided = div_full(F32Range::of(y), F32Range::of(l));
    const double off = (kDivFullError - 0x1p-24) * (2 * random.unit() - 1);  // and a rounding
    ASSERT_TRUE(divided.contains(static_cast<float>(quotient * (1 + off)))) << y << " " << l;
    ASSERT_FALSE(divided.contains(static_cast<float>(quotient * (1 + 0x1p-20) + 0x1p-146)));
    if (y < 0x1p-126f) y = 0;
    ASSERT_TRUE(ex2_approx(F32Range::of(x)).contains(y)) << x;
    const auto v = static_cast<float>(std::exp2(200 * random.unit() - 100));
    const double root = 1 / std::sqrt(static_cast<double>(v));
    ASSERT_TRUE(rsqrt_approx(F32Range::of(v)).contains(static_cast<float>(root)));
    ASSERT_FALSE(rsqrt_approx(F32Range::of(v)).contains(static_cast<float>(root * (1 + 0x1p-21))));
  }
  EXPECT_EQ(ex2_approx(F32Range::of(0)), F32Range::of(1));
  EXPECT_EQ(ex2_approx(F32Range::of(-kFloatInfinity)), F32Range::of(0));
  EXPECT_EQ(ex2_approx(F32Range::of(-kFloatInfinity), false), F32Range::of(0));
  EXPECT_EQ(div_full(F32Range::of(0), F32Range::of(3)), F32Range::of(0));
  EXPECT_EQ(rsqrt_approx(F32Range::of(0)), F32Range::of(kFloatInfinity));
  EXPECT_EQ(rsqrt_approx(F32Range::of(-0.0f)), F32Range::of(kFloatInfinity));
  EXPECT_EQ(rsqrt_approx(F32Range::of(kFloatInfinity)), F32Range::of(0));
}

// Any tree of additions: two random parts are joined at a time.
struct Node {
  float value;
  std::int64_t additions;
};

TEST(F32Sum, HoldsEveryOrder) {
  Random random(4);
  double closest = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto n = static_cast<std::size_t>(random.between(1, 60));
    const int kind = static_cast<int>(random.below(4));
    std::vector<Node> nodes;
    F32Sum sum;
    double exact = 0, magnitude = 0;
    for (std::size_t i = 0; i < n; ++i) {
      auto x = static_cast<float>(random.unit() + 0x1p-10);
      if (kind == 1)
        x = static_cast<float>(
            std::ldexp(random.unit() - 0.5, static_cast<int>(random.between(-30, 30))));
      if (kind == 2) x = static_cast<float>(random.between(-1000, 1000));
      if (kind == 3) x = static_cast<float>(std::ldexp(random.unit() - 0.5, -140));
      nodes.push_back({x, 0});
      sum.add(F32Range::of(x));
      exact += static_cast<double>(x);
      magnitude += std::fabs(static_cast<double>(x));
    }
    while (nodes.size() > 1) {
      const std::size_t i = random.below(nodes.size() - 1);
      const Node joined{nodes[i].value + nodes[i + 1].value,
                        1 + std::max(nodes[i].additions, nodes[i + 1].additions)};
      nodes[i] = joined;
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    const F32Range range = sum.range(nodes.front().additions);
    ASSERT_TRUE(range.contains(nodes.front().value)) << kind << " " << n;
    ASSERT_TRUE(kind < 2 || range.is_point()) << "integers of one size are exact";
    if (kind < 2 && n > 1) {
      closest = std::max(closest, std::fabs(static_cast<double>(nodes.front().value) - exact) /
                                      (static_cast<double>(range.high) - exact));
    }
  }
  EXPECT_GT(closest, 0.4) << "the bound is near";
}

// Terms and partial sums below 2^-126 are lost; multiples of it are not, and their sums are exact.
TEST(F32Sum, HoldsEveryOrderThatFlushes) {
  Random random(8);
  const auto kept = [](float x) { return std::fabs(x) < 0x1p-126f ? 0.0f : x; };
  for (int round = 0; round < 3000; ++round) {
    const bool coarse = round % 2 == 0;
    std::vector<Node> nodes;
    F32Sum sum;
    for (std::int64_t i = random.between(1, 60); i > 0; --i) {
      const double unit = random.unit() - (round % 4 < 2 ? 0.5 : 0);
      const double x = coarse ? std::round(unit * 100) * 0x1p-126 : std::ldexp(unit, -124);
      nodes.push_back({kept(static_cast<float>(x)), 0});
      sum.add(x, x);
    }
    while (nodes.size() > 1) {
      const std::size_t i = random.below(nodes.size() - 1);
      nodes[i] = {kept(nodes[i].value + nodes[i + 1].value),
                  1 + std::max(nodes[i].additions, nodes[i + 1].additions)};
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    const F32Range range = sum.range(nodes.front().additions + 1, true);
    ASSERT_TRUE(range.contains(nodes.front().value)) << round;
    ASSERT_TRUE(!coarse || range.is_point()) << round;
  }
}

TEST(F32Sum, KnowsSpecialTerms) {
  const auto of = [](std::vector<float> terms) {
    F32Sum sum;
    for (const float x : terms) sum.add(F32Range::of(x));
    return sum.range(4);
  };
  EXPECT_EQ(of({1, kFloatInfinity, 2}), F32Range::of(kFloatInfinity));
  EXPECT_EQ(of({1, -kFloatInfinity, 2}), F32Range::of(-kFloatInfinity));
  EXPECT_EQ(of({1, -kFloatInfinity, kFloatInfinity}), F32Range::only_nan());
  EXPECT_EQ(of({1, std::nanf(""), kFloatInfinity}), F32Range::only_nan());
  EXPECT_EQ(of({kLargest, kLargest}), F32Range::of(kFloatInfinity))
      << "both are positive: no way around";
  EXPECT_EQ(of({kLargest, kLargest, -kLargest}), F32Range::anything()) << "it depends on the order";
  EXPECT_EQ(of({}), F32Range::of(0));
}

TEST(RowContract, CountsAdditions) {
  RowContract contract;
  contract.lanes = 128;
  contract.vector = 8;
  contract.stripes = 32;
  EXPECT_EQ(contract.row_additions(1), 8 + 7);
  EXPECT_EQ(contract.row_additions(1024), 8 + 7);
  EXPECT_EQ(contract.row_additions(1025), 16 + 7);
  EXPECT_EQ(contract.column_additions(1), 2);
  EXPECT_EQ(contract.column_additions(32), 1 + 32);
  EXPECT_EQ(contract.column_additions(33), 2 + 32);
  contract.lanes = contract.vector = 1;
  EXPECT_EQ(contract.row_additions(9), 9);
}

}  // namespace
}  // namespace plumbline
