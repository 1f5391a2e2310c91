// SPDX-License-Identifier: MIT
// Faults of values, formats, activations and constants: each is planted in a kernel that is right
// but for it, and must be the first that is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <numbers>
#include <set>

#include "oracles/reference/gemm/explain.h"
#include "oracles/reference/gemm/faults.h"
#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using testing::Gemm;
using testing::GemmSetup;
using ::testing::HasSubstr;
using testing::hopper_bf16;
using testing::Kernel;
using testing::kernel;
using testing::NamedContract;
using ::testing::Not;
using enum FormatId;

std::string first_fault(const Gemm& gemm, const NamedContract& promised) {
  const GemmOracle oracle(gemm.problem, promised.contract, promised.sm);
  const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
  EXPECT_GT(verdict.failed, 0);
  if (verdict.failed == 0) return "passed";
  const Explanation explanation = oracle.explain(0, verdict.worst.index, gemm.d);
  return explanation.faults.names.empty() ? "nothing" : explanation.faults.names[0];
}

std::string told(const Kernel& faulty, const GemmSetup& setup,
                 const std::function<void(Gemm&)>& change = {}) {
  Gemm gemm(setup);
  if (change) change(gemm);
  faulty.run(gemm);
  return first_fault(gemm, faulty.promised);
}

NamedContract with_steps(std::vector<EpilogueStep> steps, NamedContract named = hopper_bf16()) {
  named.contract.epilogue = std::move(steps);
  return named;
}

GemmSetup square(std::int64_t size, std::int64_t k) {
  GemmSetup setup;
  setup.m = setup.n = size;
  setup.k = k;
  return setup;
}

float gelu_tanh(float x, double cubic) {
  const double y = static_cast<double>(x);
  return static_cast<float>(
      y / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (y + cubic * y * y * y))));
}

TEST(GemmNamesFaults, SubnormalOperandsTakenForZero) {
  GemmSetup setup = square(12, 40);
  setup.output = f32;
  const auto small = [](Gemm& gemm) {
    Random random(3);
    for (std::int64_t p = 0; p < gemm.a.layout.count(); ++p)
      gemm.a.set_bits(p, random.below(0x200));  // half of them below 2^-126
    for (std::int64_t p = 0; p < gemm.b.layout.count(); ++p)
      gemm.b.set_bits(p, 0x7000 + random.below(0x100));
  };
  Kernel faulty = kernel(hopper_bf16());
  const auto flush = [](std::vector<float>& values) {
    for (float& x : values) x = std::fabs(x) < 0x1p-126f ? 0 : x;
  };
  faulty.products = [=](std::vector<float>& row, std::vector<float>&) { flush(row); };
  EXPECT_THAT(told(faulty, setup, small), HasSubstr("subnormal numbers of A"));
}

TEST(GemmNamesFaults, ScalesRoundedToPowersOfTwo) {
  NamedContract promised{"", testing::tensor_core_contract(), 89, e4m3, e4m3};
  GemmSetup setup = square(16, 64);
  setup.a = setup.b = e4m3;
  setup.scale_a = setup.scale_b = kVectorScale;
  const auto with = [&](auto round, auto which) {
    Kernel faulty = kernel(promised);
    faulty.scale = [=](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
      const float scale = testing::scale_read(g, side, v, p);
      return which(side) ? std::copysign(std::exp2(round(std::log2(std::fabs(scale)))), scale)
                         : scale;
    };
    return told(faulty, setup);
  };
  const auto up = [](float x) { return std::ceil(x); };
  const auto down = [](float x) { return std::floor(x); };
  EXPECT_EQ(with(up, [](GemmSide) { return true; }),
            "scale_a and scale_b were rounded up to powers of two");
  EXPECT_EQ(with(up, [](GemmSide side) { return side == GemmSide::a; }),
            "scale_a was rounded up to powers of two");
  EXPECT_EQ(with(down, [](GemmSide side) { return side == GemmSide::b; }),
            "scale_b was rounded down to powers of two");
}

