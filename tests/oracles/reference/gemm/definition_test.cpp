// SPDX-License-Identifier: MIT
// The definitions of a GEMM in MPFR numbers and in integers say the same, and say what the problem
// asks for.
#include "oracles/reference/gemm/definition.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/oracles/exact/test_data.h"

namespace plumbline {
namespace {

struct Fixture {
  Operands data;
  Tensor c, row_bias, column_bias;
  GemmProblem problem;

  Fixture(FormatId id, Kind kind, std::int64_t batch, std::int64_t m, std::int64_t n,
          std::int64_t k, std::uint64_t seed)
      : data(make_operands(id, kind, batch, m, n, k, seed)),
        c(zero_tensor(FormatId::f32, {batch, m, n})),
        row_bias(zero_tensor(FormatId::f32, {m})),
        column_bias(zero_tensor(FormatId::bf16, {n})) {
    Random random(seed + 1);
    for (Tensor* tensor : {&c, &row_bias, &column_bias}) {
      for (std::int64_t i = 0; i < tensor->layout.count(); ++i) {
        tensor->set_bits(i, random_code(format(tensor->layout.format), kind, random));
      }
    }
    problem.batch = batch;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.a = &data.a;
    problem.b = &data.b;
  }
};

TEST(GemmDefinition, RealAndDyadicTellingsAreTheSameNumber) {
  std::uint64_t seed = 1;
  for (const FormatId id : {FormatId::bf16, FormatId::f16, FormatId::e5m2, FormatId::f32}) {
    for (const Kind kind : kKinds) {
      Fixture fixture(id, kind, 2, 3, 4, 30, seed++);
      GemmProblem& problem = fixture.problem;
      const GemmOperands operands = decode_operands(fixture.data.a, fixture.data.b, 1);
      for (const BiasKind bias : {BiasKind::none, BiasKind::per_row, BiasKind::per_column}) {
        for (const Activation activation : {Activation::none, Activation::relu}) {
          for (const auto& [alpha, beta] :
               {std::pair{1.0f, 0.0f}, {0.7f, -1.3f}, {-0x1.8p-149f, 0x1.fffffep127f}}) {
            problem.alpha = alpha;
            problem.beta = beta;
            problem.c = beta == 0 ? nullptr : &fixture.c;
            problem.bias_kind = bias;
            problem.bias = bias == BiasKind::none      ? nullptr
                           : bias == BiasKind::per_row ? &fixture.row_bias
                                                       : &fixture.column_bias;
            problem.activation = activation;
            mpfr_clear_flags();
            for (std::int64_t z = 0; z < 2; ++z) {
              for (std::int64_t at = 0; at < 12; ++at) {
                const Real real = gemm_value(problem, z, at / 4, at % 4);
                ASSERT_EQ(dyadic_value(real),
                          gemm_value_exact(problem, operands, z, at / 4, at % 4));
              }
            }
            ASSERT_FALSE(mpfr_inexflag_p()) << "an operation rounded";
          }
        }
      }
    }
  }
}

TEST(GemmDefinition, SpellsOutOneElementByHand) {
  Operands data = {zero_tensor(FormatId::f32, {1, 1, 2}), zero_tensor(FormatId::f32, {1, 2, 1})};
  const auto set = [](Tensor& tensor, std::int64_t at, float value) {
    tensor.set_bits(at, std::bit_cast<std::uint32_t>(value));
  };
  set(data.a, 0, 2);
  set(data.a, 1, 3);
  set(data.b, 0, 5);
  set(data.b, 1, 7);
  Tensor c = zero_tensor(FormatId::f32, {1, 1, 1}), bias = zero_tensor(FormatId::f32, {1});
  set(c, 0, 11);
  set(bias, 0, 13);
  GemmProblem problem{.m = 1, .n = 1, .k = 2, .a = &data.a, .b = &data.b, .c = &c, .bias = &bias};
  problem.alpha = 0.5f;
  problem.beta = -2;
  problem.bias_kind = BiasKind::per_row;
  EXPECT_EQ(gemm_sum(problem, 0, 0, 0), 2 * 5 + 3 * 7);
  EXPECT_EQ(gemm_value(problem, 0, 0, 0), 0.5 * 31 - 2 * 11 + 13);
  problem.beta = -4;
  EXPECT_EQ(gemm_value(problem, 0, 0, 0), 0.5 * 31 - 4 * 11 + 13);
  problem.activation = Activation::relu;
  EXPECT_EQ(gemm_value(problem, 0, 0, 0), 0);
}

TEST(GemmDefinition, BetaZeroDoesNotReadC) {
  Fixture fixture(FormatId::bf16, Kind::normal, 1, 1, 1, 4, 3);
  fixture.c.set_bits(0, 0x7fc00000);
  const Real without = gemm_value(fixture.problem, 0, 0, 0);
  fixture.problem.c = &fixture.c;
  EXPECT_EQ(gemm_value(fixture.problem, 0, 0, 0), without);
  fixture.problem.beta = 1;
  EXPECT_TRUE(isnan(gemm_value(fixture.problem, 0, 0, 0)));
}

TEST(GemmDefinition, SpecialValuesFollowIeee) {
  const Format& bf16 = format(FormatId::bf16);
  const double infinity = std::numeric_limits<double>::infinity();
  Fixture fixture(FormatId::bf16, Kind::positive, 1, 1, 1, 4, 5);
  const auto with = [&](double a0, double b0, double a1, double b1) {
    fixture.data.a.set_bits(0, encode(bf16, a0));
    fixture.data.b.set_bits(0, encode(bf16, b0));
    fixture.data.a.set_bits(1, encode(bf16, a1));
    fixture.data.b.set_bits(1, encode(bf16, b1));
    return static_cast<double>(gemm_value(fixture.problem, 0, 0, 0));
  };
  EXPECT_EQ(with(infinity, 2, 1, 1), infinity);
  EXPECT_EQ(with(infinity, -2, 1, 1), -infinity);
  EXPECT_TRUE(std::isnan(with(infinity, 0, 1, 1)));
  EXPECT_TRUE(std::isnan(with(infinity, 1, -infinity, 1)));
  EXPECT_TRUE(std::isnan(with(std::nan(""), 0, 1, 1)));
  fixture.problem.activation = Activation::relu;
  EXPECT_EQ(with(infinity, -2, 1, 1), 0);
  EXPECT_TRUE(std::isnan(with(std::nan(""), 1, 1, 1)));  // relu lets NaN through
}

TEST(GemmDefinition, FewerBitsRoundEveryOperation) {
  Fixture fixture(FormatId::bf16, Kind::all_bits, 1, 1, 1, 50, 7);
  const Real exact = gemm_value(fixture.problem, 0, 0, 0);
  double previous = std::numeric_limits<double>::infinity();
  for (const int bits : {64, 128, 256}) {
    const double error =
        std::abs(static_cast<double>(gemm_value(fixture.problem, 0, 0, 0, bits) / exact - 1));
    EXPECT_GT(error, 0) << bits;
    EXPECT_LT(error, previous) << bits;
    EXPECT_LT(error, std::ldexp(50.0, -bits));  // no cancellation in this draw
    previous = error;
  }
}

TEST(GemmDefinition, StridesBroadcastsAndOffsetsAreTheTensors) {
  Fixture fixture(FormatId::bf16, Kind::normal, 2, 3, 4, 10, 9);
  // A transposed in storage, with padding; B the same for both batch elements.
  TensorLayout layout{FormatId::bf16, {2, 3, 10}, {64, 1, 6}, 3};
  Tensor a(layout), b = fixture.data.b;
  for (std::int64_t i = 0; i < 60; ++i) a.set_bits(i, fixture.data.a.bits(i));
  const Real plain = gemm_value(fixture.problem, 0, 2, 1);
  b.layout.strides[0] = 0;
  fixture.problem.a = &a;
  fixture.problem.b = &b;
  EXPECT_EQ(gemm_value(fixture.problem, 0, 2, 1), plain);
  const GemmOperands operands = decode_operands(a, b, 1);
  for (std::int64_t z = 0; z < 2; ++z) {
    EXPECT_EQ(dyadic_value(gemm_value(fixture.problem, z, 1, 3)),
              gemm_value_exact(fixture.problem, operands, z, 1, 3));
  }
}

}  // namespace
}  // namespace plumbline
