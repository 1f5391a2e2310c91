// SPDX-License-Identifier: MIT
// Scales and zero points in the epilogue: bit for bit, their real counterpart, and the interval
// rule under factors that turn or break the order, against a walk over every accumulator value.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/bounds/admissible.h"
#include "oracles/bounds/contract/epilogue.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

EpilogueScalars all_scales(float scale_d, std::int64_t zero_d) {
  EpilogueScalars scalars;
  scalars.has_scale_a = scalars.has_scale_b = scalars.has_scale_d = true;
  scalars.scale_d = scale_d;
  scalars.zero_d = zero_d;
  return scalars;
}

TEST(EpilogueScales, RoundEachStepToF32) {
  Contract apart, together;
  apart.epilogue = {EpilogueStep::scale_b, EpilogueStep::scale_a, EpilogueStep::scale_d,
                    EpilogueStep::zero_d};
  together.epilogue = {EpilogueStep::scale_ab};
  const EpilogueScalars scalars = all_scales(0.37f, -5);
  const Epilogue first(apart, scalars, FormatId::s8), second(together, scalars, FormatId::s8);
  Random random(1);
  int different = 0;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const auto z = static_cast<float>(random.between(-5000, 5000));
    EpilogueOperands operands;
    operands.scale_a = static_cast<float>(random.unit() - 0.5);
    operands.scale_b = static_cast<float>(random.unit() * 0.3);
    volatile float by_b = z * operands.scale_b;
    volatile float by_both = by_b * operands.scale_a;
    volatile float scaled = by_both * 0.37f;
    EXPECT_EQ(first.value(z, operands), std::nearbyint(scaled) - 5);
    volatile float product = operands.scale_a * operands.scale_b;
    volatile float at_once = z * product;
    volatile float again = at_once * 0.37f;
    EXPECT_EQ(second.value(z, operands), std::nearbyint(again) - 5);
    different += by_both != at_once ? 1 : 0;
  }
  EXPECT_GT(different, 100);
}

TEST(EpilogueScales, AreSkippedWhereTheProblemHasNone) {
  Contract contract;
  contract.epilogue = {EpilogueStep::scale_ab, EpilogueStep::scale_d, EpilogueStep::zero_d};
  EXPECT_TRUE(Epilogue(contract, {}, FormatId::bf16).is_identity());
  EpilogueScalars only_a;
  only_a.has_scale_a = true;
  EpilogueOperands operands;
  operands.scale_a = 3;
  EXPECT_EQ(Epilogue(contract, only_a, FormatId::bf16).value(2, operands), 6);
  // Not named by the contract: in their usual place, before the bias.
  only_a.has_bias = true;
  operands.bias = 1;
  EXPECT_EQ(Epilogue(Contract{}, only_a, FormatId::bf16).value(2, operands), 7);
}

TEST(EpilogueScales, ConversionToS8RoundsSaturatesAndMakesZeroOfNaN) {
  const Epilogue epilogue(Contract{}, all_scales(1, 0), FormatId::s8);
  const auto stored = [&](float z) {
    return static_cast<std::int8_t>(epilogue.low_code(epilogue.value(z, {})));
  };
  EXPECT_EQ(stored(2.5f), 2);
  EXPECT_EQ(stored(3.5f), 4);
  EXPECT_EQ(stored(1000), 127);
  EXPECT_EQ(stored(-1000), -128);
  EXPECT_EQ(stored(-kFloatInfinity), -128);
  EXPECT_EQ(stored(std::nanf("")), 0);
}

TEST(EpilogueScales, RealCounterpartIsExactToAHundredBits) {
  EpilogueScalars scalars = all_scales(-0.7f, 3);
  scalars.alpha = 1.0f / 3;
  scalars.has_bias = true;
  const Epilogue epilogue(Contract{}, scalars, FormatId::bf16);
  Random random(4);
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const double hi = random.unit() * 1000, lo = random.unit() * 0x1p-46;
    EpilogueOperands operands;
    operands.bias = static_cast<float>(random.unit());
    operands.scale_a = static_cast<float>(random.unit());
    operands.scale_b = static_cast<float>(-random.unit());
    __extension__ typedef __float128 Quad;
    const Quad factor = static_cast<Quad>(scalars.alpha) * operands.scale_a * operands.scale_b;
    const Quad want = (factor * hi + factor * lo + operands.bias) * scalars.scale_d + 3;
    const TwoDoubles got = epilogue.real({hi, lo}, operands);
    EXPECT_LT(std::fabs(static_cast<double>(want - got.hi - got.lo)), 0x1p-98 * 1000);
  }
}

