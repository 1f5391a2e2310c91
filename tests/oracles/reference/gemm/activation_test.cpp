// SPDX-License-Identifier: MIT
// GEMMs with gelu, gelu_tanh and silu: a kernel that computes them in any way its contract's word
// covers is never accused; another function, or the function in another place, is caught and named.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracles/base/numbers.h"
#include "oracles/bounds/contract/activation_range.h"
#include "oracles/bounds/contract/describe.h"
#include "oracles/reference/gemm/definition.h"
#include "oracles/reference/gemm/element.h"
#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/bounds/contract/activation_model.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using testing::ActivationModel;
using ::testing::Contains;
using testing::Data;
using testing::Gemm;
using testing::GemmSetup;
using ::testing::HasSubstr;
using testing::Kernel;
using testing::kSmoothSteps;
using testing::NamedContract;

NamedContract with_step(EpilogueStep step, NamedContract named = testing::hopper_bf16()) {
  named.contract.epilogue = {EpilogueStep::alpha, EpilogueStep::beta_c, EpilogueStep::bias, step,
                             EpilogueStep::scale_d};
  return named;
}

NamedContract integers(EpilogueStep step) {
  NamedContract named{"int32", {}, 80, FormatId::s8, FormatId::s8};
  named.contract.unit = Unit::int32;
  named = with_step(step, named);
  named.contract.epilogue.insert(named.contract.epilogue.begin(), EpilogueStep::scale_ab);
  return named;
}

Kernel conforming(EpilogueStep step, const NamedContract& promised, std::uint64_t seed) {
  Kernel out = testing::kernel(promised);
  out.smooth = ActivationModel(step, seed);
  return out;
}

GemmSetup setup_of(EpilogueStep step, std::uint64_t seed) {
  GemmSetup setup;
  setup.activation = activation_of(step);
  setup.k = 1 + static_cast<std::int64_t>(seed % 40);
  setup.bias = seed % 3 == 0   ? BiasKind::none
               : seed % 3 == 1 ? BiasKind::per_row
                               : BiasKind::per_column;
  setup.alpha = seed % 4 == 0 ? 0.37f : 1;
  setup.beta = seed % 5 == 0 ? -1.5f : 0;
  setup.scale_d = seed % 6 == 0;
  constexpr FormatId kOutputs[] = {FormatId::bf16, FormatId::f32, FormatId::f16, FormatId::e4m3};
  setup.output = kOutputs[seed / 2 % 4];
  setup.seed = seed;
  return setup;
}

OutputVerdict judged(const Gemm& gemm, const NamedContract& promised) {
  const GemmOracle oracle(gemm.problem, promised.contract, promised.sm);
  return oracle.judge(0, gemm.d, {});
}

TEST(GemmActivation, ConformingKernelsAreNeverAccused) {
  for (const EpilogueStep step : kSmoothSteps) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      for (const Data data : {Data::normal, Data::cancelling, Data::integers}) {
        const NamedContract promised = with_step(step);
        GemmSetup setup = setup_of(step, seed);
        setup.data = data;
        Gemm gemm(setup);
        conforming(step, promised, seed).run(gemm);
        const OutputVerdict verdict = judged(gemm, promised);
        ASSERT_EQ(verdict.failed, 0)
            << word_of(step) << " seed " << seed << ": got " << verdict.worst.got << ", admissible "
            << verdict.worst.low << " to " << verdict.worst.high << ", exact "
            << verdict.worst.exact;
        EXPECT_EQ(verdict.disagreements, 0);
        EXPECT_EQ(verdict.exact_required, 0);
        EXPECT_GT(verdict.refereed, 0);
      }
    }
  }
}

TEST(GemmActivation, ConformingIntegerKernelsAreNeverAccused) {
  for (const EpilogueStep step : kSmoothSteps) {
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
      GemmSetup setup = setup_of(step, seed);
      setup.a = setup.b = FormatId::s8;
      setup.scale_a = kVectorScale;
      setup.scale_b = kVectorScale;
      setup.scale_size = 0x1p-8;
      const NamedContract promised = integers(step);
      Gemm gemm(setup);
      conforming(step, promised, seed).run(gemm);
      const OutputVerdict verdict = judged(gemm, promised);
      ASSERT_EQ(verdict.failed, 0) << word_of(step) << " seed " << seed;
    }
  }
}

