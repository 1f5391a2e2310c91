// SPDX-License-Identifier: MIT
// The epilogue: the contract's steps in the contract's order, each rounded once; and its real
// counterpart.
#include "oracles/bounds/contract/epilogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

const EpilogueScalars kAll{0.3f, 0.7f, true, Activation::relu};

TEST(Epilogue, RoundsEachStepToF32) {
  Contract contract;
  contract.epilogue = {EpilogueStep::alpha, EpilogueStep::beta_c, EpilogueStep::bias,
                       EpilogueStep::relu};
  Contract fused = contract;
  fused.epilogue[1] = EpilogueStep::beta_c_fma;
  const Epilogue plain(contract, kAll, FormatId::f32), with_fma(fused, kAll, FormatId::f32);
  Random random(1);
  int different = 0;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const float z = static_cast<float>(random.unit() - 0.3), c = static_cast<float>(random.unit()),
                bias = static_cast<float>(random.unit() - 0.5);
    volatile float scaled = 0.3f * z;
    volatile float product = 0.7f * c;
    volatile float sum = scaled + product;
    const float want = std::fmax(sum + bias, 0.0f);
    EXPECT_EQ(plain.value(z, {c, bias}), want);
    const float want_fused = std::fmax(std::fma(0.7f, c, scaled) + bias, 0.0f);
    EXPECT_EQ(with_fma.value(z, {c, bias}), want_fused);
    different += want != want_fused ? 1 : 0;
  }
  EXPECT_GT(different, 50);
}

TEST(Epilogue, FollowsTheContractsOrder) {
  Contract contract;
  contract.epilogue = {EpilogueStep::bias, EpilogueStep::alpha};
  const Epilogue epilogue(contract, {3, 0, true}, FormatId::f32);
  EXPECT_EQ(epilogue.value(2, {0, 5}), 21);
}

// CUTLASS's linear combination: the product with beta is rounded, the one with alpha is not.
TEST(Epilogue, FusesAlphaWithTheRoundedProductOfBetaAndC) {
  Contract contract;
  contract.epilogue = {EpilogueStep::alpha_beta_c_fma};
  const Epilogue epilogue(contract, {0.3f, 0.7f}, FormatId::f32);
  Random random(2);
  int different = 0;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const float z = static_cast<float>(random.unit() - 0.3), c = static_cast<float>(random.unit());
    volatile float product = 0.7f * c;
    volatile float scaled = 0.3f * z;
    const float want = std::fma(0.3f, z, product);
    EXPECT_EQ(epilogue.value(z, {c}), want);
    different += want != std::fma(0.7f, c, scaled) ? 1 : 0;
  }
  EXPECT_GT(different, 50);
  EXPECT_EQ(epilogue.real({2, 0}, {10}).hi,
            2 * static_cast<double>(0.3f) + 10 * static_cast<double>(0.7f));
  EXPECT_FALSE(epilogue.finite({kFloatInfinity}));
  EXPECT_FALSE(Epilogue(contract, {0, 1}, FormatId::f32).regular({1}));
  EXPECT_TRUE(Epilogue(contract, {-1, 1}, FormatId::f32).falling({1}));
  EXPECT_EQ(Epilogue(contract, {1, 2}, FormatId::f32).value(3, {10}), 23);
}

// What nvcc makes of acc * scale + bias unless it is told not to.
TEST(Epilogue, FusesTheBiasWithTheProductBeforeIt) {
  Contract contract;
  contract.epilogue = {EpilogueStep::scale_ab, EpilogueStep::bias_fma, EpilogueStep::relu};
  EpilogueScalars scalars;
  scalars.has_scale_a = scalars.has_scale_b = scalars.has_bias = true;
  scalars.activation = Activation::relu;
  const Epilogue epilogue(contract, scalars, FormatId::f32);
  Random random(4);
  const auto draw = [&] { return static_cast<float>(random.unit() - 0.4); };
  int different = 0;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const float z = draw();
    const EpilogueOperands operands{0, draw(), draw(), draw()};
    volatile float scale = operands.scale_a * operands.scale_b;
    volatile float product = scale * z;
    const float want = std::fmax(std::fma(z, scale, operands.bias), 0.0f);
    EXPECT_EQ(epilogue.value(z, operands), want);
    different += want != std::fmax(product + operands.bias, 0.0f) ? 1 : 0;
  }
  EXPECT_GT(different, 10);
  EXPECT_EQ(epilogue.real({3, 0}, {0, 0.25f, 2, 5}).hi, 30.25);
  EXPECT_TRUE(epilogue.falling({0, 1, -1, 2}));
  EXPECT_FALSE(epilogue.regular({0, 1, 0, 2}));
  EXPECT_FALSE(epilogue.finite({0, kFloatInfinity, 1, 2}));
  // An fma has no overflow between product and sum.
  EXPECT_EQ(epilogue.value(0x1p127f, {0, -0x1.8p127f, 2, 1}), 0x1p126f);

  scalars = {};
  scalars.has_bias = true;  // and nothing to multiply by
  EXPECT_EQ(Epilogue(contract, scalars, FormatId::f32).value(3, {0, 0.25f}), 3.25f);
}

TEST(Epilogue, FusedAlphaWithoutBetaDoesNotReadC) {
  Contract contract;
  contract.epilogue = {EpilogueStep::alpha_beta_c_fma};
  const Epilogue epilogue(contract, {-3, 0}, FormatId::f32);
  EXPECT_EQ(epilogue.value(2, {std::nanf("")}), -6);
  EXPECT_TRUE(std::signbit(epilogue.value(0, {})));  // no +0 is added
  EXPECT_EQ(epilogue.real({2, 0}, {kFloatInfinity}).hi, -6);
  EXPECT_TRUE(epilogue.finite({kFloatInfinity}));
  EXPECT_TRUE(Epilogue(contract, {}, FormatId::f32).is_identity());
}

