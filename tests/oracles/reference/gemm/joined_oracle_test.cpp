// SPDX-License-Identifier: MIT
// Outputs made of GEMMs: the parts' verdicts add up to the output's, and elements are found in
// their parts. tests/kernels/ops/joined_operations_test.cpp sees the operations that use it.
#include "oracles/reference/gemm/joined_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using namespace plumbline::testing;
using ::testing::HasSubstr;

// GEMMs of 5, 1 and 7 rows, one under the other as output "d", and one of 2 x 3 as output "e".
struct Parts {
  static constexpr std::int64_t kRows[] = {5, 1, 7}, kColumns = 10;
  std::vector<std::unique_ptr<Gemm>> gemms;
  JoinedOracle oracle{{"d", "e"}};
  Tensor d, e;

  Parts()
      : d(dense_layout(FormatId::bf16, {13, kColumns})), e(dense_layout(FormatId::bf16, {2, 3})) {
    const Kernel correct = kernel(hopper_bf16());
    std::int64_t first = 0;
    for (const std::int64_t rows : kRows) {
      Gemm& gemm = add(rows, kColumns, 100, correct);
      oracle.add(0, "part of " + std::to_string(rows), gemm.problem, correct.promised.contract,
                 correct.promised.sm);
      for (std::int64_t i = 0; i < rows * kColumns; ++i) d.set_bits(first + i, gemm.d.bits(i));
      first += rows * kColumns;
    }
    Gemm& other = add(2, 3, 20, correct);
    oracle.add(1, "", other.problem, correct.promised.contract, correct.promised.sm);
    for (std::int64_t i = 0; i < 6; ++i) e.set_bits(i, other.d.bits(i));
  }

  Gemm& add(std::int64_t m, std::int64_t n, std::int64_t k, const Kernel& correct) {
    GemmSetup setup;
    setup.m = m, setup.n = n, setup.k = k, setup.seed = static_cast<std::uint64_t>(m);
    Gemm& gemm = *gemms.emplace_back(std::make_unique<Gemm>(setup));
    correct.run(gemm);
    return gemm;
  }

  // The verdicts of the parts of d, each by an oracle of its own.
  std::vector<OutputVerdict> alone(const JudgeOptions& options = {}) const {
    std::vector<OutputVerdict> verdicts;
    std::int64_t first = 0;
    for (std::size_t part = 0; part < std::size(kRows); ++part) {
      Tensor own(gemms[part]->d.layout);
      for (std::int64_t i = 0; i < own.layout.count(); ++i) own.set_bits(i, d.bits(first + i));
      first += own.layout.count();
      const NamedContract promised = hopper_bf16();
      verdicts.push_back(
          GemmOracle(gemms[part]->problem, promised.contract, promised.sm).judge(0, own, options));
    }
    return verdicts;
  }
};

constexpr std::int64_t OutputVerdict::* kCounts[] = {
    &OutputVerdict::elements,         &OutputVerdict::compared,     &OutputVerdict::bounded,
    &OutputVerdict::failed,           &OutputVerdict::nonzero,      &OutputVerdict::exact_required,
    &OutputVerdict::class_mismatches, &OutputVerdict::undecided,    &OutputVerdict::unresolved,
    &OutputVerdict::refereed,         &OutputVerdict::disagreements};

void expect_sums(const Parts& parts) {
  const OutputVerdict joined = parts.oracle.judge(0, parts.d, {});
  const std::vector<OutputVerdict> alone = parts.alone();
  for (std::size_t field = 0; field < std::size(kCounts); ++field) {
    std::int64_t sum = 0;
    for (const OutputVerdict& part : alone) sum += part.*kCounts[field];
    EXPECT_EQ(joined.*kCounts[field], sum) << "count " << field;
  }
  double worst_ulp = 0, worst_share = 0, worst_relative = 0;
  std::vector<std::int64_t> histogram(joined.histogram.size());
  for (const OutputVerdict& part : alone) {
    worst_ulp = std::max(worst_ulp, part.worst_ulp);
    worst_share = std::max(worst_share, part.worst_share);
    worst_relative = std::max(worst_relative, part.worst_relative);
    for (std::size_t cell = 0; cell < histogram.size(); ++cell)
      histogram[cell] += part.histogram[cell];
  }
  EXPECT_EQ(joined.worst_ulp, worst_ulp);
  EXPECT_EQ(joined.worst_share, worst_share);
  EXPECT_EQ(joined.worst_relative, worst_relative);
  EXPECT_EQ(joined.histogram, histogram);
  EXPECT_EQ(joined.median_bound_ulp, alone[2].median_bound_ulp) << "the largest part's";
}

TEST(JoinedOracle, VerdictsOfPartsAddUp) {
  Parts parts;
  expect_sums(parts);
  const OutputVerdict verdict = parts.oracle.judge(0, parts.d, {});
  EXPECT_EQ(verdict.elements, 130);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(std::accumulate(verdict.histogram.begin(), verdict.histogram.end(), std::int64_t{0}),
            130);
  parts.d.set_bits(3, 0x7fc0);
  parts.d.set_bits(55, parts.d.bits(55) ^ 0x40);
  expect_sums(parts);
}

