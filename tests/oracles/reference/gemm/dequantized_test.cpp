// SPDX-License-Identifier: MIT
// GEMMs whose B becomes bf16 or f16 before it is multiplied: the operand is the definition's, a
// kernel that computes so is never accused, and one that scales afterwards is.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracles/exact/real.h"
#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using testing::Gemm;
using testing::GemmSetup;
using testing::Kernel;
using testing::NamedContract;

NamedContract dequantizing(FormatId b, FormatId to) {
  NamedContract named{"dequantized", testing::tensor_core_contract(), 80, to, b};
  named.contract.dequantize_b = to;
  named.contract.epilogue = {EpilogueStep::bias};
  return named;
}

GemmSetup setup_of(FormatId b, FormatId to, std::uint64_t seed) {
  GemmSetup setup;
  setup.a = to;
  setup.b = b;
  setup.k = 150;
  setup.output = seed % 2 == 0 ? FormatId::f32 : FormatId::bf16;
  setup.scale_b = seed % 3 == 0 ? ScaleBlock{1, 0} : ScaleBlock{seed % 3 == 1 ? 1 : 128, 128};
  setup.zero_b = format(b).is_integer && seed % 4 == 1 ? 7 : 0;
  setup.bias = BiasKind::per_column;
  setup.scale_size = 0x1p-6;
  setup.seed = seed;
  return setup;
}

// What the kernel multiplies: rounded to f32, then to the format.
float multiplied(const Gemm& gemm, FormatId to, std::int64_t p, std::int64_t j) {
  const float stored = gemm.value(gemm.b, p * gemm.problem.n + j);
  const float product = (stored - static_cast<float>(gemm.problem.zero_b)) *
                        testing::scale_read(gemm, GemmSide::b, j, p);
  return static_cast<float>(
      to_double(format(to), encode(format(to), static_cast<double>(product))));
}

// `scaled_before`: as promised; else the sum of the integers is scaled.
void run(Gemm& gemm, const NamedContract& promised, bool scaled_before) {
  const FormatId to = *promised.contract.dequantize_b;
  for (std::int64_t index = 0; index < gemm.problem.outputs(); ++index) {
    const std::int64_t i = index / gemm.problem.n, j = index % gemm.problem.n;
    std::vector<float> row = gemm.row(0, i), column;
    for (std::int64_t p = 0; p < gemm.problem.k; ++p) {
      column.push_back(scaled_before ? multiplied(gemm, to, p, j)
                                     : gemm.value(gemm.b, p * gemm.problem.n + j) -
                                           static_cast<float>(gemm.problem.zero_b));
    }
    float x = run_accumulator(promised.contract, promised.sm, to, to, row.data(), column.data(),
                              gemm.problem.k, {})
                  .value;
    if (!scaled_before) x *= testing::scale_read(gemm, GemmSide::b, j, 0);
    x += gemm.value(gemm.bias, j);
    gemm.d.set_bits(index, encode(format(gemm.problem.output), static_cast<double>(x)));
  }
}

OutputVerdict judged(const Gemm& gemm, const NamedContract& promised) {
  const GemmProblem problem = with_dequantized_b(gemm.problem, *promised.contract.dequantize_b);
  return GemmOracle(problem, promised.contract, promised.sm).judge(0, gemm.d, {});
}

constexpr FormatId kStored[] = {FormatId::s8, FormatId::u8, FormatId::e4m3};
constexpr FormatId kMultiplied[] = {FormatId::bf16, FormatId::f16};

