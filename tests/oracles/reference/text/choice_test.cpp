// SPDX-License-Identifier: MIT
// Outputs of integers: those that are exact, and those that a kernel chooses by real numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "oracles/base/numbers.h"
#include "oracles/reference/text/oracle.h"
#include "tests/oracles/reference/text/conforming_kernel.h"

namespace plumbline::text {
namespace {

Tensor integers(const std::vector<std::int64_t>& values) {
  Tensor out(dense_layout(FormatId::s32, {1, static_cast<std::int64_t>(values.size())}));
  for (std::size_t i = 0; i < values.size(); ++i)
    out.set_bits(static_cast<std::int64_t>(i),
                 encode(format(FormatId::s32), static_cast<double>(values[i])));
  return out;
}

// A row of logits, and what kernels chose.
class Row {
 public:
  Row(const std::string& ranked, std::vector<double> x, std::int64_t k)
      : problem_(
            "operation choice(x[m, n]) -> id[m, k]: s32, y[m, k]\n"
            "  id[i, s] = " +
                ranked +
                "\n"
                "  y[i, s] = x[i, max(id[i, s], 0)] + 1\n",
            {1, static_cast<std::int64_t>(x.size()), k},
            [x](std::int64_t i, Random&) { return x[static_cast<std::size_t>(i)]; }) {}

  // How many ids fail.
  std::int64_t wrong(const std::vector<std::int64_t>& ids) const {
    const Tensor stored = integers(ids);
    return oracle(stored).judge(0, stored, {}).failed;
  }

  // What the second output is due to be, by what was chosen.
  double following(const std::vector<std::int64_t>& ids, std::int64_t rank) const {
    const Tensor stored = integers(ids);
    const TextOracle made = oracle(stored);
    return made.element(1, rank, 0).exact;
  }

  Explanation explained(const std::vector<std::int64_t>& ids, std::int64_t rank) const {
    const Tensor stored = integers(ids);
    return oracle(stored).explain(0, rank, stored);
  }

 private:
  TextOracle oracle(const Tensor& stored) const {
    const auto& outputs = problem_.instance().program().outputs;
    return {problem_.instance(),
            problem_.inputs(),
            {},
            {{"id", outputs[0], FormatId::s32, &stored}, {"y", outputs[1], FormatId::f32}}};
  }