TEST(GemmActivation, AnotherFunctionIsCaughtAndNamed) {
  for (const EpilogueStep step : kSmoothSteps) {
    for (const EpilogueStep done : kSmoothSteps) {
      if (activation_of(done) == activation_of(step)) continue;
      // gelu and gelu_tanh are nowhere farther apart than tanh.approx may be from tanh.
      const bool close =
          step == EpilogueStep::gelu_tanh_tanh_approx && activation_of(done) == Activation::gelu;
      if (close) continue;
      GemmSetup setup = setup_of(step, 1);
      setup.output = FormatId::f32;
      setup.k = 2;
      setup.m = setup.n = 16;
      Gemm gemm(setup);
      conforming(done, with_step(step), 7).run(gemm);
      const NamedContract promised = with_step(step);
      const GemmOracle oracle(gemm.problem, promised.contract, promised.sm);
      const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
      ASSERT_GT(verdict.failed, 20) << word_of(done) << " for " << word_of(step);
      EXPECT_GT(verdict.worst.share, 1);
      EXPECT_THAT(oracle.explain(0, verdict.worst.index, gemm.d).faults.names,
                  Contains(HasSubstr(fmt::format("the activation was {} instead of {}: \"{}\"",
                                                 word_of(activation_of(done)),
                                                 word_of(activation_of(step)), word_of(done)))))
          << word_of(done) << " for " << word_of(step);
    }
  }
}

TEST(GemmActivation, TheCoarserWayIsCaughtAndNamed) {
  const EpilogueStep step = EpilogueStep::gelu_tanh_tanhf,
                     done = EpilogueStep::gelu_tanh_tanh_approx;
  GemmSetup setup = setup_of(step, 1);
  setup.output = FormatId::f32;
  Gemm gemm(setup);
  conforming(done, with_step(step), 3).run(gemm);
  const NamedContract promised = with_step(step);
  const GemmOracle oracle(gemm.problem, promised.contract, promised.sm);
  const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
  ASSERT_GT(verdict.failed, 10);
  EXPECT_THAT(oracle.explain(0, verdict.worst.index, gemm.d).faults.names,
              Contains("the activation was computed in another way: \"gelu_tanh tanh.approx\""));
}

// Far above zero gelu is relu, and its range has every small error in it.
TEST(GemmActivation, ASmallErrorIsNoOtherActivation) {
  GemmSetup setup;
  setup.activation = Activation::relu;
  setup.output = FormatId::f32;
  setup.k = 40;
  Gemm gemm(setup);
  const NamedContract promised = with_step(EpilogueStep::relu);
  testing::kernel(promised).run(gemm);
  int changed = 0;
  for (std::int64_t p = 0; p < gemm.d.layout.count(); ++p) {
    if (to_double(format(FormatId::f32), gemm.d.bits(p)) < 4) continue;
    gemm.d.set_bits(p, gemm.d.bits(p) + 40);
    ++changed;
  }
  ASSERT_GT(changed, 4);
  const GemmOracle oracle(gemm.problem, promised.contract, promised.sm);
  const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
  ASSERT_GT(verdict.failed, 0);
  EXPECT_THAT(oracle.explain(0, verdict.worst.index, gemm.d).faults.names,
              ::testing::Not(Contains(HasSubstr("the activation was"))));
}

TEST(GemmActivation, BeforeTheBiasAndLeftOutAreCaughtAndNamed) {
  for (const EpilogueStep step : kSmoothSteps) {
    GemmSetup setup = setup_of(step, 1);
    setup.k = 3;
    ASSERT_NE(setup.bias, BiasKind::none);
    Gemm early(setup), never(setup);
    Kernel faulty = testing::kernel(with_step(step));
    faulty.run(never);
    faulty.accumulator = ActivationModel(step, 5);
    faulty.run(early);
    const NamedContract promised = with_step(step);
    const auto faults_of = [&](const Gemm& gemm) {
      const GemmOracle oracle(gemm.problem, promised.contract, promised.sm);
      const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
      EXPECT_GT(verdict.failed, 20) << word_of(step);
      return oracle.explain(0, verdict.worst.index, gemm.d).faults.names;
    };
    EXPECT_THAT(faults_of(early), Contains("the activation came before \"bias\"")) << word_of(step);
    EXPECT_THAT(faults_of(never),
                Contains(fmt::format("{} was not applied", word_of(activation_of(step)))));
  }
}

