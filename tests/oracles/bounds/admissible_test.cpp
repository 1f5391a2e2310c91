// SPDX-License-Identifier: MIT
// The interval rule against brute force: every accumulator value within E, every output code.
#include "oracles/bounds/admissible.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "oracles/base/random.h"
#include "oracles/exact/dyadic.h"
#include "oracles/formats/decode.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"

namespace plumbline {
namespace {

struct Setting {
  EpilogueScalars scalars;
  EpilogueOperands operands;
  FormatId output;
  int precision;
};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const FormatId output : {FormatId::bf16, FormatId::f16, FormatId::f32, FormatId::e4m3,
                                FormatId::e5m2, FormatId::s8}) {
    for (const int precision : {24, 14, 8}) {
      all.push_back({{1, 0, false}, {}, output, precision});
      all.push_back({{-1.3f, 0, true}, {0, 0.7f}, output, precision});
      all.push_back({{0.01f, 1, false, Activation::relu}, {-0.004f, 0}, output, precision});
      all.push_back({{300.0f, -2, true}, {40.0f, -3.5f}, output, precision});
    }
  }
  return all;
}

TEST(ElementRule, IsBruteForceOverTheAccumulatorsNumbers) {
  Random random(3);
  const Contract contract;
  for (const Setting& setting : settings()) {
    const Epilogue epilogue(contract, setting.scalars, setting.output);
    const AccumulatorGrid grid(setting.precision);
    const ElementRule rule(epilogue, grid, setting.operands);
    for (int repeat = 0; repeat < 30; ++repeat) {
      const double y =
          (random.unit() - 0.5) * std::ldexp(1.0, static_cast<int>(random.between(-6, 3)));
      const double error =
          repeat % 5 == 0 ? 0
                          : std::ldexp(random.unit(), static_cast<int>(random.between(-24, -18))) *
                                std::ldexp(1.0, 24 - setting.precision);
      const SumEnclosure sum{
          repeat % 5 == 0 ? static_cast<double>(grid.value(grid.floor(y, 0))) : y, 0, 0};
      const GridRange range = accumulator_range(grid, sum, error).outer;
      std::set<std::int64_t> orders;
      for (std::int64_t z = range.first; z <= range.last; ++z) {
        ASSERT_LE(std::fabs(static_cast<double>(grid.value(z)) - sum.hi), error * (1 + 0x1p-40));
        const float x = epilogue.value(grid.value(z), setting.operands);
        orders.insert(epilogue.order_of(epilogue.low_code(x), x));
      }
      ASSERT_GT(static_cast<double>(grid.value(range.last + 1)) - sum.hi, error);
      ASSERT_LT(static_cast<double>(grid.value(range.first - 1)) - sum.hi, -error);
      if (orders.empty()) continue;
      // All codes from a little below to a little above the admissible ones.
      std::uint64_t code = rule.judge(range, ResultClass::finite, 0).low;
      for (int step = 0; step < 3; ++step) next_down(epilogue.output(), code, code);
      for (int step = 0; step < 40; ++step) {
        if (!epilogue.is_nan(code)) {
          EXPECT_EQ(rule.judge(range, ResultClass::finite, code).inside,
                    orders.count(epilogue.order_of(code)) == 1);
          const double smallest = rule.smallest_error(sum, rule.whole_grid(), code);
          if (orders.count(epilogue.order_of(code)) == 1) {
            EXPECT_LE(smallest, error * (1 + 0x1p-40));
          } else {
            EXPECT_GT(smallest, error);
          }
          if (rule.surely_admissible(sum, code)) {
            EXPECT_EQ(orders.count(epilogue.order_of(code)), 1u);
          }
        }
        if (!next_up(epilogue.output(), code, code)) break;
      }
      EXPECT_TRUE(rule.judge(range, ResultClass::finite, rule.expected(sum)).inside);
    }
  }
}