TEST(GemmNamesFaults, BlockScalesReadTransposed) {
  const NamedContract promised = testing::scaled_contracts()[0];
  GemmSetup setup = square(12, 150);
  setup.a = promised.a;
  setup.b = promised.b;
  setup.output = f32;
  setup.scale_a = ScaleBlock{1, 32};
  setup.scale_b = ScaleBlock{4, 64};
  Kernel faulty = kernel(promised);
  faulty.scale = [](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
    if (side == GemmSide::a) return testing::scale_read(g, side, v, p);
    return g.value(g.scale_b, v / 4 * 3 + p / 64);
  };
  EXPECT_EQ(told(faulty, setup), "scale_b was read transposed");
  faulty.scale = [](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
    if (side == GemmSide::b) return testing::scale_read(g, side, v, p);
    return g.value(g.scale_a, v * 4 + p / 32);
  };
  EXPECT_EQ(told(faulty, setup),
            "rows of scale_a were taken to have 4 entries, the whole blocks of k alone");
}

// Sums beyond 2^24.
void large_integers(Gemm& gemm) {
  Random random(5);
  for (Tensor* tensor : {&gemm.a, &gemm.b}) {
    for (std::int64_t p = 0; p < tensor->layout.count(); ++p)
      tensor->set_bits(p, 0x50 + random.below(0x30));
  }
}

TEST(GemmNamesFaults, IntegersCarriedInF32) {
  Contract contract;
  contract.unit = Unit::int32;
  const NamedContract promised{"int8", contract, 80, s8, s8};
  GemmSetup setup = square(6, 3000);
  setup.a = setup.b = s8;
  setup.output = s32;
  Kernel faulty = kernel(promised);
  faulty.integer_sum = [](const Gemm&, std::int64_t sum, std::int64_t, std::int64_t) {
    return static_cast<std::int64_t>(static_cast<float>(sum));
  };
  EXPECT_EQ(told(faulty, setup, large_integers),
            "the integer sum went through f32, which rounds beyond 2^24");
  faulty.integer_sum = [](const Gemm& g, std::int64_t, std::int64_t i, std::int64_t j) {
    float sum = 0;
    const std::vector<float> row = g.row(0, i), column = g.column(0, j);
    for (std::size_t p = 0; p < row.size(); ++p) sum += row[p] * column[p];
    return static_cast<std::int64_t>(sum);
  };
  EXPECT_EQ(told(faulty, setup, large_integers), "the integer sum was carried in f32");
}

TEST(GemmNamesFaults, ZeroPointsTakenOutInF32) {
  Contract contract;
  contract.unit = Unit::int32;
  const NamedContract promised{"int8", contract, 80, u8, s8};
  GemmSetup setup = square(6, 4100);
  setup.a = u8;
  setup.b = s8;
  setup.output = f32;
  setup.zero_a = 255;
  setup.zero_b = -7;
  Kernel faulty = kernel(promised);
  faulty.integer_sum = [](const Gemm& g, std::int64_t, std::int64_t i, std::int64_t j) {
    std::int64_t sum = 0, of_row = 0, of_column = 0;
    const std::vector<float> row = g.row(0, i), column = g.column(0, j);
    for (std::size_t p = 0; p < row.size(); ++p) {
      sum += static_cast<std::int64_t>(row[p]) * static_cast<std::int64_t>(column[p]);
      of_row += static_cast<std::int64_t>(row[p]);
      of_column += static_cast<std::int64_t>(column[p]);
    }
    float x = static_cast<float>(sum);
    x -= static_cast<float>(255 * of_column);
    x -= static_cast<float>(-7 * of_row);
    x += static_cast<float>(std::int64_t{4100} * 255 * -7);
    return static_cast<std::int64_t>(x);
  };
  EXPECT_EQ(told(faulty, setup, large_integers), "zero points were taken out of the sum in f32");
}

TEST(GemmNamesFaults, TwoAccumulatorsJoined) {
  Contract contract;
  contract.unit = Unit::fma_f32;
  const NamedContract promised{"fma", contract, 80, f32, f32};
  GemmSetup setup = square(12, 64);
  setup.a = setup.b = setup.output = f32;
  Kernel faulty = kernel(promised);
  float joined = 0;
  faulty.products = [&](std::vector<float>& row, std::vector<float>& column) {
    float sums[2] = {0, 0};
    for (std::size_t p = 0; p < row.size(); ++p)
      sums[p % 2] = std::fma(row[p], column[p], sums[p % 2]);
    joined = sums[0] + sums[1];
  };
  faulty.accumulator = [&](float) { return joined; };
  Gemm gemm(setup);
  faulty.run(gemm);
  const GemmOracle oracle(gemm.problem, promised.contract, promised.sm);
  EXPECT_THAT(oracle.explain(0, 5, gemm.d).faults.names,
              ::testing::Contains(HasSubstr("blocks of 1 of k in turn to 2 accumulators")));
}

