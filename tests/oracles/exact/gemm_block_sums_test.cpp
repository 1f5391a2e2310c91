// SPDX-License-Identifier: MIT
// Sums with block scales against exact arithmetic on every element: bounds never violated, claims
// of exactness exact, the same bits on any number of threads.
#include "oracles/exact/gemm_block_sums.h"
#include "oracles/exact/dyadic.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "tests/oracles/exact/test_data.h"

namespace plumbline {
namespace {

enum class Scales { powers, random, wide, tiny, special };

constexpr Scales kScales[] = {Scales::powers, Scales::random, Scales::wide, Scales::tiny,
                              Scales::special};

float draw_scale(Scales kind, Random& random) {
  const double x = normal_value(random);
  switch (kind) {
    case Scales::powers:
      return std::ldexp(1.0f, static_cast<int>(random.between(-12, 12)));
    case Scales::random:
      return random.below(9) == 0 ? 0.0f : static_cast<float>(x);
    case Scales::wide:
      return static_cast<float>(std::ldexp(x, static_cast<int>(random.between(-60, 60))));
    case Scales::tiny:
      return static_cast<float>(std::ldexp(x, static_cast<int>(random.between(-90, -60))));
    case Scales::special: {
      const float choices[] = {0,
                               std::numeric_limits<float>::infinity(),
                               std::nanf(""),
                               0x1p100f,
                               -0x1p90f,
                               1,
                               0x1p-149f,
                               -1.7f};
      return choices[random.below(std::size(choices))];
    }
  }
  return 1;
}

BlockScales draw_scales(Scales kind, std::int64_t m, std::int64_t n, std::int64_t k,
                        std::int64_t depth, std::uint64_t seed) {
  Random random(seed);
  BlockScales out;
  out.depth = depth;
  out.blocks = (k + depth - 1) / depth;
  out.m = m;
  out.n = n;
  for (std::int64_t i = 0; i < out.blocks * m; ++i) out.a.push_back(draw_scale(kind, random));
  for (std::int64_t j = 0; j < out.blocks * n; ++j) out.b.push_back(draw_scale(kind, random));
  return out;
}

struct Tally {
  std::int64_t elements = 0, exact = 0;
};

void check(const GemmOperands& operands, const BlockScales& scales, Tally& tally) {
  const SumEnclosures sums = gemm_block_sums(operands, scales, 2);
  for (std::int64_t at = 0; at < operands.batch * operands.m * operands.n; ++at) {
    const std::int64_t j = at % operands.n, i = at / operands.n % operands.m,
                       batch = at / operands.n / operands.m;
    const Dyadic exact = exact_block_dot(operands.row(batch, i), operands.column(batch, j),
                                         operands.k, scales.depth, scales.factors(i, j));
    const Dyadic error = Dyadic(sums.hi[at]) + Dyadic(sums.lo[at]) - exact;
    ASSERT_FALSE(Dyadic(sums.bound[at]) < error.abs())
        << "element " << at << ": error " << error.nearest_double() << ", bound " << sums.bound[at];
    ++tally.elements;
    tally.exact += sums.bound[at] == 0;
  }
}

TEST(GemmBlockSums, EnclosuresHoldOnEveryKindOfDataAndScales) {
  std::uint64_t seed = 1;
  Tally tally;
  for (const FormatId id : {FormatId::e4m3, FormatId::e5m2, FormatId::bf16, FormatId::f32}) {
    for (const Kind kind : kKinds) {
      for (const Scales scale : kScales) {
        for (const auto& [m, n, k, depth] :
             {std::array<std::int64_t, 4>{3, 5, 7, 32}, {7, 9, 200, 32}, {5, 6, 257, 128}}) {
          SCOPED_TRACE(testing::Message() << format(id).name << " kind " << int(kind) << " scales "
                                          << int(scale) << " k " << k);
          const Operands data = make_operands(id, kind, 1, m, n, k, seed);
          check(decode_operands(data.a, data.b, 1), draw_scales(scale, m, n, k, depth, seed),
                tally);
          if (HasFatalFailure()) return;
          ++seed;
        }
      }
    }
  }
  EXPECT_GT(tally.exact, tally.elements / 3);
}

TEST(GemmBlockSums, Fp8WithOrdinaryScalesIsExactThroughout) {
  for (const Kind kind : {Kind::normal, Kind::all_bits, Kind::extremes}) {
    Tally tally;
    const Operands data = make_operands(FormatId::e4m3, kind, 2, 20, 30, 1000, 3);
    BlockScales scales = draw_scales(Scales::random, 20, 30, 1000, 128, 4);
    for (float& x : scales.a) x = std::fabs(x) + 0.1f;
    for (float& x : scales.b) x = std::fabs(x) + 0.1f;
    check(decode_operands(data.a, data.b, 1), scales, tally);
    EXPECT_EQ(tally.exact, tally.elements) << int(kind);
  }
}

// Scales of an instruction: their products reach far beyond the range of f32, without a sign.
TEST(GemmBlockSums, ScalesOfTheInstructionAreMultipliedExactly) {
  Random random(8);
  Tally tally;
  for (const int spread : {4, 60, 127}) {
    const auto powers = [&](std::vector<float>& scales) {
      for (float& x : scales)
        x = std::ldexp(1.0f, static_cast<int>(random.between(-spread, spread)));
    };
    for (const FormatId id : {FormatId::e2m1, FormatId::e4m3, FormatId::e5m2}) {
      const Operands data = make_operands(id, Kind::all_bits, 2, 9, 11, 200, 3);
      BlockScales scales = draw_scales(Scales::random, 9, 11, 200, 32, 4);
      scales.products = ScaleProducts::exact;
      powers(scales.a);
      powers(scales.b);
      check(decode_operands(data.a, data.b, 1), scales, tally);
      EXPECT_EQ(scales.factor(1, 2, 3), static_cast<double>(scales.a[28]) * scales.b[35]);
    }
  }
  const Operands data = make_operands(FormatId::e2m1, Kind::all_bits, 1, 9, 11, 200, 3);
  BlockScales scales = draw_scales(Scales::random, 9, 11, 200, 16, 4);
  scales.products = ScaleProducts::exact;
  const Format& e4m3 = format(FormatId::e4m3);
  for (std::vector<float>* side : {&scales.a, &scales.b})
    for (float& x : *side) x = static_cast<float>(to_double(e4m3, random.below(0x7f)));
  Tally fp4;
  check(decode_operands(data.a, data.b, 1), scales, fp4);
  EXPECT_EQ(fp4.exact, fp4.elements);
  EXPECT_EQ(scale_product(ScaleProducts::exact, -2, 3), 6);
}

TEST(GemmBlockSums, TilesJoinUpOnAnyNumberOfThreads) {
  Tally tally;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{300, 3, 70}, {2, 600, 70}}) {
    for (const Kind kind : {Kind::normal, Kind::outliers}) {
      const Operands data = make_operands(FormatId::bf16, kind, 2, m, n, k, 5);
      const GemmOperands operands = decode_operands(data.a, data.b, 1);
      const BlockScales scales = draw_scales(Scales::wide, m, n, k, 32, 6);
      check(operands, scales, tally);
      const SumEnclosures one = gemm_block_sums(operands, scales, 1);
      const SumEnclosures many = gemm_block_sums(operands, scales, 5);
      EXPECT_EQ(many.hi, one.hi);
      EXPECT_EQ(many.lo, one.lo);
      EXPECT_EQ(many.bound, one.bound);
    }
  }
}

TEST(GemmBlockSums, EmptySumsAreZero) {
  const Operands data = make_operands(FormatId::e4m3, Kind::normal, 1, 2, 3, 0, 1);
  const GemmOperands operands = decode_operands(data.a, data.b, 1);
  const SumEnclosures sums =
      gemm_block_sums(operands, draw_scales(Scales::random, 2, 3, 0, 32, 1), 1);
  EXPECT_EQ(sums.hi, ZeroedVector<double>(6));
}

}  // namespace
}  // namespace plumbline
