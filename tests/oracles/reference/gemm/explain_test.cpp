// SPDX-License-Identifier: MIT
// Explanations of wrong outputs: every kind of the table is planted in a kernel and must be
// the one that is told.
#include "oracles/reference/gemm/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "oracles/reference/gemm/faults.h"
#include "oracles/reference/gemm/oracle.h"
#include "oracles/reference/gemm/sample.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using testing::Data;
using ::testing::ElementsAre;
using testing::Gemm;
using testing::GemmSetup;
using ::testing::HasSubstr;
using testing::hopper_bf16;
using testing::Kernel;
using testing::kernel;
using ::testing::Not;
using ::testing::SizeIs;

// The first failing element, explained.
Explanation explained(const Gemm& gemm, const testing::NamedContract& promised = hopper_bf16()) {
  const GemmOracle oracle(gemm.problem, promised.contract, promised.sm);
  const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
  EXPECT_GT(verdict.failed, 0);
  return oracle.explain(0, verdict.worst.index, gemm.d);
}

// The first fault told.
std::string first_fit(const Explanation& explanation) {
  return explanation.faults.empty() ? "nothing" : explanation.faults.sentences().front();
}

std::string fit_of(const Kernel& faulty, const GemmSetup& setup) {
  Gemm gemm(setup);
  faulty.run(gemm);
  return first_fit(explained(gemm, faulty.promised));
}

GemmSetup rich_setup() {
  GemmSetup setup;
  setup.m = 12;
  setup.n = 15;
  setup.k = 75;
  setup.alpha = 0.7f;
  setup.beta = -1.3f;
  setup.bias = BiasKind::per_column;
  setup.relu = false;
  return setup;
}

TEST(GemmExplain, SaysWhatIsWrongInValuesAndBits) {
  GemmSetup setup;
  setup.m = setup.n = 1;
  setup.k = 1;
  Gemm gemm(setup);
  gemm.a.set_bits(0, 0x3f80);
  gemm.b.set_bits(0, 0x4040);
  gemm.d.set_bits(0, 0x4041);
  const Explanation explanation = explained(gemm);
  EXPECT_EQ(explanation.lines.at(0),
            "d[0,0]: got 3.015625 (0x4041); the exact result is 3, which rounds to 3 (0x4040)");
  EXPECT_EQ(explanation.lines.at(1),
            "error +1 ulp of bf16; an admissible output is at most 0 ulp away");
  EXPECT_EQ(
      explanation.lines.at(2),
      "with these values the contract's arithmetic is exact: it fixes every bit of the output");
  EXPECT_EQ(
      explanation.lines.at(3),
      "the contract's arithmetic on sm_90 gives 3 (0x4040), from an accumulator that is exact");
  EXPECT_EQ(explanation.lines.at(4), "the one element looked at fails");
  EXPECT_THAT(explanation.steps, ElementsAre(0));
}

TEST(GemmExplain, GivesTheModelsDistanceAfterEveryStep) {
  GemmSetup setup;
  setup.k = 100;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  const GemmOracle oracle(gemm.problem, hopper_bf16().contract, 90);
  const Explanation explanation = oracle.explain(0, 7, gemm.d);
  ASSERT_THAT(explanation.steps, SizeIs(7));  // nodes of 16
  EXPECT_LT(*std::max_element(explanation.steps.begin(), explanation.steps.end()), 100);
  EXPECT_THAT(explanation.lines, Contains(HasSubstr("it moves most at k in [")));
  EXPECT_THAT(explanation.faults.sentences(), ::testing::IsEmpty());  // it passes
}