// What the rule says about a range against every value in it.
void check_range(const Epilogue& epilogue, const EpilogueOperands& operands,
                 const AccumulatorGrid& grid, const GridRange& range, Random& random) {
  const ElementRule rule(epilogue, grid, operands);
  std::set<std::uint64_t> admissible;
  bool nan = false;
  for (std::int64_t index = range.first; index <= range.last; ++index) {
    const float x = epilogue.value(grid.value(index), operands);
    const std::uint64_t code = epilogue.low_code(x);
    nan |= epilogue.is_nan(code);
    admissible.insert(code);
  }
  std::set<std::uint64_t> asked;
  const auto spacing = static_cast<std::int64_t>(admissible.size() / 20 + 1);
  std::int64_t number = 0;
  for (const std::uint64_t code : admissible) {
    if (number++ % spacing == 0) asked.insert(code);
  }
  for (int i = 0; i < 10; ++i)
    asked.insert(random.next() & ((std::uint64_t{1} << epilogue.output().storage_bits) - 1));
  for (const std::uint64_t code : asked) {
    const bool want = epilogue.is_nan(code)
                          ? nan
                          : std::any_of(admissible.begin(), admissible.end(),
                                        [&](std::uint64_t x) { return rule.same_result(x, code); });
    ASSERT_EQ(rule.judge(range, ResultClass::finite, code).inside, want)
        << "scales " << operands.scale_a << " " << operands.scale_b << " c " << operands.c
        << " code " << code << " range " << range.first << " " << range.last;
    if (!epilogue.is_nan(code)) {
      const double error = rule.smallest_error({0, 0, 0}, range, code);
      ASSERT_EQ(std::isfinite(error), want);
    }
  }
  // What is surely admissible is.
  const double middle = static_cast<double>(grid.value((range.first + range.last) / 2));
  for (const std::uint64_t code : asked) {
    if (!rule.surely_admissible({middle, 0, 0}, code)) continue;
    const float x = epilogue.value(static_cast<float>(middle), operands);
    ASSERT_TRUE(rule.same_result(epilogue.low_code(x), code));
  }
}

TEST(EpilogueScales, TheIntervalRuleHoldsUnderEveryKindOfFactor) {
  const float factors[] = {1.5f,     -0.7f,     0.0f,    -0.0f, kFloatInfinity, -kFloatInfinity,
                           0x1p127f, 0x1p-149f, -1e-30f, 3e38f, std::nanf("")};
  const AccumulatorGrid grid(8);
  Random random(6);
  for (const FormatId output : {FormatId::bf16, FormatId::e4m3, FormatId::s8, FormatId::f16}) {
    for (const bool saturate : {false, true}) {
      for (int repeat = 0; repeat < 75; ++repeat) {
        const auto factor = [&] { return factors[random.below(std::size(factors))]; };
        EpilogueScalars scalars = all_scales(factor(), output == FormatId::s8 ? 7 : 0);
        scalars.has_scale_d = random.below(2) == 0;
        scalars.beta = random.below(2) == 0 ? 0.0f : 1.0f;
        scalars.activation = random.below(3) == 0 ? Activation::relu : Activation::none;
        EpilogueOperands operands;
        operands.scale_a = factor();
        operands.scale_b = random.below(2) == 0 ? 2.0f : factor();
        operands.c = factor();
        Contract contract;
        if (saturate) contract.output.overflow = Overflow::saturate;
        if (random.below(3) == 0) contract.epilogue = {EpilogueStep::scale_ab};
        const Epilogue epilogue(contract, scalars, output);
        for (int place = 0; place < 4; ++place) {
          // Around zero, at the ends, anywhere; and once in a while everything.
          const std::int64_t length = random.between(0, 200);
          std::int64_t first = random.between(-100, 100) - length / 2;
          if (place == 1) first = grid.highest() - length;
          if (place == 2) first = grid.lowest();
          if (place == 3) first = random.between(grid.lowest(), grid.highest() - length);
          GridRange range{first, first + length};
          if (repeat % 75 == 0 && place == 3) range = {grid.lowest(), grid.highest()};
          check_range(epilogue, operands, grid, range, random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
