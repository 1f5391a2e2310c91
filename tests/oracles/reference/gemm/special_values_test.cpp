// SPDX-License-Identifier: MIT
// NaN, Inf and overflow in whole GEMMs: which class is due where, and that no other is accepted.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using testing::Data;
using testing::Gemm;
using testing::GemmSetup;
using testing::hopper_bf16;
using testing::kernel;

constexpr std::uint64_t kNan = 0x7fc0, kInf = 0x7f80, kMinusInf = 0xff80;  // bf16

OutputVerdict judged(const Gemm& gemm, const testing::NamedContract& promised = hopper_bf16()) {
  return GemmOracle(gemm.problem, promised.contract, promised.sm).judge(0, gemm.d, {});
}

TEST(GemmSpecialValues, KernelsThatKeepTheContractPass) {
  const std::uint64_t specials[] = {kNan,   0xffff, kInf,   kMinusInf, 0x0000,
                                    0x8000, 0x0001, 0x7f7f, 0xff7f};
  std::int64_t special_outputs = 0;
  for (const testing::NamedContract& promised : testing::bound_contracts()) {
    if (promised.a != FormatId::bf16) continue;
    Random random(3);
    for (int repeat = 0; repeat < 24; ++repeat) {
      GemmSetup setup;
      setup.seed = static_cast<std::uint64_t>(repeat);
      setup.alpha = repeat % 3 == 0 ? 1.0f : repeat % 3 == 1 ? -2.0f : 0.0f;
      setup.beta = repeat % 2 == 0 ? 0.0f : 1.5f;
      setup.relu = repeat % 4 >= 2;
      setup.output = repeat % 5 == 0 ? FormatId::f32 : FormatId::bf16;
      Gemm gemm(setup);
      for (Tensor* tensor : {&gemm.a, &gemm.b, &gemm.c}) {
        for (int s = 0; s < 6; ++s) {
          tensor->set_bits(static_cast<std::int64_t>(
                               random.below(static_cast<std::uint64_t>(tensor->layout.count()))),
                           specials[random.below(9)]);
        }
      }
      kernel(promised).run(gemm);
      const OutputVerdict verdict = judged(gemm, promised);
      EXPECT_EQ(verdict.failed, 0)
          << promised.name << " repeat " << repeat << " index " << verdict.worst.index;
      EXPECT_EQ(verdict.disagreements, 0) << promised.name << " repeat " << repeat;
      for (std::int64_t index = 0; index < 90; ++index) {
        special_outputs +=
            std::isfinite(to_double(format(setup.output), gemm.d.bits(index))) ? 0 : 1;
      }
    }
  }
  EXPECT_GT(special_outputs, 5000);
}

// One element of A is special; what its row must hold.
TEST(GemmSpecialValues, EveryOtherClassFails) {
  GemmSetup setup;
  setup.data = Data::positive;  // Inf * positive is Inf in the whole row
  for (const std::uint64_t special : {kNan, kInf, kMinusInf}) {
    Gemm gemm(setup);
    for (std::int64_t p = 0; p < gemm.b.layout.count(); ++p) {
      if (gemm.b.bits(p) == 0) gemm.b.set_bits(p, 0x3f80);
    }
    gemm.a.set_bits(2 * setup.k + 5, special);
    kernel(hopper_bf16()).run(gemm);
    ASSERT_EQ(judged(gemm).failed, 0);
    for (const std::uint64_t wrong : {kNan, kInf, kMinusInf, std::uint64_t{0x3f80}}) {
      if (wrong == special) continue;
      const std::uint64_t right = gemm.d.bits(23);
      gemm.d.set_bits(23, wrong);
      const OutputVerdict verdict = judged(gemm);
      EXPECT_EQ(verdict.failed, 1) << special << " " << wrong;
      EXPECT_EQ(verdict.class_mismatches, 1);
      gemm.d.set_bits(23, right);
    }
  }
}