TEST(GemmExplain, NamesEachPlantedFault) {
  const Kernel good = kernel(hopper_bf16());
  const GemmSetup setup = rich_setup();

  Kernel faulty = good;
  faulty.products = [](std::vector<float>& row, std::vector<float>&) { row.back() = 0; };
  EXPECT_THAT(fit_of(faulty, setup),
              AllOf(HasSubstr("the last k product is missing (the result is the sum over k < 74)"),
                    HasSubstr("passing elements agree with it as well")));

  faulty = good;
  faulty.products = [](std::vector<float>& row, std::vector<float>&) {
    std::fill(row.begin() + 64, row.end(), 0.0f);
  };
  EXPECT_THAT(fit_of(faulty, setup),
              HasSubstr("the last 11 k products are missing (the result is the sum over k < 64)"));

  faulty = good;
  faulty.products = [](std::vector<float>& row, std::vector<float>&) {
    std::fill(row.begin() + 32, row.begin() + 48, 0.0f);
  };
  EXPECT_THAT(fit_of(faulty, setup), HasSubstr("a k tile was dropped: k in [32, 48)"));

  faulty = good;
  faulty.products = [](std::vector<float>& row, std::vector<float>& column) {
    row.insert(row.begin() + 32, row.begin() + 16, row.begin() + 32);
    column.insert(column.begin() + 32, column.begin() + 16, column.begin() + 32);
  };
  EXPECT_THAT(fit_of(faulty, setup), HasSubstr("a k tile was counted twice: k in [16, 32)"));

  faulty = good;
  faulty.output.rounding = Rounding::toward_zero;
  EXPECT_THAT(fit_of(faulty, setup),
              HasSubstr("the output was truncated instead of rounded to nearest even"));

  faulty = good;
  faulty.problem = [](GemmProblem& problem) { problem.alpha = 1; };
  EXPECT_THAT(fit_of(faulty, setup), HasSubstr("alpha was not applied"));

  faulty.problem = [](GemmProblem& problem) { problem.beta = 0; };
  EXPECT_THAT(fit_of(faulty, setup), HasSubstr("beta * C was not applied"));

  faulty.problem = [](GemmProblem& problem) { problem.beta = 1; };
  EXPECT_THAT(fit_of(faulty, setup), HasSubstr("beta was taken as 1"));

  faulty.problem = [](GemmProblem& problem) { problem.bias_kind = BiasKind::none; };
  EXPECT_THAT(fit_of(faulty, setup), HasSubstr("the bias was not applied"));

  faulty = good;
  faulty.bias_index = [](std::int64_t i, std::int64_t) { return i; };
  EXPECT_THAT(fit_of(faulty, setup), HasSubstr("the bias was taken by row instead of by column"));

  faulty.bias_index = [](std::int64_t, std::int64_t j) {
    return std::min<std::int64_t>(j ^ 1, 14);
  };
  EXPECT_THAT(fit_of(faulty, setup),
              HasSubstr("the biases of the two columns of each pair were exchanged"));
  faulty.bias_index = [](std::int64_t, std::int64_t j) { return std::max<std::int64_t>(j - 1, 0); };
  EXPECT_THAT(fit_of(faulty, setup), HasSubstr("the bias was taken from the previous column"));
  faulty.bias_index = [](std::int64_t, std::int64_t) { return 0; };
  EXPECT_THAT(fit_of(faulty, setup), HasSubstr("the bias of column 0 was added everywhere"));

  faulty = good;
  faulty.products = [](std::vector<float>& row, std::vector<float>&) {
    for (std::size_t p = 0; p < row.size(); ++p) {
      if (p / 8 % 2 == 1) row[p] = row[p - 8];
    }
  };
  EXPECT_THAT(fit_of(faulty, setup),
              HasSubstr("of A, the first half of each 16 of k stands for the second one, too"));

  faulty = good;
  GemmSetup tall = setup;  // rows beyond the bias read unknown values
  tall.m = 20;
  faulty.bias_index = [](std::int64_t i, std::int64_t) { return std::min<std::int64_t>(i, 14); };
  EXPECT_THAT(fit_of(faulty, tall), HasSubstr("the bias was taken by row instead of by column"));

  GemmSetup with_relu = setup;
  with_relu.relu = true;
  faulty = good;
  faulty.problem = [](GemmProblem& problem) { problem.activation = Activation::none; };
  EXPECT_THAT(fit_of(faulty, with_relu), HasSubstr("relu was not applied"));
}