TEST(DequantizedGemm, TheOperandIsTheDefinitionsOverMpfr) {
  using Number = RealOf<256>;
  for (const FormatId from : kStored) {
    for (const FormatId to : kMultiplied) {
      for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const Gemm gemm(setup_of(from, to, seed));
        const GemmProblem problem = with_dequantized_b(gemm.problem, to);
        ASSERT_EQ(problem.b->layout.format, to);
        ASSERT_EQ(problem.scale_b, nullptr);
        ASSERT_EQ(problem.zero_b, 0);
        for (std::int64_t at = 0; at < problem.b->layout.count(); ++at) {
          const Number stored =
              real_value<Number>(format(from), gemm.b.bits(at)) - gemm.problem.zero_b;
          const Number scale = Number(static_cast<double>(
              testing::scale_read(gemm, GemmSide::b, at % gemm.problem.n, at / gemm.problem.n)));
          const Format& f32 = format(FormatId::f32);
          const double product = to_double(f32, encode(f32, Real(stored * scale)));
          ASSERT_EQ(problem.b->bits(at), encode(format(to), product)) << seed << " at " << at;
        }
      }
    }
  }
}

TEST(DequantizedGemm, ConformingKernelsAreNeverAccused) {
  for (const FormatId from : kStored) {
    for (const FormatId to : kMultiplied) {
      for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        Gemm gemm(setup_of(from, to, seed));
        const NamedContract promised = dequantizing(from, to);
        ASSERT_TRUE(promised.contract.check(80, to, from).ok());
        ASSERT_TRUE(check_gemm(gemm.problem, promised.contract).ok());
        run(gemm, promised, true);
        const OutputVerdict verdict = judged(gemm, promised);
        ASSERT_EQ(verdict.failed, 0) << format(from).name << " seed " << seed;
        EXPECT_EQ(verdict.disagreements, 0);
      }
    }
  }
}

TEST(DequantizedGemm, ScalingAfterwardsIsCaught) {
  for (const FormatId from : {FormatId::s8, FormatId::e4m3}) {
    GemmSetup setup = setup_of(from, FormatId::bf16, 6);
    setup.scale_b = kVectorScale;
    Gemm gemm(setup);
    const NamedContract promised = dequantizing(from, FormatId::bf16);
    run(gemm, promised, false);
    EXPECT_GT(judged(gemm, promised).failed, gemm.problem.outputs() / 4) << format(from).name;
  }
}

TEST(DequantizedGemm, WrongWordsHaveClearErrors) {
  using enum FormatId;
  Contract contract = testing::tensor_core_contract();
  const auto error = [&](FormatId a, FormatId b) {
    const Status status = contract.check(80, a, b);
    return status.ok() ? std::string("none")
                       : fmt::format("{} ({})", status.error().message, status.error().hint);
  };
  EXPECT_EQ(error(bf16, s8),
            "no unit multiplies bf16 x s8 (say what B becomes first: dequantize_b = \"bf16\" or "
            "\"f16\")");
  EXPECT_EQ(error(s8, bf16),
            "no unit multiplies s8 x bf16 (only B can be dequantized (dequantize_b): exchange the "
            "operands)");
  EXPECT_EQ(error(s8, s8), "s8 operands need unit int32 ()");
  contract.dequantize_b = bf16;
  EXPECT_EQ(error(bf16, s8), "none");
  EXPECT_EQ(error(bf16, e4m3), "none");
  EXPECT_EQ(error(f16, s8),
            "sm_80 has no mma.sync for f16 x bf16 with an f32 accumulator (choose "
            "another target or another unit)");
  contract.epilogue = {EpilogueStep::scale_b};
  EXPECT_EQ(error(bf16, s8),
            "B's scales are applied twice: before the product (dequantize_b) and in the epilogue "
            "(remove \"scale_b\" and \"scale_ab\" from the epilogue)");
  contract.epilogue.clear();
  contract.unit = Unit::int32;
  EXPECT_EQ(error(s8, s8),
            "unit int32 cannot take s8 x bf16 (a B that was dequantized needs a unit "
            "for floating-point operands)");
}

TEST(DequantizedGemm, TheContractSaysSoInWords) {
  const NamedContract promised = dequantizing(FormatId::s8, FormatId::bf16);
  EXPECT_THAT(promised.contract.describe(80, FormatId::bf16, FormatId::s8),
              ::testing::HasSubstr("operands: b becomes bf16(fl((b - zero_b) * scale_b))\n"
                                   "products: mma.sync bf16 on sm_80"));
}

}  // namespace
}  // namespace plumbline