TEST(ElementRule, SkipsOutputsThatNoAccumulatorValueGives) {
  // With alpha = 3 an f32 output can only be a multiple of 3 ulp of the accumulator.
  const Epilogue epilogue(Contract{}, {3, 0, false}, FormatId::f32);
  const AccumulatorGrid grid;
  const ElementRule rule(epilogue, grid, {});
  const SumEnclosure sum{1.1, 0, 0};
  const GridRange range = accumulator_range(grid, sum, 0x1p-20).outer;
  const ElementRule::Judgement ends = rule.judge(range, ResultClass::finite, 0);
  int inside = 0, codes = 0;
  for (std::uint64_t code = ends.low; code <= ends.high; ++code) {
    ++codes;
    inside += rule.judge(range, ResultClass::finite, code).inside ? 1 : 0;
  }
  EXPECT_EQ(inside, range.last - range.first + 1);
  EXPECT_GT(codes, inside);
}

TEST(ElementRule, DemandsTheExactResultWhenThereIsNoError) {
  const Epilogue epilogue(Contract{}, {}, FormatId::f32);
  const AccumulatorGrid grid;
  const ElementRule rule(epilogue, grid, {});
  const SumEnclosure three{3, 0, 0};
  const AccumulatorRange range = accumulator_range(grid, three, 0);
  EXPECT_EQ(range.outer, range.inner);
  EXPECT_EQ(range.outer.first, range.outer.last);
  EXPECT_TRUE(rule.judge(range.outer, ResultClass::finite, 0x40400000).inside);
  EXPECT_FALSE(rule.judge(range.outer, ResultClass::finite, 0x40400001).inside);
  EXPECT_FALSE(rule.judge(range.outer, ResultClass::finite, 0x403fffff).inside);
}

TEST(ElementRule, KnowsWhenAnEnclosureCannotDecide) {
  const AccumulatorGrid grid;
  const AccumulatorRange range = accumulator_range(grid, {1 + 0x1p-24, 0, 0x1p-60}, 0x1p-24);
  EXPECT_EQ(grid.value(range.outer.first), 1.0f);
  EXPECT_GT(grid.value(range.inner.first), 1.0f);
  // The exact sum decides.
  const AccumulatorRange exact = accumulator_range(grid, Dyadic(1 + 0x1p-24), 0x1p-24);
  EXPECT_EQ(grid.value(exact.outer.first), 1.0f);
  EXPECT_EQ(exact.outer, exact.inner);
}

TEST(ElementRule, AcceptsOneOfTwoNeighborsUnderStochasticRounding) {
  Contract contract;
  contract.output.rounding = Rounding::stochastic;
  const Epilogue epilogue(contract, {}, FormatId::bf16);
  const AccumulatorGrid grid;
  const ElementRule rule(epilogue, grid, {});
  const GridRange range = accumulator_range(grid, {1 + 0x1p-10, 0, 0}, 0).outer;
  EXPECT_FALSE(rule.judge(range, ResultClass::finite, 0x3f7f).inside);
  EXPECT_TRUE(rule.judge(range, ResultClass::finite, 0x3f80).inside);
  EXPECT_TRUE(rule.judge(range, ResultClass::finite, 0x3f81).inside);
  EXPECT_FALSE(rule.judge(range, ResultClass::finite, 0x3f82).inside);
  EXPECT_FALSE(rule.surely_admissible({1 + 0x1p-10, 0, 0}, 0x3f80));
}

TEST(ElementRule, TreatsBothZerosAlikeAndAllNaNs) {
  const Epilogue epilogue(Contract{}, {}, FormatId::bf16);
  const AccumulatorGrid grid;
  const ElementRule rule(epilogue, grid, {});
  const GridRange zero = accumulator_range(grid, {0, 0, 0}, 0).outer;
  EXPECT_TRUE(rule.judge(zero, ResultClass::finite, 0x8000).inside);
  EXPECT_TRUE(rule.surely_admissible({0, 0, 0}, 0x8000));
  for (const std::uint64_t nan : {0x7fc0, 0x7f81, 0xffff}) {
    EXPECT_TRUE(rule.judge(zero, ResultClass::nan, nan).inside);
    const ElementRule::Judgement wrong = rule.judge(zero, ResultClass::finite, nan);
    EXPECT_FALSE(wrong.inside);
    EXPECT_TRUE(wrong.class_mismatch);
  }
}