TEST(GemmActivation, SpecialValuesAreThoseOfTheFormula) {
  for (const EpilogueStep step : kSmoothSteps) {
    for (const FormatId output : {FormatId::bf16, FormatId::f32}) {
      GemmSetup setup = setup_of(step, 1);
      setup.output = output;
      setup.m = 4;
      setup.bias = BiasKind::none;
      Gemm gemm(setup);
      const std::int64_t k = gemm.problem.k;
      for (std::int64_t j = 0; j < gemm.problem.n; ++j) gemm.b.set_bits(j, 0x3f80);  // 1
      gemm.a.set_bits(0, 0x7f80);
      gemm.a.set_bits(k, 0xff80);
      gemm.a.set_bits(2 * k, 0x7fc0);
      conforming(step, with_step(step), 2).run(gemm);
      EXPECT_EQ(judged(gemm, with_step(step)).failed, 0) << word_of(step);
      EXPECT_EQ(gemm.value(gemm.d, 0), kFloatInfinity);
      EXPECT_TRUE(std::isnan(gemm.value(gemm.d, gemm.problem.n)));
      EXPECT_TRUE(std::isnan(gemm.value(gemm.d, 2 * gemm.problem.n)));
      gemm.d.set_bits(gemm.problem.n, 0);  // what gelu tends to, but not what is computed
      const OutputVerdict verdict = judged(gemm, with_step(step));
      EXPECT_EQ(verdict.failed, 1);
      EXPECT_EQ(verdict.class_mismatches, 1);
    }
  }
}

TEST(GemmActivation, OverflowInTheOutputFormatIsItsOwn) {
  for (const EpilogueStep step : kSmoothSteps) {
    GemmSetup setup = setup_of(step, 1);
    setup.output = FormatId::e4m3;
    setup.alpha = 5000;
    setup.bias = BiasKind::none;
    Gemm gemm(setup);
    Kernel right = conforming(step, with_step(step), 4);
    right.run(gemm);
    EXPECT_EQ(judged(gemm, with_step(step)).failed, 0) << word_of(step);
    right.output.overflow = Overflow::saturate;
    right.run(gemm);
    EXPECT_GT(judged(gemm, with_step(step)).failed, 0) << word_of(step);
  }
}

TEST(GemmActivation, TheRealResultIsTheDefinitionsOverMpfr) {
  for (const EpilogueStep step : kSmoothSteps) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      GemmSetup setup = setup_of(step, seed);
      setup.alpha = static_cast<float>(seed) / 3;
      const Gemm gemm(setup);
      const PreparedGemm all(gemm.problem, with_step(step).contract, 90, 1);
      for (std::int64_t index = 0; index < gemm.problem.outputs(); ++index) {
        const GemmPlace at = all.place(index);
        const TwoDoubles fast =
            real_result(all, at, enclosure_of(all.exact_sum(at)), ResultClass::finite).value;
        const auto defined = static_cast<double>(gemm_value(gemm.problem, 0, at.i, at.j, 512));
        ASSERT_NEAR(fast.hi, defined, 0x1p-40 * std::fabs(defined))
            << word_of(step) << " at " << index;
      }
    }
  }
}

TEST(GemmActivation, AContractWithoutAWayIsRefused) {
  const Gemm gemm(setup_of(EpilogueStep::silu_expf, 1));
  const Contract silent = testing::hopper_bf16().contract;
  const Status refused = check_gemm(gemm.problem, silent);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "the contract's epilogue does not say how silu is computed");
  EXPECT_EQ(refused.error().hint,
            "name the step that the kernel does: \"silu expf\", \"silu ex2.approx\", \"silu "
            "tanh.approx\"");
  EXPECT_TRUE(check_gemm(gemm.problem, with_step(EpilogueStep::silu_expf).contract).ok());
}

}  // namespace
}  // namespace plumbline
