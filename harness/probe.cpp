// SPDX-License-Identifier: MIT
#include "harness/probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/literal.h"
#include "oracles/bounds/accumulator_model.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

bool has_word(const Manifest& kernel, std::string_view field, std::string_view word) {
  return std::any_of(kernel.schema().begin(), kernel.schema().end(), [&](const Field& f) {
    return f.name == field &&
           std::find(f.choices.begin(), f.choices.end(), word) != f.choices.end();
  });
}

bool is_free(const Manifest& kernel, std::string_view field) {
  return std::any_of(kernel.schema().begin(), kernel.schema().end(),
                     [&](const Field& f) { return f.name == field && !f.fixed; });
}

// Probe i is row i of A times column i of B: the result is d[i, i].
double value_at(std::string_view tensor, std::int64_t row, std::int64_t column,
                const std::vector<ArithmeticProbe>& probes) {
  if (tensor == "a")
    return static_cast<double>(
        probes[static_cast<std::size_t>(row)].a[static_cast<std::size_t>(column)]);
  if (tensor == "b")
    return static_cast<double>(
        probes[static_cast<std::size_t>(column)].b[static_cast<std::size_t>(row)]);
  return 1;  // scales
}

Tensor filled(const TensorSpec& spec, const std::vector<ArithmeticProbe>& probes) {
  Tensor tensor(dense_layout(spec.layout.format, spec.layout.shape));
  const Format& element = format(spec.layout.format);
  const std::int64_t columns = spec.layout.shape.back();
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
    tensor.set_bits(i, encode(element, value_at(spec.name, i / columns, i % columns, probes)));
  }
  return tensor;
}

}  // namespace

bool ProbedArithmetic::agrees() const {
  if (undeclared) {  // bits are all it promises; 0: more than probes reach
    const auto enough = [](int bits, int least) {
      return bits == 0 || (least != 0 && bits >= least);
    };
    return enough(found.fraction_bits, promised.fraction_bits) &&
           enough(found.result_bits, promised.result_bits);
  }
  Arithmetic seen = found;
  if (any_order) seen.fresh_every = promised.fresh_every;
  return seen == promised;
}

std::string ProbedArithmetic::words() const {
  if (agrees()) return found.words() + (undeclared ? "; its contract leaves the order open" : "");
  return fmt::format("{}; its contract says {}", found.words(), promised.words());
}

Result<std::optional<ProbedArithmetic>> probe_arithmetic(const Manifest& kernel,
                                                         const Target& target, CaseRunner& runner) {
  const bool sums =
      kernel.operation->name() == "gemm" && kernel.promised.contract.unit != Unit::int32;
  if (!sums || !has_word(kernel, "out", "f32")) return std::optional<ProbedArithmetic>();
  const std::vector<ArithmeticProbe> probes = arithmetic_probes();
  const auto count = std::ssize(probes);
  const std::string fields = fmt::format("m={0} n={0} k={1} out=f32{2}", count, kProbeDepth,
                                         is_free(kernel, "splits") ? " splits=4" : "");
  const Result<Problem> problem = parse_problem(kernel.schema(), fields);
  if (!problem) return problem.error();
  const Result<std::vector<TensorSpec>> specs = kernel.tensors(*problem);
  if (!specs) return specs.error();
  if (kernel.excluded(*problem)) return std::optional<ProbedArithmetic>();

  Case test_case;
  test_case.kernel = &kernel;
  test_case.problem = *problem;
  test_case.recipe.value_class = kLiteralValues;
  test_case.origin = "probe";
  for (const TensorSpec& spec : *specs) {
    if (spec.role == TensorRole::input)
      test_case.literals.emplace_back(spec.name, filled(spec, probes));
  }
  const Result<std::unique_ptr<Examined>> examined = runner.examine(test_case, target);
  if (!examined) return examined.error();
  if (!(*examined)->launch.completed) return std::optional<ProbedArithmetic>();

  const Contract contract = kernel.contract(*problem, "d");
  const FormatId a = kernel.tensor_format("a", *problem), b = kernel.tensor_format("b", *problem);
  const Tensor& d = *(*examined)->tensors.find("d");
  std::vector<float> found, promised;
  for (std::int64_t i = 0; i < count; ++i) {
    const ArithmeticProbe& probe = probes[static_cast<std::size_t>(i)];
    found.push_back(static_cast<float>(to_double(format(FormatId::f32), d.bits(i * count + i))));
    promised.push_back(
        run_accumulator(contract, target.sm, a, b, probe.a.data(), probe.b.data(), kProbeDepth)
            .value);
  }
  return std::optional(ProbedArithmetic{arithmetic_of(found), arithmetic_of(promised),
                                        !kernel.deterministic(),
                                        contract.schedule == Schedule::any});
}

}  // namespace plumbline
