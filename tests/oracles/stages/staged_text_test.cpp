// SPDX-License-Identifier: MIT
// The steps of a text as stages: exact ones are the definition, low ones a kernel that conforms.
#include "oracles/stages/staged_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/oracles/reference/text/conforming_kernel.h"

namespace plumbline {
namespace {

using text::Data;
using text::kData;
using text::TextProblem;

constexpr const char* kTexts[] = {
    "operation rmsnorm(x[m, n], gamma[n], eps = 1e-6) -> y[m, n]\n"
    "  rstd[i] = rsqrt((sum[j] x[i, j]^2) / n + eps)\n"
    "  y[i, j] = x[i, j] * rstd[i] * gamma[j]\n",
    "operation softmax(x[m, n]) -> y[m, n]\n"
    "  big[i] = max[k] x[i, k]\n  e[i, j] = bf16(exp(x[i, j] - big[i]))\n"
    "  y[i, j] = e[i, j] / sum[k] e[i, k]\n",
    "operation product(a[m, n], b[n, m]) -> y[m, m]\n"
    "  w[k, j] = bf16(b[k, j] * 1.5)\n  y[i, j] = sum[k] (a[i, k] * w[k, j]) + 0.25\n",
};

text::Arithmetic arithmetic() {
  return {.products = {{Unit::tensor_core, Instruction::mma_sync}, 0, 90}};
}

std::unique_ptr<StagedComputation> staged(const TextProblem& stored, const TextProblem& source) {
  return staged_text({stored.instance(),
                      stored.inputs(),
                      source.inputs(),
                      arithmetic(),
                      {{"y", stored.output(), FormatId::bf16}}});
}

TEST(StagedText, ExactStagesAreTheDefinition) {
  for (const char* words : kTexts) {
    const TextProblem stored(words, {3, 40}, kData[0].element, 1, FormatId::bf16);
    const TextProblem source(words, {3, 40}, kData[0].element, 1, FormatId::f32);
    const std::vector<double> exact = staged(stored, source)->evaluate(0)[0];
    // bf16(...) is a rounding of a stage, too: without it the function is another one.
    std::string plain = words;
    if (const std::size_t at = plain.find("bf16"); at != plain.npos) plain.replace(at, 4, "");
    const std::vector<double> defined =
        TextProblem(plain, {3, 40}, kData[0].element, 1).over(text::Definition<double>());
    for (std::size_t i = 0; i < exact.size(); ++i)
      EXPECT_NEAR(exact[i], defined[i], 1e-13 * (1 + std::fabs(defined[i]))) << words << i;
  }
}

TEST(StagedText, LowStagesAreAKernelThatConforms) {
  for (const char* words : kTexts) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const TextProblem problem(words, {3, 100}, kData[0].element, seed, FormatId::bf16);
      const auto computation = staged(problem, problem);
      const StageSet low = computation->all_stages() & ~computation->stages_of(StageKind::output);
      const std::vector<double> values = computation->evaluate(low)[0];
      const auto forms = problem.over(text::Forms(arithmetic(), problem.instance()));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const F32Range range = text::ranged(forms[i]).range;
        EXPECT_TRUE(range.contains(static_cast<float>(values[i])))
            << words << i << ": " << values[i] << " not in " << range.low << " to " << range.high;
        EXPECT_EQ(values[i], static_cast<double>(static_cast<float>(values[i])));
      }
    }
  }
}

TEST(StagedText, StagesAreInTheOrderOfTheLines) {
  const TextProblem problem(kTexts[1], {2, 8}, kData[0].element, 1, FormatId::bf16);
  std::vector<std::string> names;
  const auto computation = staged(problem, problem);
  for (const Stage& stage : computation->stages()) names.push_back(stage.name);
  EXPECT_EQ(names, (std::vector<std::string>{"quantize inputs", "big", "e", "y", "output"}));
  EXPECT_EQ(computation->stages()[2].kind, StageKind::mandated);
  EXPECT_EQ(computation->stages()[3].kind, StageKind::arithmetic);
}

TEST(StagedText, AStageErrsAlone) {
  const TextProblem stored(kTexts[0], {3, 40}, kData[0].element, 1, FormatId::bf16);
  const TextProblem source(kTexts[0], {3, 40}, kData[0].element, 1, FormatId::f32);
  const auto computation = staged(stored, source);
  const auto distance = [&](StageSet low, int fault = -1) {
    const std::vector<double> exact = computation->evaluate(0)[0],
                              got = computation->evaluate(low, fault)[0];
    double most = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      most = std::max(most, std::fabs(got[i] - exact[i]) / std::fabs(exact[i]));
    return most;
  };
  EXPECT_GT(distance(1 << 0), 0x1p-12);  // inputs in bf16
  EXPECT_GT(distance(1 << 1), 0);        // rstd in f32
  EXPECT_LT(distance(1 << 1), 0x1p-20);
  EXPECT_GT(distance(1 << 1, 0), 0x1p-12);  // rstd rounded to bf16
  EXPECT_GT(distance(1 << 3), 0x1p-12);     // the output in bf16
  EXPECT_EQ(computation->faults()[0].words, "the step is rounded to bf16");
}

}  // namespace
}  // namespace plumbline
