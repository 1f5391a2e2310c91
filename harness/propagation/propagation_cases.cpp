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

struct Shapes {
  std::string_view operation;
  std::array<std::string_view, 3> problems;
};

// Small enough for the emulator, deep enough for the sums to round.
// clang-format off
constexpr std::array kShapes = {
    Shapes{"gemm",               {"m=64 n=64 k=1024", "m=64 n=64 k=256", "m=32 n=32 k=4096"}},
    Shapes{"attention",          {"queries=64 keys=256 d=64 scale=0.125",
                                  "queries=64 keys=1024 d=64 scale=0.125",
                                  "queries=128 keys=128 d=64 scale=0.125 causal=bottom_right"}},
    Shapes{"attention_backward", {"queries=64 keys=64 d=32 scale=0.1767767",
                                  "queries=64 keys=256 d=64 scale=0.125",
                                  "queries=128 keys=128 d=64 scale=0.125 causal=bottom_right"}},
    Shapes{"linear_backward",    {"m=64 n=48 k=32", "m=256 n=64 k=64", "m=1024 n=32 k=32"}},
    Shapes{"grouped_gemm",       {"groups=3 m=96 n=64 k=256", "groups=3 m=96 n=64 k=64", "groups=3 m=96 n=64 k=1024"}},
    Shapes{"softmax",            {"m=64 n=256", "m=64 n=1024", "m=16 n=4096"}},
    Shapes{"softmax_backward",   {"m=64 n=256", "m=64 n=1024", "m=16 n=4096"}},
    Shapes{"rmsnorm",            {"m=64 n=256", "m=64 n=1024", "m=16 n=4096"}},
    Shapes{"rmsnorm_backward",   {"m=64 n=256", "m=64 n=1024", "m=16 n=4096"}},
    Shapes{"layernorm",          {"m=64 n=256", "m=64 n=1024", "m=16 n=4096"}},
    Shapes{"layernorm_backward", {"m=64 n=256", "m=64 n=1024", "m=16 n=4096"}},
    Shapes{"quantize",           {"m=64 n=256", "m=64 n=1024", "m=16 n=4096"}},
    Shapes{"swiglu_mlp",         {"tokens=64 d=64 hidden=128 d_out=64", "tokens=64 d=128 hidden=256 d_out=128", "tokens=16 d=64 hidden=512 d_out=64"}},
};
// clang-format on

constexpr std::array<std::string_view, 4> kClasses = {"normal", "outliers", "positive",
                                                      "cancelling"};

// Of a text the sizes are those of its designed cases: a usual one, and long rows.
std::vector<std::string> problems_of(const Manifest& kernel) {
  std::vector<std::string> problems;
  for (const Shapes& shapes : kShapes) {
    if (shapes.operation == kernel.operation->name())
      problems.assign(shapes.problems.begin(), shapes.problems.end());
  }
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
