// SPDX-License-Identifier: MIT
// Quantized GEMMs: scales of every granularity, block scales, zero points, every output format.
// Kernels that keep the contract pass, the fast path and the definition agree, and each planted
// fault is caught and named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "oracles/reference/gemm/definition.h"
#include "oracles/reference/gemm/faults.h"
#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using testing::Data;
using testing::Gemm;
using testing::GemmSetup;
using ::testing::HasSubstr;
using testing::Kernel;
using testing::kernel;
using testing::NamedContract;
using enum FormatId;

constexpr ScaleBlock kBlock128{128, 128}, kBlock32{1, 32};

NamedContract int8_contract(FormatId a = s8) {
  Contract contract;
  contract.unit = Unit::int32;
  return {"int8", contract, 80, a, s8};
}

NamedContract saturating(NamedContract named) {
  named.contract.output.overflow = Overflow::saturate;
  return named;
}

OutputVerdict judged(const Gemm& gemm, const NamedContract& promised,
                     const JudgeOptions& options = {}) {
  return GemmOracle(gemm.problem, promised.contract, promised.sm).judge(0, gemm.d, options);
}

void expect_clean(const Gemm& gemm, const NamedContract& promised, const std::string& what) {
  const OutputVerdict verdict = judged(gemm, promised);
  ASSERT_EQ(verdict.failed, 0) << promised.name << " " << what << " at " << verdict.worst.index
                               << " got " << verdict.worst.got << " due " << verdict.worst.low
                               << " to " << verdict.worst.high;
  ASSERT_EQ(verdict.disagreements, 0) << promised.name << " " << what;
  ASSERT_EQ(verdict.unresolved, 0) << promised.name << " " << what;
  ASSERT_EQ(verdict.compared, verdict.elements);
}

GemmSetup setup_of(const NamedContract& promised, FormatId output) {
  GemmSetup setup;
  setup.a = promised.a;
  setup.b = promised.b;
  setup.output = output;
  setup.c = format(output).is_integer ? bf16 : output;
  return setup;
}

