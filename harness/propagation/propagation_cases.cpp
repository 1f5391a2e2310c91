// SPDX-License-Identifier: MIT
// Which problems error propagation looks at when it is not told.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "fuzz/case/generator.h"
#include "fuzz/plan/domain_fit.h"
#include "harness/propagation/propagate.h"
#include "kernels/ops/text_operation.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 4> kClasses = {"normal", "outliers", "positive",
                                                      "cancelling"};

// Of a text the sizes are those of its designed cases: a usual one, and long rows.
std::vector<std::string> problems_of(const Manifest& kernel) {
  const auto deep = kernel.operation->usual().deep_problems;
  std::vector<std::string> problems(deep.begin(), deep.end());
  if (!as_text(*kernel.operation)) return problems;
  for (const DesignedCase& one : generator_of(*kernel.operation).designed(kernel)) {
    const bool wanted = one.shape_class == (problems.empty() ? "vector_tail" : "long");
    const Result<Problem> problem = parse_problem(kernel.schema(), one.problem);
    if (!wanted || one.layout_class != "tight" || !problem) continue;
    std::optional<Problem> fitted = fit_to_domain(kernel, *problem);
    if (!fitted) continue;
    if (fitted->has("out")) fitted->reset("out");
    problems.push_back(fitted->text());
    if (problems.size() == 2) break;
  }
  return problems;
}

}  // namespace

PropagationCases propagation_cases(const Manifest& kernel, std::uint64_t seed) {
  PropagationCases found;
  std::vector<std::string> outputs;
  for (const Field& field : kernel.schema()) {
    if (field.name != "out") continue;
    for (const std::string_view word : field.choices)
      outputs.push_back(fmt::format(" out={}", word));
  }
  if (outputs.empty()) outputs.emplace_back();
  for (const std::string& shape : problems_of(kernel)) {
    for (const std::string& output : outputs) {
      std::string text = shape + output;
      for (const auto& [field, value] :
           {std::pair<std::string_view, std::string_view>{"scale_a", "row"},
            {"scale_b", "column"},
            {"scales", "block"},
            {"scales", "head"}}) {
        // Rows, columns, heads and blocks of rows have scales of their own where the kernel can.
        if (text.find(fmt::format(" {}=", field)) != std::string::npos) continue;
        for (const Field& known : kernel.schema()) {
          const bool can =
              std::find(known.choices.begin(), known.choices.end(), value) != known.choices.end();
          if (known.name == field && can && output != " out=s32")
            text += fmt::format(" {}={}", field, value);
        }
      }
      const Result<Problem> problem = parse_problem(kernel.schema(), text);
      const std::optional<std::string> refusal =
          problem ? kernel.excluded(*problem) : problem.error().text();
      if (refusal) {
        if (found.refusal.empty()) found.refusal = fmt::format("{}: {}", text, *refusal);
        continue;
      }
      for (const std::string_view value_class : kClasses) {
        Case test_case;
        test_case.kernel = &kernel;
        test_case.problem = *problem;
        test_case.recipe = {std::string(value_class), seed};
        found.cases.push_back(std::move(test_case));
      }
    }
  }
  return found;
}

}  // namespace plumbline
