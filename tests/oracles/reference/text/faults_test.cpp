// SPDX-License-Identifier: MIT
// Kernels that make one simple mistake, and whether it is named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "oracles/reference/text/oracle.h"
#include "oracles/text/edits.h"
#include "tests/oracles/reference/text/conforming_kernel.h"

namespace plumbline::text {
namespace {

constexpr const char* kTexts[] = {
    "operation add_rmsnorm(x[m, n], residual[m, n], gamma[n], eps = 0.25) -> y[m, n]\n"
    "  sum_of[i, j] = x[i, j] + residual[i, j] for i < m, j < n\n"
    "  rstd[i] = rsqrt((sum[j] sum_of[i, j]^2) / n + eps)\n"
    "  y[i, j] = sum_of[i, j] * rstd[i] * gamma[j]\n",
    "operation softmax(x[m, n]) -> y[m, n]\n"
    "  y[i, j] = exp(x[i, j] - max[k] x[i, k]) / sum[k] exp(x[i, k] - max[k2 < n] x[i, k2])\n",
    "operation shared(x[m, 2 n], g[m, 2 n]) -> y[m, n]\n"
    "  u[i, j] = x[i, 2 * j + 1] * g[i, 2 * j + 1] for i < m, j < n\n"
    "  y[i, j] = u[i, j] + x[i, 2 * j + 1] / (2 + g[i, j]^2)\n",
    "operation gated(x[m, 2 n], bias[n] = 0) -> y[m, n]\n"
    "  y[i, j] = gelu(x[i, j] + bias[j]) * where(x[i, n + j] < 0.5, 0.1 * x[i, n + j], x[i, n + "
    "j])\n",
    "operation moved(x[m, n], v[m, n], eps = 0.25) -> y[m, n]\n"
    "  y[i, j] = x[i, j] / (sqrt(v[i, j]^2) + eps) * (x[i, j] + v[i, j])\n",
};

// What a kernel of an edited text stores, explained by the text as it was.
std::vector<std::string> named(const TextProblem& problem, const Edit& edit, bool& wrong) {
  wrong = false;
  const auto program = check_operation(edit.text);
  if (!program) return {};
  const Result<Instance> instance = Instance::make(*program, problem.instance().setting());
  if (!instance) return {};
  const Arithmetic arithmetic{.functions = Functions::precise, .flushed = false};
  const int step = problem.output();
  Evaluator<Drawn> kernel(*instance, problem.inputs(), Drawn(arithmetic, 7));
  const auto shape = instance->step_shape(step);
  Tensor got(dense_layout(FormatId::f32, {shape.begin(), shape.end()}));
  try {
    for (std::int64_t i = 0; i < problem.elements(); ++i)
      got.set_bits(i, encode(format(FormatId::f32), kernel.element(step, i)));
  } catch (const Undefined&) {
    return {};
  }
  const TextOracle oracle(problem.instance(), problem.inputs(), arithmetic,
                          {{"y", step, FormatId::f32}});
  const OutputVerdict verdict = oracle.judge(0, got, {});
  // Infinities and NaN are no explanation of each other.
  const bool finite = std::ranges::all_of(
      verdict.failures, [](const ElementVerdict& one) { return std::isfinite(one.error_ulp); });
  wrong = !verdict.failures.empty() && finite;
  return wrong ? oracle.explain(0, verdict.failures.front().index, got).faults.names
               : std::vector<std::string>();
}

TEST(TextFaults, WhatIsWrongInSeveralPlacesIsNamedOnce) {
  const TextProblem problem(kTexts[2], {3, 20}, kData[0].element, 3);
  int found = 0;
  for (const Edit& edit : single_edits(problem.instance().program().text, 1000)) {
    if (edit.name != "line 2 and wherever x[i, 2 * j + 1] is: with g for x") continue;
    ++found;
    bool wrong = false;
    EXPECT_EQ(named(problem, edit, wrong), std::vector<std::string>{edit.name});
    EXPECT_TRUE(wrong);
  }
  EXPECT_EQ(found, 1);
}

// A kernel that reads x for h. Were the term left out of h, h would be another one, too.
TEST(TextFaults, OtherOutputsSpeakAgainstAFault) {
  const TextProblem problem(
      "operation joined(x[m, n], r[m, n]) -> h[m, n], y[m, n]\n"
      "  h[i, j] = x[i, j] + r[i, j]\n"
      "  y[i, j] = h[i, j] * h[i, j] * 2\n",
      {1, 1}, kData[0].element, 3);
  const std::vector<int>& steps = problem.instance().program().outputs;
  const Arithmetic arithmetic{.functions = Functions::precise, .flushed = false};
  const auto stored = [&](const Instance& instance, int step) {
    Evaluator<Drawn> kernel(instance, problem.inputs(), Drawn(arithmetic, 7));
    Tensor out(dense_layout(FormatId::f32, {1, 1}));
    out.set_bits(0, encode(format(FormatId::f32), kernel.element(step, 0)));
    return out;
  };
  const Tensor h = stored(problem.instance(), steps[0]);
  for (const Edit& edit : single_edits(problem.instance().program().text, 1000)) {
    if (edit.name != "line 3 and wherever h[i, j] is: with x for h") continue;
    const auto program = check_operation(edit.text);
    ASSERT_TRUE(program);
    const Result<Instance> edited = Instance::make(*program, problem.instance().setting());
    ASSERT_TRUE(edited);
    const Tensor y = stored(*edited, steps[1]);
    const auto names = [&](const Tensor* known) {
      const TextOracle oracle(
          problem.instance(), problem.inputs(), arithmetic,
          {{"h", steps[0], FormatId::f32, known}, {"y", steps[1], FormatId::f32}});
      return oracle.explain(1, 0, y).faults.names;
    };
    EXPECT_EQ(names(&h), std::vector<std::string>{edit.name});
    EXPECT_GT(names(nullptr).size(), 1u);
    return;
  }
  FAIL() << "no such fault";
}

// But for a few whose outputs are infinite, or nothing but 0.
TEST(TextFaults, SimpleMistakesAreNamed) {
  int mistakes = 0, named_at_all = 0, named_first = 0;
  for (const char* text : kTexts) {
    const TextProblem problem(text, {3, 20}, kData[0].element, 3);
    for (const Edit& edit : single_edits(problem.instance().program().text, 1000)) {
      bool wrong = false;
      const std::vector<std::string> faults = named(problem, edit, wrong);
      if (!wrong) continue;
      ++mistakes;
      named_at_all += std::ranges::count(faults, edit.name) > 0;
      named_first += !faults.empty() && faults.front() == edit.name;
    }
  }
  EXPECT_GE(mistakes, 100);
  EXPECT_GE(named_at_all, mistakes - 3);
  EXPECT_GE(named_first, mistakes * 7 / 10);
}

// bf16 outputs cut off; what is stored is rounded to bf16 in any case, and no fault.
TEST(TextFaults, TruncatedOutputsAreNamed) {
  for (const char* text : kTexts) {
    const TextProblem problem(text, {3, 20}, kData[0].element, 3);
    const std::vector<double> exact = problem.over(Definition<double>());
    Tensor got(dense_layout(FormatId::bf16, {3, 20}));
    for (std::int64_t i = 0; i < problem.elements(); ++i) {
      got.set_bits(i, encode(format(FormatId::bf16), exact[static_cast<std::size_t>(i)],
                             {Rounding::toward_zero, Overflow::saturate, 0}));
    }
    const TextOracle oracle(problem.instance(), problem.inputs(), {},
                            {{"y", problem.output(), FormatId::bf16}});
    const OutputVerdict verdict = oracle.judge(0, got, {});
    ASSERT_GT(verdict.failed, 5) << text;
    const std::vector<std::string> names = oracle.explain(0, verdict.worst.index, got).faults.names;
    ASSERT_FALSE(names.empty()) << text;
    EXPECT_EQ(names.front(), "the output was truncated, not rounded to nearest") << text;
    for (const std::string& name : names) EXPECT_FALSE(name.ends_with(": rounded to bf16")) << name;
  }
}

TEST(TextFaults, OtherRoundingsToIntegersAreNamed) {
  const TextProblem problem(
      "operation steps(x[m, n]) -> y[m, n]\n"
      "  y[i, j] = round(3 * x[i, j]) * 0.25\n",
      {3, 20}, kData[0].element, 3);
  int found = 0;
  for (const Edit& edit : single_edits(problem.instance().program().text, 1000)) {
    if (edit.name.find("truncated, not") == std::string::npos) continue;
    ++found;
    bool wrong = false;
    const std::vector<std::string> faults = named(problem, edit, wrong);
    EXPECT_TRUE(wrong);
    ASSERT_FALSE(faults.empty()) << edit.name;
    EXPECT_EQ(faults.front(), edit.name);
  }
  EXPECT_EQ(found, 1);
}

// A stored integer does not show how it came about.
TEST(TextFaults, WhatIsRoundedIsShownBeforeItIs) {
  const TextProblem problem(
      "operation rounds(x[m, n]) -> y[m, n]\n"
      "  y[i, j] = bf16(x[i, j] + 0.001)\n",
      {1, 4}, kData[0].element, 3);
  const TextOracle oracle(problem.instance(), problem.inputs(), {},
                          {{"y", problem.output(), FormatId::bf16}});
  const Tensor got(dense_layout(FormatId::bf16, {1, 4}));
  const std::vector<std::string> lines = oracle.explain(0, 0, got).lines;
  const double x = problem.inputs().at(0, 0);
  const std::string due =
      fmt::format("{:.9g} exactly before it is rounded to bf16", x + static_cast<double>(0.001f));
  EXPECT_TRUE(std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(due) != std::string::npos; }))
      << due << fmt::format("{}", fmt::join(lines, "\n"));
}