TEST(GemmScaled, KernelsWithTensorRowAndColumnScalesPass) {
  std::vector<NamedContract> contracts;
  for (const NamedContract& named : testing::bound_contracts()) {
    if (named.a == e4m3 || named.a == e5m2) contracts.push_back(named);
  }
  ASSERT_GE(contracts.size(), 8u);
  std::uint64_t turn = 0;
  for (NamedContract promised : contracts) {
    for (const FormatId output : {bf16, f16, f32, e4m3}) {
      for (const bool special : {false, true}) {
        promised.contract.epilogue.clear();
        if (turn % 3 == 0) promised.contract.epilogue = {EpilogueStep::scale_ab};
        if (output == e4m3) promised = saturating(promised);
        GemmSetup setup = setup_of(promised, output);
        setup.seed = ++turn;
        setup.k = 70;
        setup.data = testing::kAllData[turn % std::size(testing::kAllData)];
        setup.scale_a = turn % 2 == 0 ? kTensorScale : kVectorScale;
        if (turn % 5 != 0) setup.scale_b = turn % 4 < 2 ? kTensorScale : kVectorScale;
        setup.scale_d = output == e4m3;
        setup.alpha = turn % 3 == 1 ? -0.7f : 1.0f;
        setup.beta = turn % 4 == 1 ? 1.3f : 0.0f;
        setup.bias = turn % 2 == 0 ? BiasKind::per_row : BiasKind::none;
        setup.relu = turn % 6 == 3;
        setup.special_scales = special;
        Gemm gemm(setup);
        kernel(promised).run(gemm);
        expect_clean(gemm, promised, "turn " + std::to_string(turn));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GemmScaled, KernelsWithBlockScalesPass) {
  std::uint64_t turn = 0;
  for (const NamedContract& named : testing::scaled_contracts()) {
    for (const FormatId output : {bf16, f32, e4m3}) {
      for (const bool special : {false, true}) {
        for (const double size : {1.0, 1e-21}) {
          NamedContract promised = output == e4m3 ? saturating(named) : named;
          const std::int64_t interval = promised.contract.interval;
          GemmSetup setup = setup_of(promised, output);
          setup.seed = ++turn;
          setup.k = turn % 3 == 0 ? 300 : 150;
          setup.data = testing::kAllData[turn % std::size(testing::kAllData)];
          setup.scale_a = ScaleBlock{1, interval * (turn % 2 == 0 ? 1 : 2)};
          setup.scale_b = turn % 4 == 0 ? ScaleBlock{1, interval} : ScaleBlock{4, 2 * interval};
          if (turn % 7 == 0) setup.scale_b = kVectorScale;  // in the epilogue
          setup.scale_size = size;
          setup.special_scales = special;
          setup.beta = turn % 5 == 0 ? 0.5f : 0.0f;
          Gemm gemm(setup);
          if (special && !format(setup.a).is_integer && format(setup.a).has_nan()) {
            gemm.a.set_bits(3, format(setup.a).canonical_nan);
            gemm.b.set_bits(77, format(setup.b).canonical_nan);
          }
          kernel(promised).run(gemm);
          expect_clean(gemm, promised, "turn " + std::to_string(turn));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(GemmScaled, IntegerKernelsPassWithEveryOutputAndZeroPoint) {
  std::uint64_t turn = 0;
  for (const FormatId a : {s8, u8}) {
    for (const FormatId output : {s32, bf16, f16, f32, s8}) {
      for (const auto& [zero_a, zero_b] :
           {std::pair<std::int64_t, std::int64_t>{0, 0}, {7, 0}, {-128, 127}}) {
        for (const bool special : {false, true}) {
          const NamedContract promised = int8_contract(a);
          GemmSetup setup = setup_of(promised, output);
          setup.a = a;
          setup.seed = ++turn;
          setup.k = static_cast<std::int64_t>(turn * 37 % 500);
          setup.zero_a = zero_a;
          setup.zero_b = zero_b;
          if (output != s32) {
            setup.scale_a = turn % 2 == 0 ? kTensorScale : kVectorScale;
            setup.scale_b = kVectorScale;
            setup.bias = turn % 3 == 0 ? BiasKind::per_column : BiasKind::none;
            setup.scale_d = output == s8;
            setup.zero_d = output == s8 && turn % 2 == 0 ? -11 : 0;
            setup.scale_size = output == s8 ? 0.01 : 1;
            setup.special_scales = special;
          }
          Gemm gemm(setup);
          kernel(promised).run(gemm);
          expect_clean(gemm, promised, "turn " + std::to_string(turn));
          if (HasFatalFailure()) return;
          const bool nan = std::isnan(to_double(format(output), gemm.d.bits(11)));
          gemm.d.set_bits(11, gemm.d.bits(11) ^ 1);
          EXPECT_EQ(judged(gemm, promised).failed, nan ? 0 : 1);
        }
      }
    }
  }
}

TEST(GemmScaled, SumsBeyondS32WrapAndTheExplanationSaysSo) {
  const NamedContract promised = int8_contract();
  GemmSetup setup = setup_of(promised, s32);
  setup.m = setup.n = 1;
  setup.k = 140000;  // 128 * 128 * 140,000 > 2^31
  Gemm gemm(setup);
  for (std::int64_t p = 0; p < setup.k; ++p) {
    gemm.a.set_bits(p, 0x80);
    gemm.b.set_bits(p, 0x80);
  }
  kernel(promised).run(gemm);
  EXPECT_EQ(static_cast<std::int32_t>(gemm.d.bits(0)), 128 * 128 * 140000LL - (1LL << 32));
  expect_clean(gemm, promised, "wrapped");
  gemm.d.set_bits(0, 0x7fffffff);
  const Explanation explanation =
      GemmOracle(gemm.problem, promised.contract, 80).explain(0, 0, gemm.d);
  EXPECT_THAT(
      explanation.lines,
      ::testing::Contains(HasSubstr("beyond the range of s32: the accumulator wraps to -20")));
  EXPECT_THAT(explanation.faults.names.at(0), HasSubstr("clamped to the range of s32"));
}

TEST(GemmScaled, DefinitionAndIntegersTellTheSameNumber) {
  std::uint64_t seed = 1;
  for (const FormatId id : {e4m3, e5m2, s8}) {
    for (int variant = 0; variant < 4; ++variant) {
      GemmSetup setup;
      setup.a = setup.b = id;
      setup.output = f32;
      setup.k = 150;
      setup.seed = ++seed;
      setup.scale_d = variant % 2 == 0;
      setup.bias = BiasKind::per_row;
      if (id == s8) {
        setup.zero_a = 3;
        setup.zero_b = variant - 5;
        setup.zero_d = variant;
      }
      setup.scale_a = variant < 2 && id != s8 ? ScaleBlock{1, 64} : kVectorScale;
      setup.scale_b = variant == 1 && id != s8 ? ScaleBlock{3, 32} : kTensorScale;
      const Gemm gemm(setup);
      const GemmOperands operands =
          decode_operands(gemm.a, gemm.b, 1, {setup.zero_a, setup.zero_b});
      mpfr_clear_flags();
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 3; ++j) {
          const Real real = gemm_value(gemm.problem, 0, i, j);
          ASSERT_EQ(dyadic_value(real), gemm_value_exact(gemm.problem, operands, 0, i, j));
          // And the plain double loop is close to it.
          double sum = 0;
          for (std::int64_t p = 0; p < setup.k; ++p) {
            float factor = testing::scale_read(gemm, GemmSide::a, i, p) *
                           testing::scale_read(gemm, GemmSide::b, j, p);
            sum += static_cast<double>(factor) *
                   static_cast<double>(gemm.row(0, i)[static_cast<std::size_t>(p)] -
                                       static_cast<float>(setup.zero_a)) *
                   static_cast<double>(gemm.column(0, j)[static_cast<std::size_t>(p)] -
                                       static_cast<float>(setup.zero_b));
          }
          double want = sum + static_cast<double>(gemm.value(gemm.bias, i));
          if (setup.scale_d) want *= static_cast<double>(gemm.value(gemm.scale_d, 0));
          want += static_cast<double>(setup.zero_d);
          EXPECT_NEAR(static_cast<double>(real), want, 1e-5 * (std::fabs(want) + 100));
        }
      }
      ASSERT_FALSE(mpfr_inexflag_p());
    }
  }
}

TEST(GemmScaled, SameVerdictByTheMpfrDefinition) {
  const NamedContract promised = testing::scaled_contracts()[2];
  GemmSetup setup = setup_of(promised, f32);
  setup.k = 100;
  setup.scale_a = setup.scale_b = kBlock32;
  Gemm gemm(setup);
  kernel(promised).run(gemm);
  gemm.d.set_bits(40, gemm.d.bits(40) + 900);
  JudgeOptions options;
  EXPECT_EQ(judged(gemm, promised).failed, 1);
  options.mpfr_bits = 500;
  const OutputVerdict slow = judged(gemm, promised, options);
  EXPECT_EQ(slow.failed, 1);
  EXPECT_EQ(slow.disagreements, 0);
}

TEST(GemmScaled, RefusesScalesThatTheContractCannotApply) {
  GemmSetup setup;
  setup.a = setup.b = e4m3;
  setup.scale_a = kBlock32;
  const Gemm gemm(setup);
  Contract contract;
  EXPECT_EQ(check_gemm(gemm.problem, contract).error().message,
            "scales along k need promotion \"scaled fma\" or \"scaled\"");
  contract = testing::scaled(contract, 128);
  EXPECT_EQ(check_gemm(gemm.problem, contract).error().message,
            "scales change every 32 of k, but sums are promoted every 128");
  EXPECT_TRUE(check_gemm(gemm.problem, testing::scaled(contract, 32)).ok());
  GemmProblem zero = gemm.problem;
  zero.scale_a = nullptr;
  zero.zero_a = 1;
  EXPECT_FALSE(check_gemm(zero, contract).ok());
}

// The first fault told for the output of a kernel with a fault.
std::string told(const Kernel& faulty, const GemmSetup& setup) {
  Gemm gemm(setup);
  faulty.run(gemm);
  const GemmOracle oracle(gemm.problem, faulty.promised.contract, faulty.promised.sm);
  const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
  EXPECT_GT(verdict.failed, 0);
  EXPECT_EQ(verdict.disagreements, 0);
  if (verdict.failed == 0) return "passed";
  const Explanation explanation = oracle.explain(0, verdict.worst.index, gemm.d);
  return explanation.faults.names.empty() ? "nothing" : explanation.faults.names[0];
}

TEST(GemmScaled, NamesFaultsOfScales) {
  const NamedContract promised = saturating({"", testing::tensor_core_contract(), 89, e4m3, e5m2});
  const Kernel good = kernel(promised);
  GemmSetup setup = setup_of(promised, bf16);
  setup.m = 20;
  setup.n = 18;
  setup.k = 64;
  setup.scale_a = setup.scale_b = kVectorScale;
  setup.scale_d = true;

  const auto with = [&](auto read) {
    Kernel faulty = good;
    faulty.scale = read;
    return told(faulty, setup);
  };
  using testing::scale_read;
  EXPECT_EQ(with([](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
              return side == GemmSide::a ? 1 : scale_read(g, side, v, p);
            }),
            "scale_a was not applied");
  EXPECT_EQ(with([](const Gemm&, GemmSide, std::int64_t, std::int64_t) { return 1.0f; }),
            "scale_a and scale_b were not applied");
  EXPECT_EQ(with([](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
              return scale_read(g, side,
                                side == GemmSide::b ? std::min<std::int64_t>(v + 1, 17) : v, p);
            }),
            "scale_b was taken from the next column");
  EXPECT_EQ(with([](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
              return scale_read(g, side, side == GemmSide::a ? v / 16 * 16 : v, p);
            }),
            "scale_a was read once per tile of 16 rows");
  setup.n = 20;
  EXPECT_EQ(with([](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
              return scale_read(g, side == GemmSide::a ? GemmSide::b : GemmSide::a, v, p);
            }),
            "scale_a and scale_b were exchanged");
  Kernel faulty = good;
  faulty.problem = [](GemmProblem& problem) { problem.scale_d = nullptr; };
  EXPECT_EQ(told(faulty, setup), "scale_d was not applied");
}

// sum += p * scale_a * scale_b, as compilers leave it, and the fma of the product of both scales.
TEST(GemmScaled, AnyStepsBetweenScalesConform) {
  NamedContract promised = testing::scaled_contracts()[0];
  GemmSetup setup = setup_of(promised, f32);
  setup.m = setup.n = 40;
  setup.k = 150;
  setup.scale_a = setup.scale_b = kBlock32;
  Gemm gemm(setup);
  Contract chain = promised.contract;
  chain.schedule = Schedule::sequential;
  chain.promotion = Promotion::add;
  const std::int64_t interval = promised.contract.interval;
  for (std::int64_t i = 0; i < 40; ++i) {
    for (std::int64_t j = 0; j < 40; ++j) {
      const std::vector<float> row = gemm.row(0, i), column = gemm.column(0, j);
      float sum = 0;
      for (std::int64_t p = 0; p < setup.k; p += interval) {
        float part = run_accumulator(chain, promised.sm, promised.a, promised.b, row.data() + p,
                                     column.data() + p, std::min(interval, setup.k - p))
                         .value;
        part *= testing::scale_read(gemm, GemmSide::a, i, p);
        part *= testing::scale_read(gemm, GemmSide::b, j, p);
        sum += part;
      }
      gemm.d.set_bits(40 * i + j, std::bit_cast<std::uint32_t>(sum));
    }
  }
  EXPECT_GT(judged(gemm, promised).failed, 0);
  promised.contract.promotion = Promotion::scaled;
  const OutputVerdict turn = judged(gemm, promised);
  EXPECT_EQ(turn.failed, 0);
  EXPECT_EQ(turn.modeled, 0) << "no bits are claimed";
  kernel(promised).run(gemm);  // by fma
  EXPECT_EQ(judged(gemm, promised).failed, 0);
  Kernel faulty = kernel(promised);
  faulty.scale = [](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
    return testing::scale_read(g, side, v, p) * (side == GemmSide::a && p == 32 ? 1.0001f : 1.0f);
  };
  faulty.run(gemm);
  EXPECT_GT(judged(gemm, promised).failed, 100);
}

TEST(GemmScaled, NamesFaultsOfBlockScales) {
  const NamedContract promised = testing::scaled_contracts()[0];
  const Kernel good = kernel(promised);
  GemmSetup setup = setup_of(promised, f32);
  setup.m = setup.n = 12;
  setup.k = 150;
  setup.scale_a = kBlock32;
  setup.scale_b = ScaleBlock{4, 64};
  const auto with = [&](auto read) {
    Kernel faulty = good;
    faulty.scale = read;
    return told(faulty, setup);
  };
  using testing::scale_read;
  EXPECT_EQ(with([](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
              return scale_read(g, side, v, side == GemmSide::a ? std::max(p - 32, p % 32) : p);
            }),
            "scale_a was taken from the previous k block");
  EXPECT_EQ(with([](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
              return scale_read(g, side, v, side == GemmSide::b ? 0 : p);
            }),
            "scale_b of the first k block was used for all of k");
  EXPECT_EQ(with([](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
              return scale_read(g, side, side == GemmSide::b ? (v + 4) % 12 : v, p);
            }),
            "scale_b was taken from the next column block");
  Kernel faulty = good;
  faulty.products = [](std::vector<float>& row, std::vector<float>&) {
    std::fill(row.begin() + 64, row.begin() + 96, 0.0f);
  };
  EXPECT_EQ(told(faulty, setup), "a k tile was dropped: k in [64, 96)");
}

TEST(GemmScaled, NamesFaultsOfIntegerKernels) {
  const NamedContract promised = int8_contract();
  GemmSetup setup = setup_of(promised, bf16);
  setup.k = 90;
  setup.zero_a = 9;
  setup.zero_b = -4;
  setup.scale_a = setup.scale_b = kVectorScale;
  const auto with = [&](auto change) {
    Kernel faulty = kernel(promised);
    faulty.integer_sum = change;
    return told(faulty, setup);
  };
  const auto column_sum = [](const Gemm& g, std::int64_t j) {
    std::int64_t sum = 0;
    for (const float x : g.column(0, j)) sum += static_cast<std::int64_t>(x) - g.problem.zero_b;
    return sum;
  };
  EXPECT_EQ(with([&](const Gemm& g, std::int64_t sum, std::int64_t, std::int64_t j) {
              return sum + 9 * column_sum(g, j);
            }),
            "zero_a was not subtracted");
  EXPECT_EQ(with([](const Gemm& g, std::int64_t sum, std::int64_t, std::int64_t) {
              return sum + (1 - g.problem.k) * 9 * -4;
            }),
            "zero_a * zero_b was added without the factor k");
  EXPECT_EQ(with([](const Gemm& g, std::int64_t sum, std::int64_t, std::int64_t) {
              return sum - g.problem.k * 9 * -4;
            }),
            "the term k * zero_a * zero_b is missing");
  Kernel faulty = kernel(promised);
  faulty.products = [](std::vector<float>& row, std::vector<float>& column) {
    row.pop_back();
    column.pop_back();
  };
  EXPECT_THAT(told(faulty, setup), HasSubstr("the last k product is missing"));
}

TEST(GemmScaled, NamesOtherFp8FormatsMissingPromotionsAndParts) {
  NamedContract promised{"", testing::promoted(testing::tensor_core_contract(), 128), 89, e5m2,
                         e4m3};
  GemmSetup setup = setup_of(promised, f32);
  setup.k = 100;
  Kernel faulty = kernel(promised);
  faulty.products = [](std::vector<float>& row, std::vector<float>&) {
    for (float& x : row)
      x = static_cast<float>(to_double(format(e4m3), encode(format(e5m2), static_cast<double>(x))));
  };
  faulty.promised.a = e4m3;
  const auto told_as = [&](const Kernel& wrong, const NamedContract& right) {
    Gemm gemm(setup);
    wrong.run(gemm);
    const GemmOracle oracle(gemm.problem, right.contract, right.sm);
    const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
    EXPECT_GT(verdict.failed, 0);
    const Explanation explanation = oracle.explain(0, verdict.worst.index, gemm.d);
    return explanation.faults.names.empty() ? "nothing" : explanation.faults.names[0];
  };
  EXPECT_EQ(told_as(faulty, promised), "A was read as e4m3 although it is e5m2");

  setup.k = 1024;
  setup.data = Data::positive;
  Kernel unpromoted = kernel(promised);
  unpromoted.promised.contract.schedule = Schedule::sequential;
  EXPECT_EQ(told_as(unpromoted, promised), "the promotion to f32 every 128 of k was left out");

  setup.k = 200;
  const NamedContract split{
      "", testing::split(testing::tensor_core_contract(), 3, Join::f32_any_order, 32), 90, e5m2,
      e4m3};
  Kernel part = kernel(split);
  part.products = [](std::vector<float>& row, std::vector<float>&) {
    std::fill(row.begin() + 96, row.begin() + 192, 0.0f);
  };
  EXPECT_EQ(told_as(part, split), "part 1 of the split (k in [96, 192)) is missing");
}

TEST(GemmScaled, FaultsDoNotFitACorrectKernel) {
  std::vector<std::pair<NamedContract, GemmSetup>> cases;
  {
    const NamedContract blocks = testing::scaled_contracts()[0];
    GemmSetup setup = setup_of(blocks, f32);
    setup.k = 150;
    setup.scale_a = setup.scale_b = kBlock32;
    cases.emplace_back(blocks, setup);
    const NamedContract integers = int8_contract();
    setup = setup_of(integers, bf16);
    setup.k = 60;
    setup.scale_a = setup.scale_b = kVectorScale;
    setup.zero_a = 3;
    setup.zero_b = 5;
    cases.emplace_back(integers, setup);
    const NamedContract fp8{"", testing::tensor_core_contract(), 90, e4m3, e5m2};
    setup = setup_of(fp8, bf16);
    setup.scale_a = setup.scale_b = kVectorScale;
    setup.scale_d = true;
    cases.emplace_back(fp8, setup);
  }
  for (const auto& [promised, setup] : cases) {
    Gemm gemm(setup);
    kernel(promised).run(gemm);
    const GemmOracle oracle(gemm.problem, promised.contract, promised.sm);
    for (const GemmFaultKind& kind : gemm_fault_kinds()) {
      // Of steps that no contract lists the bound may cover one rounding of f32.
      if (kind.name == "rounded elsewhere" && promised.contract.epilogue.empty()) continue;
      for (const GemmFault& fault : kind.variants(oracle.gemm())) {
        if (fault.output.rounding == Rounding::nearest_away || fault.clamped) continue;
        if (setup.output == f32 && fault.output.rounding != Rounding::nearest_even)
          continue;                          // nothing is rounded
        if (fault.scales_in_turn) continue;  // one more rounding, which the bound may cover
        if (fault.is_of_rare_values()) continue;
        const auto adds_nothing = [&](std::int64_t index) {
          return fault.added(oracle.gemm(), oracle.gemm().place(index)) == 0;
        };
        std::int64_t unchanged = 0;
        for (std::int64_t index = 0; fault.added && index < 60; ++index)
          unchanged += adds_nothing(index) ? 1 : 0;
        if (unchanged == 60) continue;  // saturates nowhere here
        std::int64_t fitting = 0;
        for (std::int64_t index = 0; index < 60; ++index)
          fitting +=
              fits(oracle.gemm(), fault, oracle.gemm().place(index), gemm.d.bits(index)) ? 1 : 0;
        EXPECT_LT(fitting, 60) << fault.sentence;
      }
    }
  }
}

TEST(GemmScaled, UnpromotedFp8PassesItsOwnContractAndFailsAFinerOne) {
  // Same-sign data on sm_89: the 14-bit accumulator stops growing, legitimately.
  const NamedContract coarse{"", testing::tensor_core_contract(), 89, e4m3, e4m3};
  GemmSetup setup = setup_of(coarse, bf16);
  setup.m = setup.n = 4;
  setup.k = 16384;
  setup.data = Data::positive;
  Gemm gemm(setup);
  kernel(coarse).run(gemm);
  const OutputVerdict own = judged(gemm, coarse);
  EXPECT_EQ(own.failed, 0);
  EXPECT_GT(own.worst_ulp, 10);  // tens of percent, in bf16 ulp of 2^-7 or so
  NamedContract fine = coarse;
  fine.sm = 90;
  EXPECT_EQ(judged(gemm, fine).failed, 16);
}

}  // namespace
}  // namespace plumbline