TEST(GemmExplain, NamesBf16PartialSums) {
  Kernel faulty = kernel(hopper_bf16());
  float sum = 0;
  faulty.products = [&sum](std::vector<float>& row, std::vector<float>& column) {
    sum = 0;
    for (std::size_t begin = 0; begin < row.size(); begin += 32) {
      const std::size_t end = std::min(row.size(), begin + 32);
      const float part = run_accumulator(hopper_bf16().contract, 90, FormatId::bf16, FormatId::bf16,
                                         row.data() + begin, column.data() + begin,
                                         static_cast<std::int64_t>(end - begin))
                             .value;
      sum += testing::stored(FormatId::bf16, static_cast<double>(part));
    }
  };
  faulty.accumulator = [&sum](float) { return sum; };
  GemmSetup setup;
  setup.k = 100;
  setup.output = FormatId::f32;
  EXPECT_THAT(
      fit_of(faulty, setup),
      HasSubstr("partial sums were rounded to bf16 before the join (split at every 32 of k)"));
}

TEST(GemmExplain, NamesElementsOfOtherPositions) {
  GemmSetup setup;
  setup.m = 12;
  setup.n = 12;
  Gemm gemm(setup);
  const Kernel good = kernel(hopper_bf16());
  good.run(gemm);
  const Tensor right = gemm.d;
  for (std::int64_t i = 0; i < 12; ++i) {
    for (std::int64_t j = 0; j < 12; ++j) gemm.d.set_bits(i * 12 + j, right.bits(j * 12 + i));
  }
  EXPECT_THAT(first_fit(explained(gemm)), HasSubstr("the element belongs to position (j, i)"));
  gemm.d = right;
  for (std::int64_t i = 4; i < 8; ++i) {
    for (std::int64_t j = 0; j < 12; ++j) gemm.d.set_bits(i * 12 + j, right.bits((i + 4) * 12 + j));
  }
  const Explanation moved = explained(gemm);
  EXPECT_THAT(first_fit(moved), AllOf(HasSubstr("the element belongs to position (i +4, j)"),
                                      HasSubstr("passing elements were computed without it")));
  EXPECT_THAT(moved.lines, Contains("48 of 144 elements looked at fail: rows 4 to 7"));
}

TEST(GemmExplain, NamesOutputsThatWereNotStoredAndCThatWasRead) {
  GemmSetup setup;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  for (std::int64_t i = 0; i < 9; ++i) gemm.d.set_bits(i * 10 + 9, 0);
  Explanation explanation = explained(gemm);
  EXPECT_THAT(first_fit(explanation),
              HasSubstr("the output is 0, as if nothing had been accumulated or stored"));
  EXPECT_THAT(explanation.lines, Contains("9 of 90 elements looked at fail: column 9"));

  for (std::int64_t i = 0; i < 9; ++i) {
    gemm.d.set_bits(i * 10 + 9, 0x7fff);
    gemm.c.set_bits(i * 10 + 9, 0x7fc0);
  }
  explanation = explained(gemm);
  EXPECT_THAT(explanation.lines,
              Contains(HasSubstr("NaN may mean that the element was never written")));
  EXPECT_THAT(first_fit(explanation), HasSubstr("C was read although beta = 0"));
}

TEST(GemmExplain, AdmitsWhenNothingFits) {
  GemmSetup setup;
  setup.output = FormatId::f32;
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  Random random(1);
  for (std::int64_t p = 0; p < 90; ++p)
    gemm.d.set_bits(p, gemm.d.bits(p) ^ (random.next() & 0x7fffff));
  EXPECT_EQ(explained(gemm).faults, NamedFaults::none(kNoFaultFits));
}

