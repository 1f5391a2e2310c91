// SPDX-License-Identifier: MIT
#include "harness/explain/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fuzz/case/literal.h"
#include "oracles/bounds/accumulator/model.h"
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

// Kernels that load several elements at a time take only multiples of some power of two: so many
// probes are laid out, the first one again and again after the last.
constexpr std::size_t kMultiple = 64;

std::vector<ArithmeticProbe> laid_out(std::vector<ArithmeticProbe> probes) {
  const ArithmeticProbe first = probes.front();
  probes.resize((probes.size() + kMultiple - 1) / kMultiple * kMultiple, first);
  return probes;
}

// Vector i of either operand is that of probe i.
Tensor filled(const TensorSpec& spec, const Operation::DotProducts& sums,
              const std::vector<ArithmeticProbe>& probes) {
  Tensor tensor(dense_layout(spec.layout.format, spec.layout.shape));
  const Format& element = format(spec.layout.format);
  const std::int64_t columns = spec.layout.shape.back();
  double other = 1;
  for (const auto& [name, value] : sums.others) {
    if (name == spec.name) other = value;
  }
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
    const auto row = static_cast<std::size_t>(i / columns),
               column = static_cast<std::size_t>(i % columns);
    double value = other;
    if (spec.name == sums.a) {
      value =
          static_cast<double>(sums.columns_of_a ? probes[column].a[row] : probes[row].a[column]);
    } else if (spec.name == sums.b) {
      value = static_cast<double>(probes[column].b[row]);
    }
    tensor.set_bits(i, encode(element, value));
  }
  return tensor;
}

// Whether an output is the sum of products itself, of the operands as they are stored.
bool is_a_plain_sum(const Problem& problem, const Contract& contract) {
  const auto is_none = [&](std::string_view field) {
    return !problem.has(field) || problem.word(field) == "none";
  };
  return is_none("bias") && is_none("act") && !contract.dequantize_b;
}

// Whether a format has the numbers of probes, whose exponents differ by more than those of FP4 do.
bool has_numbers_of(const std::vector<ArithmeticProbe>& probes, FormatId id) {
  const Format& element = format(id);
  const auto has = [&](float value) {
    const auto exact = static_cast<double>(value);
    return to_double(element, encode(element, exact)) == exact;
  };
  return std::ranges::all_of(probes, [&](const ArithmeticProbe& probe) {
    return std::ranges::all_of(probe.a, has) && std::ranges::all_of(probe.b, has);
  });
}

ProbeResults kind_of(std::string_view out) {
  return out == "f32" ? ProbeResults::f32 : ProbeResults::narrow;
}

// nullopt where the kernel does not have the problem, or does not finish it.
Result<std::optional<ProbedArithmetic>> probe_sums(const Manifest& kernel,
                                                   const Operation::DotProducts& sums,
                                                   const std::vector<ArithmeticProbe>& probes,
                                                   std::int64_t asked, std::string_view out,
                                                   const Target& target, CaseRunner& runner) {
  std::optional<ProbedArithmetic> none;
  const Result<Problem> problem = parse_problem(
      kernel.schema(),
      fmt::format("{} out={}{}", sums.fields, out, is_free(kernel, "splits") ? " splits=4" : ""));
  if (!problem) return problem.error();
  const Result<std::vector<TensorSpec>> specs = kernel.tensors(*problem);
  if (!specs) return specs.error();
  const Contract contract = kernel.contract(*problem, sums.output);
  const FormatId a = kernel.tensor_format(sums.a, *problem),
                 b = kernel.tensor_format(sums.b, *problem);
  if (!is_a_plain_sum(*problem, contract)) return none;
  if (kernel.excluded(*problem) || format(a).is_integer || format(b).is_integer) return none;
  if (!has_numbers_of(probes, a) || !has_numbers_of(probes, b)) return none;

  Case test_case;
  test_case.kernel = &kernel;
  test_case.problem = *problem;
  test_case.recipe.value_class = kLiteralValues;
  test_case.origin = "probe";
  for (const TensorSpec& spec : *specs) {
    if (spec.role == TensorRole::input)
      test_case.literals.emplace_back(spec.name, filled(spec, sums, probes));
  }
  const Result<Execution> ran = runner.execute(test_case, target);
  if (!ran) return ran.error();
  if (!ran->launch.completed) return none;

  const Tensor& d = *ran->tensors.find(sums.output);
  const Format& stored = format(d.layout.format);
  const ProbeResults kind = kind_of(out);
  std::vector<float> found, promised;
  for (std::int64_t i = 0; i < asked; ++i) {
    const ArithmeticProbe& probe = probes[static_cast<std::size_t>(i)];
    const std::uint64_t bits = d.bits(i * std::ssize(probes) + i);
    found.push_back(static_cast<float>(to_double(stored, bits)));
    promised.push_back(
        run_accumulator(contract, target.sm, a, b, probe.a.data(), probe.b.data(), kProbeDepth)
            .value);
  }
  return std::optional(ProbedArithmetic{arithmetic_of(found, kind), arithmetic_of(promised, kind),
                                        !kernel.deterministic(), contract.order_is_open(),
                                        std::string(sums.output)});
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

Result<std::vector<ProbedArithmetic>> probe_arithmetic(const Manifest& kernel, const Target& target,
                                                       CaseRunner& runner) {
  std::vector<ProbedArithmetic> all;
  constexpr std::array<std::string_view, 3> kOutputs = {"f32", "bf16", "f16"};
  const auto out = std::ranges::find_if(
      kOutputs, [&](std::string_view word) { return has_word(kernel, "out", word); });
  if (out == kOutputs.end()) return all;
  const std::vector<ArithmeticProbe> asked = arithmetic_probes(kind_of(*out)),
                                     probes = laid_out(asked);
  for (const Operation::DotProducts& sums :
       kernel.operation->dot_products(std::ssize(probes), kProbeDepth)) {
    Result<std::optional<ProbedArithmetic>> probed =
        probe_sums(kernel, sums, probes, std::ssize(asked), *out, target, runner);
    if (!probed) return probed.error();
    if (*probed) all.push_back(**std::move(probed));
  }
  return all;
}

bool all_agree(const std::vector<ProbedArithmetic>& probed) {
  return std::all_of(probed.begin(), probed.end(),
                     [](const ProbedArithmetic& one) { return one.agrees(); });
}

std::string words_of(const std::vector<ProbedArithmetic>& probed) {
  const bool alike = std::all_of(probed.begin(), probed.end(), [&](const ProbedArithmetic& one) {
    return one.words() == probed.front().words();
  });
  if (alike && !probed.empty()) return probed.front().words();
  std::string words;
  for (const ProbedArithmetic& one : probed)
    words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", one.output, one.words());
  return words;
}

}  // namespace plumbline