TEST(JoinedOracle, FailuresOfAllPartsAreInOrderOfTheOutput) {
  Parts parts;
  for (const std::int64_t index : {129, 3, 55, 61})
    parts.d.set_bits(index, parts.d.bits(index) ^ 0x40);
  const OutputVerdict verdict = parts.oracle.judge(0, parts.d, {});
  std::vector<std::int64_t> indices;
  for (const ElementVerdict& failure : verdict.failures) indices.push_back(failure.index);
  EXPECT_EQ(indices, (std::vector<std::int64_t>{3, 55, 61, 129}));
  const auto error = [](const ElementVerdict& e) { return std::fabs(e.error_ulp); };
  EXPECT_EQ(verdict.worst.index, std::ranges::max(verdict.failures, {}, error).index);
}

TEST(JoinedOracle, TheFirstFailuresAreKept) {
  Parts parts;
  for (std::int64_t index = 40; index < 130; ++index)
    parts.d.set_bits(index, parts.d.bits(index) ^ 0x40);
  const OutputVerdict verdict = parts.oracle.judge(0, parts.d, {});
  EXPECT_EQ(verdict.failed, 90);
  ASSERT_EQ(verdict.failures.size(), 16u);
  EXPECT_EQ(verdict.failures[9].index, 49);
  EXPECT_EQ(verdict.failures[10].index, 50) << "of the next part";
}

TEST(JoinedOracle, TheWorstElementOfPassingPartsHasTheLargestShare) {
  const Parts parts;
  const OutputVerdict verdict = parts.oracle.judge(0, parts.d, {});
  const std::vector<OutputVerdict> alone = parts.alone();
  EXPECT_EQ(verdict.worst.share,
            std::max({alone[0].worst.share, alone[1].worst.share, alone[2].worst.share}));
  EXPECT_EQ(verdict.worst.got, parts.d.bits(verdict.worst.index));
}

TEST(JoinedOracle, ElementsAreJudgedAsInTheWhole) {
  Parts parts;
  for (const std::int64_t index : {0, 49, 50, 59, 60, 129}) {
    const std::uint64_t right = parts.d.bits(index), wrong = right ^ 0x40;
    EXPECT_TRUE(parts.oracle.element(0, index, right).pass) << index;
    const ElementVerdict element = parts.oracle.element(0, index, wrong);
    EXPECT_FALSE(element.pass) << index;
    EXPECT_EQ(element.index, index);
    parts.d.set_bits(index, wrong);
    const OutputVerdict whole = parts.oracle.judge(0, parts.d, {});
    parts.d.set_bits(index, right);
    ASSERT_EQ(whole.failures.size(), 1u) << index;
    EXPECT_EQ(whole.failures[0].index, index);
    EXPECT_EQ(whole.failures[0].expected, element.expected) << index;
    EXPECT_EQ(whole.failures[0].low, element.low) << index;
    EXPECT_EQ(whole.failures[0].high, element.high) << index;
    EXPECT_EQ(whole.failures[0].error_ulp, element.error_ulp) << index;
  }
}

TEST(JoinedOracle, ExplanationsNameThePart) {
  Parts parts;
  const auto first_line = [&](int output, std::int64_t index) {
    return parts.oracle.explain(output, index, output == 0 ? parts.d : parts.e).lines.front();
  };
  EXPECT_EQ(first_line(0, 49), "this is in part of 5, which is judged as a GEMM of its own");
  EXPECT_THAT(first_line(0, 50), HasSubstr("in part of 1,"));
  EXPECT_THAT(first_line(0, 60), HasSubstr("in part of 7,"));
  EXPECT_THAT(first_line(1, 5), ::testing::Not(HasSubstr("this is in")))
      << "a whole output needs no name";
}

TEST(JoinedOracle, OutputsAreApart) {
  Parts parts;
  EXPECT_EQ(parts.oracle.outputs(), 2);
  EXPECT_EQ(parts.oracle.output_name(1), "e");
  EXPECT_EQ(parts.oracle.judge(1, parts.e, {}).elements, 6);
  parts.d.set_bits(2, 0x7fc0);
  EXPECT_EQ(parts.oracle.judge(1, parts.e, {}).failed, 0);
  EXPECT_EQ(parts.oracle.judge(0, parts.d, {}).failed, 1);
}

TEST(JoinedOracle, SamplesAreSharedOutByTheSizesOfParts) {
  const Parts parts;
  const OutputVerdict verdict = parts.oracle.judge(0, parts.d, {.max_bounded = 26});
  EXPECT_EQ(verdict.elements, 130);
  EXPECT_TRUE(verdict.sampled);
  EXPECT_EQ(verdict.bounded, 26) << "10, 2 and 14";
  EXPECT_EQ(parts.oracle.judge(0, parts.d, {.max_bounded = 1}).bounded, 3)
      << "one of each part at least";
}

TEST(JoinedOracle, NoPartsIsAnEmptyVerdict) {
  const JoinedOracle oracle({"d"});
  const OutputVerdict verdict = oracle.judge(0, Tensor(dense_layout(FormatId::bf16, {0, 4})), {});
  EXPECT_EQ(verdict.elements, 0);
  EXPECT_EQ(verdict.failed, 0);
}

TEST(RowsOf, TakesRowsAsAMatrix) {
  Tensor matrix(dense_layout(FormatId::bf16, {4, 3}));
  matrix.layout.strides = {5, 1};
  matrix = Tensor(matrix.layout);
  for (std::int64_t i = 0; i < 12; ++i) matrix.set_bits(i, static_cast<std::uint64_t>(100 + i));
  const Tensor rows = rows_of(matrix, 1, 2);
  EXPECT_EQ(rows.layout.text(), "bf16[1,2,3]");
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(rows.bits(i), static_cast<std::uint64_t>(103 + i));
  EXPECT_EQ(rows_of(matrix, 4, 0).layout.count(), 0);
}

}  // namespace
}  // namespace plumbline