// docs/bounds/checks.md says so of every operation.
TEST(GemmSpecialValues, ZerosOfEitherSignAreEqualAndSoAreNanOfAnyPayload) {
  for (const bool relu : {false, true}) {
    GemmSetup setup;
    setup.relu = relu;
    setup.alpha = -1;
    Gemm gemm(setup);
    for (std::int64_t p = 0; p < gemm.a.layout.count(); ++p) gemm.a.set_bits(p, 0);
    gemm.a.set_bits(2 * setup.k + 5, kNan);
    for (const std::uint64_t zero : {0x0000, 0x8000}) {
      for (const std::uint64_t nan : {0x7fc0, 0xffff, 0x7f81}) {
        const std::int64_t columns = gemm.d.layout.shape.back();
        for (std::int64_t i = 0; i < gemm.d.layout.count(); ++i)
          gemm.d.set_bits(i, i / columns == 2 ? nan : zero);
        EXPECT_EQ(judged(gemm).failed, 0) << zero << " " << nan << " " << relu;
      }
    }
    gemm.d.set_bits(0, 0x0001);
    EXPECT_EQ(judged(gemm).failed, 1);
  }
}

TEST(GemmSpecialValues, BetaZeroIgnoresC) {
  GemmSetup setup;
  Gemm gemm(setup);
  for (std::int64_t p = 0; p < 90; ++p) gemm.c.set_bits(p, kNan);
  kernel(hopper_bf16()).run(gemm);
  EXPECT_EQ(judged(gemm).failed, 0);
  gemm.problem.beta = 1;
  EXPECT_EQ(judged(gemm).class_mismatches, 90);
}

TEST(GemmSpecialValues, AnAccumulatorThatMustOverflowMayNotStayFinite) {
  GemmSetup setup;
  setup.k = 33;
  setup.alpha = 0x1p-100f;  // a kernel that scaled first would stay finite
  Gemm gemm(setup);
  for (std::int64_t p = 0; p < gemm.a.layout.count(); ++p) gemm.a.set_bits(p, 0x7f00);  // 2^127
  for (std::int64_t p = 0; p < gemm.b.layout.count(); ++p) gemm.b.set_bits(p, 0x3f80);
  kernel(hopper_bf16()).run(gemm);
  EXPECT_EQ(gemm.d.bits(0), kInf);
  EXPECT_EQ(judged(gemm).failed, 0);
  gemm.d.set_bits(0, 0x4080);
  EXPECT_EQ(judged(gemm).class_mismatches, 1);
}

TEST(GemmSpecialValues, OverflowOfTheOutputFormatFollowsTheContract) {
  GemmSetup setup;
  setup.output = FormatId::e4m3;
  setup.data = Data::normal;
  setup.alpha = 200;
  for (const Overflow overflow : {Overflow::to_special, Overflow::saturate}) {
    testing::NamedContract promised = hopper_bf16();
    promised.contract.output.overflow = overflow;
    Gemm gemm(setup);
    kernel(promised).run(gemm);
    const OutputVerdict verdict = judged(gemm, promised);
    EXPECT_EQ(verdict.failed, 0);
    EXPECT_LE(verdict.worst_ulp, 0.5);  // saturation where it is due is no error
    promised.contract.output.overflow =
        overflow == Overflow::saturate ? Overflow::to_special : Overflow::saturate;
    EXPECT_GT(judged(gemm, promised).failed, 40);
  }
}

TEST(GemmSpecialValues, HugeAndTinyFiniteValuesPass) {
  for (const int shift : {-75, -66, -60, 55, 60, 62}) {
    for (const testing::NamedContract& promised : testing::bound_contracts()) {
      if (promised.a != FormatId::bf16) continue;
      GemmSetup setup;
      setup.output = FormatId::f32;
      Gemm gemm(setup);
      for (Tensor* tensor : {&gemm.a, &gemm.b}) {
        for (std::int64_t p = 0; p < tensor->layout.count(); ++p) {
          const double x = std::ldexp(to_double(format(FormatId::bf16), tensor->bits(p)), shift);
          tensor->set_bits(p, encode(format(FormatId::bf16), x));
        }
      }
      kernel(promised).run(gemm);
      const OutputVerdict verdict = judged(gemm, promised);
      EXPECT_EQ(verdict.failed, 0) << promised.name << " shift " << shift;
      EXPECT_EQ(verdict.disagreements, 0);
    }
  }
}

}  // namespace
}  // namespace plumbline
