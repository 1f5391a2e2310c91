// SPDX-License-Identifier: MIT
// s8 and u8 with scales along k: int32 sums of blocks that become f32, are scaled and added up.
// Kernels that do that pass, however they round on the way; scales of another block, sums left out
// and a chain that is scaled once at the end do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using testing::Gemm;
using testing::GemmSetup;
using testing::Kernel;
using testing::NamedContract;

NamedContract promised_with(FormatId a, std::int64_t interval) {
  NamedContract named{"scaled int32", {}, 80, a, FormatId::s8};
  named.contract.unit = Unit::int32;
  named.contract = testing::scaled(named.contract, interval);
  return named;
}

GemmSetup setup_of(FormatId a, std::int64_t interval, std::uint64_t seed) {
  GemmSetup setup;
  setup.a = a;
  setup.b = FormatId::s8;
  setup.k = interval * 2 + interval / 3;
  setup.scale_a = ScaleBlock{1, interval};
  setup.scale_b = seed % 2 == 0 ? ScaleBlock{4, interval} : kVectorScale;
  setup.zero_a = seed % 3 == 0 ? 101 : 0;
  setup.zero_b = seed % 5 == 0 ? -255 : 0;
  setup.output = seed % 2 == 0 ? FormatId::f32 : FormatId::bf16;
  setup.bias = seed % 4 == 0 ? BiasKind::per_row : BiasKind::none;
  setup.scale_size = 0x1p-10;
  setup.seed = seed;
  return setup;
}

// The kernel of the fixture multiplies what it reads: zero points come off first.
Kernel kernel_of(const Gemm& gemm, const NamedContract& promised) {
  Kernel out = testing::kernel(promised);
  out.products = [&gemm](std::vector<float>& row, std::vector<float>& column) {
    for (float& x : row) x -= static_cast<float>(gemm.problem.zero_a);
    for (float& x : column) x -= static_cast<float>(gemm.problem.zero_b);
  };
  return out;
}

OutputVerdict judged(const Gemm& gemm, const NamedContract& promised) {
  return GemmOracle(gemm.problem, promised.contract, promised.sm).judge(0, gemm.d, {});
}

TEST(GemmScaledIntegers, ConformingKernelsPass) {
  for (const FormatId a : {FormatId::s8, FormatId::u8}) {
    for (const std::int64_t interval : {32, 128, 2048}) {
      for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        Gemm gemm(setup_of(a, interval, seed));
        const NamedContract promised = promised_with(a, interval);
        ASSERT_TRUE(promised.contract.check(80, a, FormatId::s8).ok());
        ASSERT_TRUE(check_gemm(gemm.problem, promised.contract).ok());
        kernel_of(gemm, promised).run(gemm);
        const OutputVerdict verdict = judged(gemm, promised);
        ASSERT_EQ(verdict.failed, 0) << interval << " seed " << seed;
        ASSERT_EQ(verdict.disagreements, 0);
        ASSERT_EQ(verdict.unresolved, 0);
      }
    }
  }
}

// Sums of this size have more than 24 bits, and become f32 with an error.
TEST(GemmScaledIntegers, LargeSumsAreRoundedOnce) {
  GemmSetup setup = setup_of(FormatId::u8, 2048, 15);
  setup.output = FormatId::f32;
  setup.bias = BiasKind::none;
  setup.scale_b = kTensorScale;
  setup.scale_a = ScaleBlock{1, 2048};
  setup.k = 2048;
  Gemm gemm(setup);
  const NamedContract promised = promised_with(FormatId::u8, 2048);
  for (std::int64_t at = 0; at < gemm.a.layout.count(); ++at) gemm.a.set_bits(at, 255 - at % 3);
  for (std::int64_t at = 0; at < gemm.b.layout.count(); ++at) gemm.b.set_bits(at, 127 - at % 5);
  gemm.problem.zero_a = 0;
  kernel_of(gemm, promised).run(gemm);
  const OutputVerdict verdict = judged(gemm, promised);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_LT(verdict.exact_required, verdict.elements);
}

TEST(GemmScaledIntegers, SmallSumsWithScalesThatArePowersOfTwoAreExact) {
  GemmSetup setup = setup_of(FormatId::s8, 128, 2);
  Gemm gemm(setup);
  for (Tensor* scales : {&gemm.scale_a, &gemm.scale_b}) {
    for (std::int64_t at = 0; at < scales->layout.count(); ++at)
      scales->set_bits(at, std::bit_cast<std::uint32_t>(at % 2 == 0 ? 0.25f : 0.5f));
  }
  const NamedContract promised = promised_with(FormatId::s8, 128);
  kernel_of(gemm, promised).run(gemm);
  const OutputVerdict verdict = judged(gemm, promised);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_GT(verdict.exact_required, 0);
  gemm.d.set_bits(0, gemm.d.bits(0) ^ 1);
  EXPECT_EQ(judged(gemm, promised).failed, 1);
}

TEST(GemmScaledIntegers, FaultsAreCaught) {
  const NamedContract promised = promised_with(FormatId::s8, 128);
  for (std::uint64_t seed = 2; seed <= 8; seed += 2) {
    Gemm gemm(setup_of(FormatId::s8, 128, seed));
    const auto caught = [&](const Kernel& faulty) {
      faulty.run(gemm);
      return judged(gemm, promised).failed > gemm.problem.outputs() / 3;
    };
    Kernel shifted = kernel_of(gemm, promised);
    shifted.scale = [](const Gemm& all, GemmSide side, std::int64_t vector, std::int64_t p) {
      return testing::scale_read(all, side, vector, p >= 128 ? p - 128 : p);
    };
    EXPECT_TRUE(caught(shifted)) << seed;
    Kernel once = kernel_of(gemm, promised);
    once.scale = [](const Gemm& all, GemmSide side, std::int64_t vector, std::int64_t) {
      return testing::scale_read(all, side, vector, 0);
    };
    EXPECT_TRUE(caught(once)) << seed;
    Kernel short_of_one = kernel_of(gemm, promised);
    const auto rest = short_of_one.products;
    short_of_one.products = [rest](std::vector<float>& row, std::vector<float>& column) {
      rest(row, column);
      row[130] = 0;
    };
    short_of_one.run(gemm);
    EXPECT_GT(judged(gemm, promised).failed, 0) << seed;
  }
}

}  // namespace
}  // namespace plumbline