  TextProblem problem_;
};

TEST(TextChoice, OfExactNumbersIsTheFirstOfTheLargest) {
  const Row row("top[e, s] x[i, e]", {3, 1, 3, 2}, 3);
  EXPECT_EQ(row.wrong({0, 2, 3}), 0);
  EXPECT_EQ(row.wrong({2, 0, 3}), 2);
  EXPECT_EQ(row.wrong({0, 2, 1}), 1);
  EXPECT_EQ(row.wrong({0, 0, 3}), 1);
  EXPECT_EQ(row.wrong({0, 2, 4}), 1);
  EXPECT_EQ(row.wrong({0, 2, -1}), 1);
  EXPECT_EQ(row.explained({2, 0, 3}, 0).faults.names,
            std::vector<std::string>{"line 2: of equal ones another than the first is chosen"});
}

TEST(TextChoice, OfNumbersThatRoundingsDoNotTellApartIsEither) {
  const double near = std::nextafter(1.0f, 2.0f);
  const Row row("top[e, s] exp(x[i, e])", {1, near, 3, -2}, 3);
  EXPECT_EQ(row.wrong({2, 1, 0}), 0);
  EXPECT_EQ(row.wrong({2, 0, 1}), 0);
  EXPECT_EQ(row.wrong({2, 0, 0}), 1);
  EXPECT_EQ(row.wrong({2, 0, 3}), 1);
  EXPECT_EQ(row.wrong({1, 2, 0}), 2);
}

TEST(TextChoice, WhatReadsItIsJudgedByWhatWasStored) {
  const double near = std::nextafter(1.0f, 2.0f);
  const Row row("top[e, s] exp(x[i, e])", {1, near, 3, -2}, 3);
  EXPECT_EQ(row.following({2, 0, 1}, 1), 2);
  EXPECT_EQ(row.following({2, 1, 0}, 1), near + 1);
  EXPECT_EQ(row.following({2, 3, 0}, 1), -1);         // wrong, and told once
  EXPECT_EQ(row.following({2, 77, 0}, 1), near + 1);  // there is no such element
}

TEST(TextChoice, NanComesLast) {
  const Row row("top[e, s] x[i, e]", {1, kNan, 2}, 3);
  EXPECT_EQ(row.wrong({2, 0, 1}), 0);
  EXPECT_EQ(row.wrong({1, 2, 0}), 3);
  EXPECT_EQ(row.wrong({2, 1, 0}), 2);
  EXPECT_EQ(row.wrong({2, 0, 0}), 1);
  EXPECT_EQ(row.wrong({0, 2, 1}), 2);
  const Row two("top[e, s] x[i, e]", {kNan, kNan, -kInfinity}, 3);
  EXPECT_EQ(two.wrong({2, 0, 1}), 0);
  EXPECT_EQ(two.wrong({2, 1, 0}), 2);
}

// The last one is the logarithm of a number near 0 whose sign roundings leave open; the first one
// is NaN.
TEST(TextChoice, WhatMayBeNanMayBeLast) {
  const Row row("top[e, s] log(exp(x[i, e]) - 1)", {-1, 2, 1e-9}, 3);
  EXPECT_EQ(row.wrong({1, 2, 0}), 0);
  EXPECT_EQ(row.wrong({1, 0, 2}), 0);
  EXPECT_EQ(row.wrong({2, 1, 0}), 2);
}

TEST(TextChoice, InfinitiesAreNumbers) {
  const Row row("top[e, s] x[i, e]", {-kInfinity, kInfinity, 2, kInfinity}, 4);
  EXPECT_EQ(row.wrong({1, 3, 2, 0}), 0);
  EXPECT_EQ(row.wrong({3, 1, 2, 0}), 2);
}

TEST(TextChoice, OfTooFewIsMinusOne) {
  const Row row("top[e, s if e % 2 == 0] x[i, e]", {1, 9, 2}, 3);
  EXPECT_EQ(row.wrong({2, 0, -1}), 0);
  EXPECT_EQ(row.wrong({2, 0, 1}), 1);
  EXPECT_EQ(row.wrong({2, -1, -1}), 1);
}

// A number that is judged is read by others as an integer.
TEST(TextIntegers, AreReadByOtherOutputs) {
  const TextProblem problem(
      "operation hits(x[m, n]) -> hits[m, n]: s32, y[m, n]\n"
      "  hits[i, j] = count[l <= j if l % 2 == 0]\n"
      "  y[i, j] = x[i, j] * hits[i, j] + where(hits[i, j] > 1, 10, 0)\n",
      {1, 4}, [](std::int64_t i, Random&) { return static_cast<double>(i + 1); });
  const auto& outputs = problem.instance().program().outputs;
  const TextOracle oracle(problem.instance(), problem.inputs(), {},
                          {{"hits", outputs[0], FormatId::s32}, {"y", outputs[1], FormatId::f32}});
  EXPECT_EQ(oracle.judge(0, integers({1, 1, 2, 2}), {}).failed, 0);
  Tensor y(dense_layout(FormatId::f32, {1, 4}));
  for (std::int64_t j = 0; j < 4; ++j)
    y.set_bits(j, encode(format(FormatId::f32), j < 2 ? 1.0 * static_cast<double>(j + 1)
                                                      : 2.0 * static_cast<double>(j + 1) + 10));
  const OutputVerdict verdict = oracle.judge(1, y, {});
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.disagreements, 0);
  Evaluator<Definition<double>> evaluator(problem.instance(), problem.inputs(), {});
  for (std::int64_t j = 0; j < 4; ++j) {
    EXPECT_EQ(evaluator.kept_element(outputs[0], j), j < 2 ? 1 : 2);
    EXPECT_EQ(evaluator.kept_element(outputs[1], j), to_double(format(FormatId::f32), y.bits(j)));
  }
}

TEST(TextIntegers, AreExact) {
  const TextProblem problem(
      "operation counts(x[m, n]) -> y[m, n]: s32\n"
      "  y[i, j] = 100000007 * (j + 1) + (count[l < n if l <= j])\n",
      {1, 3}, [](std::int64_t, Random&) { return 0.0; });
  const TextOracle oracle(problem.instance(), problem.inputs(), {},
                          {{"y", problem.output(), FormatId::s32}});
  EXPECT_EQ(oracle.judge(0, integers({100000008, 200000016, 300000024}), {}).failed, 0);
  const OutputVerdict verdict = oracle.judge(0, integers({100000008, 200000015, 300000024}), {});
  ASSERT_EQ(verdict.failed, 1);
  EXPECT_EQ(verdict.failures.front().error_ulp, -1);
  EXPECT_EQ(verdict.disagreements, 0);
}

}  // namespace
}  // namespace plumbline::text