// So many mistakes give NaN that NaN says nothing of which: here without eps.
TEST(TextFaults, NanAloneNamesNothing) {
  const TextProblem problem(
      "operation part(x[m, n], eps = 0.25) -> y[m, n]\n"
      "  y[i, j] = (x[i, j] - x[i, j]) / (x[i, j] - x[i, j] + eps)\n",
      {1, 4}, kData[0].element, 3);
  const TextOracle oracle(problem.instance(), problem.inputs(), {},
                          {{"y", problem.output(), FormatId::f32}});
  Tensor got(dense_layout(FormatId::f32, {1, 4}));
  for (std::int64_t i = 0; i < 4; ++i) got.set_bits(i, 0x7fc00000);
  EXPECT_GT(oracle.judge(0, got, {}).failed, 0);
  EXPECT_TRUE(oracle.explain(0, 0, got).faults.names.empty());
}

TEST(TextFaults, NothingIsNamedWhereNothingSimpleIsWrong) {
  const TextProblem problem(kTexts[0], {3, 20}, kData[0].element, 3);
  const TextOracle oracle(problem.instance(), problem.inputs(), {},
                          {{"y", problem.output(), FormatId::f32}});
  Tensor got(dense_layout(FormatId::f32, {3, 20}));
  for (std::int64_t i = 0; i < 60; ++i)
    got.set_bits(i, encode(format(FormatId::f32), static_cast<double>(i) - 30.25));
  EXPECT_TRUE(oracle.explain(0, 5, got).faults.names.empty());
}

TEST(TextEdits, AreNoMoreThanAskedFor) {
  const TextProblem problem(kTexts[0], {3, 20}, kData[0].element);
  EXPECT_EQ(single_edits(problem.instance().program().text, 7).size(), 7u);
}

}  // namespace
}  // namespace plumbline::text