TEST(ElementRule, AdmitsEveryClassAnAccumulatorMayEndIn) {
  const Epilogue epilogue(Contract{}, {-1, 0, false}, FormatId::bf16);
  const AccumulatorGrid grid;
  const ElementRule rule(epilogue, grid, {});
  const GridRange top = {grid.highest() - 3, grid.highest()};
  ClassSet classes = ResultClass::finite;
  classes.add(ResultClass::plus_infinity);
  EXPECT_TRUE(rule.judge(top, classes, 0xff80).inside);  // -Inf: alpha is -1
  EXPECT_FALSE(rule.judge(top, classes, 0x7f80).inside);
  EXPECT_FALSE(rule.judge(top, ResultClass::finite, 0xff7f)
                   .inside);  // the largest f32 rounds to Inf in bf16
  EXPECT_TRUE(rule.judge(top, ResultClass::finite, 0xff80).inside);
  EXPECT_TRUE(rule.judge(top, ResultClass::plus_infinity, 0x0000).class_mismatch);
}

TEST(ElementRule, FollowsNaNThatTheEpilogueMakesAtOneEnd) {
  // alpha * z overflows for large z, and Inf + (-Inf) is NaN; below that the output is -Inf.
  const float infinity = std::numeric_limits<float>::infinity();
  const Epilogue epilogue(Contract{}, {0x1p100f, 1, false}, FormatId::f32);
  const AccumulatorGrid grid;
  const ElementRule rule(epilogue, grid, {-infinity, 0});
  const GridRange straddling = {grid.floor(0x1.fffff0p27, 0), grid.floor(0x1.00001p28, 0)};
  EXPECT_TRUE(rule.judge(straddling, ResultClass::finite, 0x7fc00000).inside);
  EXPECT_TRUE(rule.judge(straddling, ResultClass::finite, 0xff800000).inside);
  EXPECT_FALSE(rule.judge(straddling, ResultClass::finite, 0x7f800000).inside);
  EXPECT_FALSE(rule.judge(straddling, ResultClass::finite, 0x3f800000).inside);
}

TEST(AccumulatorGrid, RoundsExactSumsDownAndUp) {
  for (const int precision : {24, 14, 8}) {
    const AccumulatorGrid grid(precision);
    Random random(9);
    for (int repeat = 0; repeat < 2000; ++repeat) {
      const double head =
          std::ldexp(random.unit() - 0.5, static_cast<int>(random.between(-150, 129)));
      const double tail =
          head * 0x1p-54 * (random.unit() - 0.5) * static_cast<double>(random.below(2));
      const std::int64_t below = grid.floor(head, tail), above = grid.ceil(head, tail);
      const Dyadic exact = Dyadic(head) + Dyadic(tail);
      if (below >= grid.lowest()) {
        EXPECT_FALSE(exact < Dyadic(static_cast<double>(grid.value(below))));
      }
      if (below < grid.highest()) {
        EXPECT_TRUE(exact < Dyadic(static_cast<double>(grid.value(below + 1))));
      }
      if (above <= grid.highest()) {
        EXPECT_FALSE(Dyadic(static_cast<double>(grid.value(above))) < exact);
      }
      if (above > grid.lowest()) {
        EXPECT_TRUE(Dyadic(static_cast<double>(grid.value(above - 1))) < exact);
      }
    }
    EXPECT_EQ(grid.floor(1, -0x1p-80), grid.floor(1, 0) - 1);
    EXPECT_EQ(grid.ceil(1, 0x1p-80), grid.ceil(1, 0) + 1);
    EXPECT_EQ(grid.ceil(0x1p140, 0), grid.highest() + 1);
    EXPECT_EQ(grid.floor(-0x1p140, 0), grid.lowest() - 1);
  }
}

}  // namespace
}  // namespace plumbline