TEST(GemmNamesFaults, PromotionsElsewhere) {
  const NamedContract promised{"", testing::promoted(testing::tensor_core_contract(), 128), 89,
                               e4m3, e4m3};
  GemmSetup setup = square(8, 1024);
  setup.a = setup.b = e4m3;
  setup.output = f32;
  setup.data = testing::Data::positive;
  const auto with = [&](const Contract& kept) {
    Gemm gemm(setup);
    Kernel faulty = kernel(promised);
    faulty.promised.contract = kept;
    faulty.run(gemm);
    return first_fault(gemm, promised);
  };
  EXPECT_EQ(with(testing::promoted(testing::tensor_core_contract(), 256)),
            "the promotion to f32 came every 256 of k, not every 128");
  EXPECT_EQ(with(testing::tensor_core_contract()),
            "the promotion to f32 every 128 of k was left out");
}

TEST(GemmNamesFaults, SumsRoundedBeforeTheEpilogue) {
  GemmSetup setup = square(12, 60);
  setup.bias = BiasKind::per_column;
  setup.alpha = 0.7f;
  setup.output = f32;
  for (const FormatId narrow : {bf16, f16}) {
    Kernel faulty = kernel(hopper_bf16());
    faulty.accumulator = [=](float x) {
      return static_cast<float>(
          to_double(format(narrow), encode(format(narrow), static_cast<double>(x))));
    };
    EXPECT_EQ(told(faulty, setup), "the sum was rounded to " + std::string(format(narrow).name) +
                                       " before the epilogue");
  }
}

TEST(GemmNamesFaults, ABiasOnTheOtherSideOfAFactor) {
  GemmSetup setup = square(10, 40);
  setup.bias = BiasKind::per_column;
  setup.alpha = 0.7f;
  setup.output = f32;
  Gemm gemm(setup);
  kernel(with_steps({EpilogueStep::alpha, EpilogueStep::bias})).run(gemm);
  EXPECT_EQ(first_fault(gemm, with_steps({EpilogueStep::bias, EpilogueStep::alpha})),
            "the bias was added after \"alpha\"");
}

TEST(GemmNamesFaults, ABiasOfThePlaceWithinATile) {
  GemmSetup setup = square(40, 40);
  setup.bias = BiasKind::per_column;
  Kernel faulty = kernel(hopper_bf16());
  faulty.bias_index = [](std::int64_t, std::int64_t j) { return j % 32; };
  EXPECT_EQ(told(faulty, setup), "the bias was taken by the column's number within a tile of 32");
}

TEST(GemmNamesFaults, NanThatReluMakesZero) {
  GemmSetup setup = square(10, 40);
  setup.relu = true;
  Gemm gemm(setup);
  for (std::int64_t p = 0; p < 40; ++p) gemm.a.set_bits(3 * 40 + p, 0x7fc0);
  kernel(hopper_bf16()).run(gemm);
  for (std::int64_t j = 0; j < 10; ++j) gemm.d.set_bits(3 * 10 + j, 0);
  EXPECT_EQ(
      first_fault(gemm, hopper_bf16()),
      "relu made 0 of NaN, as fmaxf(x, 0) does (the epilogue step \"relu max\" promises that)");
  // A contract may promise that; then NaN is wrong.
  NamedContract promised = hopper_bf16();
  promised.contract.epilogue = {EpilogueStep::relu_max};
  EXPECT_EQ(GemmOracle(gemm.problem, promised.contract, promised.sm).judge(0, gemm.d, {}).failed,
            0);
  gemm.d.set_bits(3 * 10, 0x7fc0);
  EXPECT_EQ(GemmOracle(gemm.problem, promised.contract, promised.sm).judge(0, gemm.d, {}).failed,
            1);
}

// (0x7fffffff + 0x7fff + 1) >> 16 is 0x8000.
TEST(GemmNamesFaults, NanThatBecomesMinusZero) {
  GemmSetup setup = square(10, 40);
  Gemm gemm(setup);
  for (std::int64_t p = 0; p < 40; ++p) gemm.a.set_bits(3 * 40 + p, 0x7fc0);
  kernel(hopper_bf16()).run(gemm);
  for (std::int64_t j = 0; j < 10; ++j) gemm.d.set_bits(3 * 10 + j, 0x8000);
  EXPECT_EQ(first_fault(gemm, hopper_bf16()),
            "NaN became -0: the bits of an f32 were rounded to bf16 by an addition that carries "
            "into the sign of NaN");
}