TEST(Epilogue, DoesStepsTheProblemNeedsAndTheContractDoesNotName) {
  const Epilogue epilogue(Contract{}, {3, 2, true}, FormatId::f32);
  EXPECT_EQ(epilogue.value(2, {10, 5}), 31);
  Contract only_bias;
  only_bias.epilogue = {EpilogueStep::bias};
  EXPECT_EQ(Epilogue(only_bias, {3, 0, true, Activation::relu}, FormatId::f32).value(-2, {0, 5}),
            0);
  EXPECT_EQ(Epilogue(only_bias, {3, 0, true}, FormatId::f32).value(-2, {0, 5}), -1);
}

TEST(Epilogue, LeavesOutWhatTheProblemDoesNotNeed) {
  Contract contract;
  contract.epilogue = {EpilogueStep::alpha, EpilogueStep::beta_c, EpilogueStep::bias,
                       EpilogueStep::relu};
  const Epilogue epilogue(contract, {}, FormatId::f32);
  EXPECT_TRUE(epilogue.is_identity());
  // beta == 0: C is not read, so its NaN does not matter.
  EXPECT_EQ(epilogue.value(-2, {std::nanf(""), kFloatInfinity}), -2);
}

TEST(Epilogue, LetsNaNThroughRelu) {
  Contract contract;
  contract.epilogue = {EpilogueStep::relu};
  const Epilogue epilogue(contract, {1, 0, false, Activation::relu}, FormatId::bf16);
  EXPECT_TRUE(std::isnan(epilogue.value(std::nanf(""), {})));
  EXPECT_EQ(epilogue.value(-kFloatInfinity, {}), 0);
  EXPECT_EQ(epilogue.value(kFloatInfinity, {}), kFloatInfinity);
}

TEST(Epilogue, OrdersCodesLikeValues) {
  for (const FormatId id : {FormatId::bf16, FormatId::f16, FormatId::e4m3, FormatId::e5m2,
                            FormatId::e2m1, FormatId::s8, FormatId::u8}) {
    const Epilogue epilogue(Contract{}, {}, id);
    const Format& output = epilogue.output();
    std::uint64_t code =
        output.has_sign && !output.is_integer
            ? output.max_finite() |
                  (std::uint64_t{1} << (output.exponent_bits + output.mantissa_bits))
        : output.is_integer && output.has_sign ? 0x80
                                               : 0;
    std::int64_t before = epilogue.order_of(code);
    while (next_up(output, code, code)) {
      EXPECT_GT(epilogue.order_of(code), before) << output.name;
      before = epilogue.order_of(code);
    }
    EXPECT_EQ(epilogue.order_of(output.max_finite()), before);
    if (output.has_sign && !output.is_integer) {
      EXPECT_EQ(
          epilogue.order_of(0),
          epilogue.order_of(std::uint64_t{1} << (output.exponent_bits + output.mantissa_bits)));
    }
  }
}

TEST(Epilogue, PutsNaNFromOverflowBeyondAllNumbers) {
  const Epilogue epilogue(Contract{}, {}, FormatId::e4m3);
  const std::uint64_t nan = epilogue.low_code(500);
  ASSERT_TRUE(epilogue.is_nan(nan));
  EXPECT_GT(epilogue.order_of(nan, 500), epilogue.order_of(0x7e));
  EXPECT_LT(epilogue.order_of(epilogue.low_code(-500), -500), epilogue.order_of(0xfe));
}

TEST(Epilogue, IsExactToAHundredBitsOverRealNumbers) {
  const EpilogueScalars scalars{1.0f / 3, -0.7f, true};
  const Epilogue epilogue(Contract{}, scalars, FormatId::f32);
  Random random(4);
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const double hi = random.unit() * 1000, lo = random.unit() * 0x1p-46;
    const float c = static_cast<float>(random.unit()), bias = static_cast<float>(random.unit());
    const TwoDoubles got = epilogue.real({hi, lo}, {c, bias});
    // 64 more bits: enough to see an error of 2^-100 of the largest term.
    __extension__ typedef __float128 Quad;
    const Quad want = static_cast<Quad>(scalars.alpha) * hi +
                      static_cast<Quad>(scalars.alpha) * lo + static_cast<Quad>(scalars.beta) * c +
                      bias;
    const Quad difference = want - got.hi - got.lo;
    EXPECT_LT(std::fabs(static_cast<double>(difference)), 0x1p-98 * 1000);
  }
  EXPECT_EQ(
      Epilogue(Contract{}, {1, 0, false, Activation::relu}, FormatId::f32).real({-3, 0}, {}).hi, 0);
}

TEST(Epilogue, CodesHaveTheClassThatDecodingGivesThem) {
  for (const Format& output : all_formats()) {
    const Epilogue epilogue(Contract{}, {}, output.id);
    for (std::uint64_t i = 0; i < 65536; ++i) {
      // All codes of 16 bits and less; of wider formats the highest bits, with what is below them
      // clear or set.
      const int below = std::max(0, output.storage_bits - 16);
      for (const std::uint64_t rest : {std::uint64_t{0}, (std::uint64_t{1} << below) - 1}) {
        const std::uint64_t code = i << below | rest;
        const ValueClass cls = decode(output, code).cls;
        ASSERT_EQ(epilogue.is_nan(code), cls == ValueClass::nan) << output.name << " " << code;
        ASSERT_EQ(epilogue.is_finite(code), cls == ValueClass::zero || cls == ValueClass::finite)
            << output.name << " " << code;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