// Where the bits are those of the promised order, or no order is promised, none was looked for.
TEST(GemmExplain, SaysNothingOfOrdersThatWereNotTried) {
  Gemm gemm(GemmSetup{});
  kernel(hopper_bf16()).run(gemm);
  auto open = hopper_bf16().contract;
  open.schedule = Schedule::runs;
  for (const auto& contract : {hopper_bf16().contract, open}) {
    const GemmOracle oracle(gemm.problem, contract, hopper_bf16().sm);
    EXPECT_EQ(oracle.explain(0, 0, gemm.d).faults, NamedFaults());
  }
}

// One output off by an ulp or two, others right: among so many faults some leave out a product of
// that size.
TEST(GemmExplain, NamesNothingForOneSmallError) {
  int failing = 0, named = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    GemmSetup setup;
    setup.output = FormatId::f32;
    setup.data = Data::wide;
    setup.k = 6;
    setup.seed = seed;
    Gemm gemm(setup);
    kernel(hopper_bf16()).run(gemm);
    gemm.d.set_bits(31, gemm.d.bits(31) + (seed % 2 == 0 ? 2 : 1));
    const GemmOracle oracle(gemm.problem, hopper_bf16().contract, hopper_bf16().sm);
    const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
    const double stored = to_double(format(setup.output), gemm.d.bits(31));
    if (verdict.failed != 1 || !std::isfinite(stored)) continue;
    ++failing;
    named += !oracle.explain(0, verdict.worst.index, gemm.d).faults.names.empty();
  }
  EXPECT_GT(failing, 10);
  EXPECT_EQ(named, 0);
}

TEST(GemmExplain, FaultsDoNotFitACorrectKernel) {
  const GemmSetup setup = rich_setup();
  Gemm gemm(setup);
  kernel(hopper_bf16()).run(gemm);
  const GemmOracle oracle(gemm.problem, hopper_bf16().contract, 90);
  std::int64_t kinds = 0;
  for (const GemmFaultKind& kind : gemm_fault_kinds()) {
    if (kind.name == "rounded elsewhere") continue;  // bf16 hardly shows one rounding of f32
    for (const GemmFault& fault : kind.variants(oracle.gemm())) {
      if (fault.output.rounding == Rounding::nearest_away)
        continue;                               // there are no ties in these values
      if (fault.is_of_rare_values()) continue;  // nor small numbers, NaN or infinities
      std::int64_t fitting = 0;
      for (std::int64_t index = 0; index < 60; ++index) {
        fitting +=
            fits(oracle.gemm(), fault, oracle.gemm().place(index), gemm.d.bits(index)) ? 1 : 0;
      }
      EXPECT_LT(fitting, 60) << fault.sentence;
      ++kinds;
    }
  }
  EXPECT_GT(kinds, 60);
}

TEST(GemmSample, CoversEveryTileRowAndColumnAlike) {
  constexpr std::int64_t m = 300, n = 520;
  std::vector<std::int64_t> all;
  for (std::int64_t index = 0; index < m * n; ++index) all.push_back(index);
  const std::int64_t most = 64 * 3 * 5;  // 64 per tile
  const std::vector<std::int64_t> sample = stratified_sample(all, m, n, most, 7);
  EXPECT_LE(static_cast<std::int64_t>(sample.size()), most);
  EXPECT_GT(static_cast<std::int64_t>(sample.size()), most * 3 / 4);
  std::set<std::int64_t> rows, columns, lanes;
  std::array<std::int64_t, 15> tiles{};
  for (const std::int64_t index : sample) {
    rows.insert(index / n % 128);
    columns.insert(index % n % 128);
    ++tiles[static_cast<std::size_t>(index / n / 128 * 5 + index % n / 128)];
  }
  EXPECT_EQ(rows.size(), 128u);
  EXPECT_EQ(columns.size(), 128u);
  for (const std::int64_t tile : {0, 1, 2, 3, 5, 6, 7, 8})
    EXPECT_GE(tiles[static_cast<std::size_t>(tile)], 60);
  EXPECT_EQ(stratified_sample(all, m, n, m * n, 7), all);
  EXPECT_EQ(stratified_sample(all, m, n, 3, 7).size(), 3u);
}

}  // namespace
}  // namespace plumbline