// bf16 products are exact in f32 unless they overflow: 2^128 - 2^127 is a number for an fma alone.
TEST(GemmNamesFaults, ProductsThatAreRoundedBeforeTheyAreAdded) {
  NamedContract promised = hopper_bf16();
  promised.contract.unit = Unit::fma_f32;
  GemmSetup setup = square(10, 37);
  setup.output = f32;
  Gemm gemm(setup);
  const auto power = [](int exponent) { return encode(format(bf16), std::ldexp(1.0, exponent)); };
  const std::uint64_t minus = 0x8000;
  gemm.a.set_bits(3 * 37, minus | power(100));
  gemm.a.set_bits(3 * 37 + 1, power(100));
  gemm.b.set_bits(4, power(27));
  gemm.b.set_bits(10 + 4, power(28));
  const PreparedGemm prepared(gemm.problem, promised.contract, promised.sm, 1);
  for (std::int64_t index = 0; index < gemm.d.layout.count(); ++index) {
    const GemmPlace at = prepared.place(index);
    float sum = 0;
    for (std::int64_t p = 0; p < 37; ++p) {
      const float product = prepared.row(at)[p] * prepared.column(at)[p];
      sum += product;
    }
    gemm.d.set_bits(index, std::bit_cast<std::uint32_t>(sum));
  }
  EXPECT_EQ(first_fault(gemm, promised),
            "each product was rounded to f32 before it was added: a multiplication and an addition "
            "in place of an fma");
}

// Of some thousand faults some give any one number. An activation is not applied once, and of many
// tiles that would do nobody knows which it was.
TEST(GemmNamesFaults, OneWrongElementIsExplainedByNoChance) {
  Gemm gemm(square(24, 512));
  kernel(hopper_bf16()).run(gemm);
  const Tensor right = gemm.d;
  std::set<std::string> told;
  for (std::int64_t index = 5; index < 24 * 24; index += 23) {
    for (const double factor : {0.0, 0.9, 1.1, 1.3}) {
      const double value = to_double(format(bf16), right.bits(index));
      gemm.d = right;
      gemm.d.set_bits(index, encode(format(bf16), factor * value));
      const GemmOracle oracle(gemm.problem, hopper_bf16().contract, 90);
      if (oracle.element(0, index, gemm.d.bits(index)).pass) continue;
      const NamedFaults faults = oracle.explain(0, index, gemm.d).faults;
      EXPECT_LE(faults.names.size(), 4u) << index << ' ' << factor;
      told.insert(faults.names.begin(), faults.names.end());
      told.insert(faults.unnamed);
    }
  }
  EXPECT_THAT(told, Not(Contains(HasSubstr("although there is none"))));
  EXPECT_THAT(told, Contains(HasSubstr("too many to tell")));
  EXPECT_THAT(told, Contains(HasSubstr("the output is 0")));
}

TEST(GemmNamesFaults, ZerosThatAreSkipped) {
  GemmSetup setup = square(10, 40);
  Gemm gemm(setup);
  for (std::int64_t i = 0; i < 10; ++i) gemm.a.set_bits(i * 40 + 7, 0);
  kernel(hopper_bf16()).run(gemm);
  gemm.b.set_bits(7 * 10 + 4, 0x7fc0);
  EXPECT_EQ(first_fault(gemm, hopper_bf16()),
            "products with 0 were left out, those of NaN and infinities too");
}

TEST(GemmNamesFaults, OutputsThatAreTooSmallToBeStored) {
  GemmSetup setup = square(10, 1);
  Gemm gemm(setup);
  for (std::int64_t i = 0; i < 10; ++i) {
    gemm.a.set_bits(i, static_cast<std::uint64_t>(0x1f80 + 0x20 * i));
    gemm.b.set_bits(i, static_cast<std::uint64_t>(0x1f80 + 0x30 * i));
  }
  kernel(hopper_bf16()).run(gemm);
  for (std::int64_t p = 0; p < 100; ++p) {
    if (gemm.d.bits(p) < 0x80) gemm.d.set_bits(p, 0);
  }
  EXPECT_EQ(first_fault(gemm, hopper_bf16()),
            "outputs below the smallest normal bf16 were stored as 0");
}

TEST(GemmNamesFaults, OneActivationForAnother) {
  const NamedContract all =
      with_steps({EpilogueStep::bias, EpilogueStep::relu, EpilogueStep::gelu_erff,
                  EpilogueStep::gelu_tanh_tanhf, EpilogueStep::silu_expf});
  GemmSetup setup = square(12, 40);
  setup.bias = BiasKind::per_column;
  setup.output = f32;
  const auto with = [&](Activation promised, Activation done) {
    setup.activation = promised;
    Kernel faulty = kernel(all);
    faulty.problem = [](GemmProblem& problem) { problem.activation = Activation::none; };
    faulty.smooth = [=](float x) {
      return done == Activation::none
                 ? x
                 : static_cast<float>(activation_value(done, static_cast<double>(x)));
    };
    return told(faulty, setup);
  };
  using enum Activation;
  EXPECT_THAT(with(gelu, gelu_tanh), HasSubstr("the activation was gelu_tanh instead of gelu"));
  EXPECT_THAT(with(gelu, silu), HasSubstr("the activation was silu instead of gelu"));
  EXPECT_THAT(with(silu, gelu), HasSubstr("the activation was gelu instead of silu"));
  EXPECT_THAT(with(relu, silu), HasSubstr("the activation was silu instead of relu"));
  EXPECT_THAT(with(silu, relu), HasSubstr("the activation was relu instead of silu"));
  EXPECT_EQ(with(silu, none), "silu was not applied");
  EXPECT_EQ(with(none, relu), "relu was applied although there is none");
  EXPECT_EQ(with(none, silu), "silu was applied although there is none");
}

TEST(GemmNamesFaults, FormulasGoneWrong) {
  GemmSetup setup = square(12, 40);
  setup.output = f32;
  setup.activation = Activation::silu;
  Kernel faulty = kernel(with_steps({EpilogueStep::silu_expf}));
  faulty.smooth = [](float x) { return x / (1 + std::exp(x)); };
  EXPECT_EQ(told(faulty, setup), "silu's exponential lacks its minus: x / (1 + e^x)");
}

// The contract lists no step: beta * C is added all the same, with its roundings.
TEST(GemmNamesFaults, AFusedBetaThatTheContractLeavesOut) {
  GemmSetup setup = square(16, 40);
  setup.output = f32;
  setup.beta = 0.3f;
  Gemm gemm(setup);
  Kernel without = kernel(hopper_bf16());
  without.problem = [](GemmProblem& problem) { problem.beta = 0; };
  without.run(gemm);
  for (std::int64_t index = 0; index < gemm.d.layout.count(); ++index) {
    const float sum = std::bit_cast<float>(static_cast<std::uint32_t>(gemm.d.bits(index)));
    const float d = std::fma(0.3f, gemm.value(gemm.c, index), sum);
    gemm.d.set_bits(index, std::bit_cast<std::uint32_t>(d));
  }
  EXPECT_EQ(first_fault(gemm, hopper_bf16()), "beta * C was added by fma: \"beta_c fma\"");
}

TEST(GemmNamesFaults, ConstantsMistyped) {
  GemmSetup setup = square(16, 40);
  setup.output = f32;
  setup.alpha = 0.7f;
  setup.bias = BiasKind::per_column;
  Kernel faulty = kernel(hopper_bf16());
  faulty.problem = [](GemmProblem& problem) { problem.alpha = 0.71f; };
  EXPECT_EQ(told(faulty, setup), "alpha was 0.71 instead of 0.7");
  setup.beta = 0.3f;
  faulty.problem = [](GemmProblem& problem) { problem.beta = 0.03f; };
  EXPECT_EQ(told(faulty, setup), "beta was 0.03 instead of 0.3");

  setup = square(16, 40);
  setup.output = f32;
  setup.activation = Activation::gelu_tanh;
  faulty = kernel(with_steps({EpilogueStep::gelu_tanh_tanhf}));
  faulty.smooth = [](float x) { return gelu_tanh(x, 0.047715); };
  EXPECT_EQ(told(faulty, setup),
            "the constant 0.044715 of gelu's tanh was 0.047715 instead of 0.044715");

  setup.activation = Activation::gelu;
  faulty = kernel(with_steps({EpilogueStep::gelu_erff}));
  faulty.smooth = [](float x) { return x / 2 * (1 + std::erf(0.70170678f * x)); };
  EXPECT_THAT(told(faulty, setup), HasSubstr("the constant 1 / sqrt(2) of gelu's erf was 0.7017"));

  setup.activation = Activation::silu;
  faulty = kernel(with_steps({EpilogueStep::silu_expf}));
  faulty.smooth = [](float x) { return x / (1 + std::exp(-1.702f * x)); };
  EXPECT_EQ(told(faulty, setup), "the factor of x in silu's exponential was 1.702 instead of 1");
}

// Wrong outputs of different causes agree on no constant.
TEST(GemmNamesFaults, NoConstantForRandomErrors) {
  GemmSetup setup = square(16, 40);
  setup.output = f32;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  Random random(9);
  for (std::int64_t p = 0; p < 256; ++p) gemm.d.set_bits(p, gemm.d.bits(p) ^ random.below(1 << 18));
  EXPECT_EQ(first_fault(gemm, hopper_bf16()), "nothing");
}

struct Dequantizing {
  NamedContract promised{"dequantized", testing::tensor_core_contract(), 80, bf16, s8};
  GemmSetup setup = square(14, 70);

  Dequantizing() {
    promised.contract.dequantize_b = bf16;
    setup.b = s8;
    setup.scale_b = ScaleBlock{1, 1};
    setup.scale_size = 0x1p-6;
    setup.output = f32;
  }

  // `value`: what a code times its scale becomes; `scale_from`: which row of scales is read.
  std::string told(const std::function<float(float code, float scale)>& value,
                   std::int64_t rows_on = 0) const {
    Gemm gemm(setup);
    for (std::int64_t index = 0; index < gemm.problem.outputs(); ++index) {
      const std::int64_t i = index / gemm.problem.n, j = index % gemm.problem.n;
      std::vector<float> row = gemm.row(0, i), column;
      for (std::int64_t p = 0; p < gemm.problem.k; ++p) {
        const std::int64_t from = std::min(p + rows_on, gemm.problem.k - 1);
        column.push_back(value(gemm.value(gemm.b, p * gemm.problem.n + j),
                               testing::scale_read(gemm, GemmSide::b, j, from)));
      }
      const float x = run_accumulator(promised.contract, promised.sm, bf16, bf16, row.data(),
                                      column.data(), gemm.problem.k, {})
                          .value;
      gemm.d.set_bits(index, std::bit_cast<std::uint32_t>(x));
    }
    const GemmProblem problem = with_dequantized_b(gemm.problem, bf16);
    const GemmOracle oracle(problem, promised.contract, promised.sm);
    const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
    if (verdict.failed == 0) return "passed";
    const Explanation explanation = oracle.explain(0, verdict.worst.index, gemm.d);
    return explanation.faults.names.empty() ? "nothing" : explanation.faults.names[0];
  }
};

TEST(GemmNamesFaults, OperandsDequantizedOtherwise) {
  const Dequantizing kernel;
  const auto rounded = [](float x, Rounding rounding) {
    return static_cast<float>(to_double(
        format(bf16), encode(format(bf16), static_cast<double>(x), {.rounding = rounding})));
  };
  const auto nearest = [=](float x) { return rounded(x, Rounding::nearest_even); };
  EXPECT_EQ(kernel.told([=](float code, float scale) { return nearest(code * scale); }), "passed");
  EXPECT_EQ(kernel.told([=](float code, float scale) {
    return rounded(code * scale, Rounding::toward_zero);
  }),
            "B was truncated to bf16 when it was dequantized, not rounded to nearest");
  EXPECT_EQ(kernel.told([=](float code, float scale) { return nearest(code * nearest(scale)); }),
            "scales of B were rounded to bf16 before B was dequantized");
  EXPECT_EQ(kernel.told([=](float code, float scale) { return nearest(code * scale); }, 1),
            "B was dequantized with the scale of the next row");
}

// It says no more of a pass than that there is nothing to explain.
TEST(GemmNamesFaults, NothingOfConformingOutputs) {
  Gemm gemm(square(12, 40));
  kernel(hopper_bf16()).run(gemm);
  const GemmOracle oracle(gemm.problem, hopper_bf16().contract, 90);
  for (std::int64_t p = 0; p < 144; ++p)
    EXPECT_THAT(oracle.explain(0, p, gemm.d).faults.names, ::testing::IsEmpty()) << p;
}

}  // namespace
}  // namespace plumbline
