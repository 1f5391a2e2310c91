// SPDX-License-Identifier: MIT
#include "harness/propagation/propagate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/unquantized.h"
#include "oracles/base/assert.h"
#include "oracles/stages/attribution.h"
#include "oracles/stages/output_vectors.h"
#include "reports/propagation_text.h"

namespace plumbline {
namespace {

// A fault of one stage is named when it explains this much of what the contract does not.
constexpr double kExplainedEnough = 0.75;
// And the remainder is worth a sentence from this part of the kernel's own error on.
constexpr double kNotable = 0.05;
// Condition numbers and relative errors of one element that people ask about.
constexpr double kIllConditioned = 100, kLargeForwardError = 0.01;
// Stages that err independently reproduce the joint error to this, by their root sum of squares.
constexpr double kIndependent = 0.1;

std::string_view name(StageKind kind) {
  switch (kind) {
    case StageKind::quantization:
      return "quantization";
    case StageKind::mandated:
      return "mandated";
    case StageKind::arithmetic:
      return "arithmetic";
    case StageKind::output:
      return "output";
  }
  return "";
}

// The stage with the largest share, by some member.
const StageRecord& largest(const std::vector<StageRecord>& stages, double StageRecord::* share) {
  return *std::max_element(
      stages.begin(), stages.end(),
      [share](const StageRecord& a, const StageRecord& b) { return a.*share < b.*share; });
}

void tell_sources(PropagationRecord& record) {
  if (record.error == 0) {
    record.findings.push_back("There is no error.");
    return;
  }
  const StageRecord& first = largest(record.stages, &StageRecord::in_order);
  const StageRecord& own = largest(record.stages, &StageRecord::own_in_order);
  if (record.unexplained > first.in_order) {
    record.findings.push_back(
        fmt::format("No stage explains {} of the error.", percent_text(record.unexplained)));
    return;
  }
  std::string words =
      fmt::format("\"{}\" makes {} of the error", first.name, percent_text(first.in_order));
  if (record.own_error == 0) {
    words += "; the kernel itself makes none";
  } else if (own.name != first.name && own.own_in_order > record.own_unexplained) {
    words += fmt::format("; \"{}\" makes {} of the kernel's own", own.name,
                         percent_text(own.own_in_order));
  }
  record.findings.push_back(words + ".");
  if (record.modelled > 0 && std::fabs(record.root_sum_square - 1) > kIndependent) {
    record.findings.push_back(
        fmt::format("The stages' errors are not independent: in quadrature they make {:.2f} of the "
                    "joint error.",
                    record.root_sum_square));
  }
}

void tell_remainder(PropagationRecord& record, double part_of_own, const std::string& failure) {
  if (!record.fault.empty()) {
    record.findings.push_back(
        fmt::format("The fault is in the stage \"{}\": {}. That explains {} of what the contract "
                    "leaves unexplained.",
                    record.fault_stage, record.fault, percent_text(record.fault_explains)));
  } else if (part_of_own > kNotable) {
    record.findings.push_back(fmt::format(
        "The kernel is {} of its own error away from the contract's model, and no known fault of "
        "one "
        "stage explains that. {}",
        percent_text(part_of_own),
        !failure.empty()
            ? "It breaks its contract."
            : "Its contract leaves room for it (the order of a join, or the last bits of ex2 and "
              "lg2)."));
  }
  if (!failure.empty() && record.fault.empty()) record.findings.push_back(failure);
}

// Inputs that ask for large errors, or a kernel that makes them.
void tell_condition(PropagationRecord& record) {
  const ConditionRecord& condition = record.condition;
  if (condition.bands.empty() || condition.worst_forward == 0) return;
  if (condition.worst_backward > 2 * condition.expected_backward) {
    record.findings.push_back(fmt::format(
        "Bad kernel: inputs would have to be off by {:.1e} to explain its worst element, and the "
        "contract's arithmetic needs no more than {:.1e}.",
        condition.worst_backward, condition.expected_backward));
  } else if (condition.worst_condition > kIllConditioned &&
             condition.worst_forward > kLargeForwardError) {
    record.findings.push_back(fmt::format(
        "Ill-conditioned input: the largest relative error, {:.1e}, is at a condition of {:.1e}; "
        "changing the inputs by {:.1e} does as much.",
        condition.worst_forward, condition.worst_condition,
        condition.worst_forward / condition.worst_condition));
  }
}

PropagationRecord analyze(const StagedComputation& computation, int output,
                          const std::vector<double>& seen, const CaseRecord& judged,
                          const PropagateOptions& options) {
  const StageSet all = computation.all_stages(),
                 quantized = computation.stages_of(StageKind::quantization);
  PropagationRecord record;
  record.output = computation.outputs()[static_cast<std::size_t>(output)];

  // A fault that explains what the contract does not takes its stage's place from here on.
  const FaultFit fit = best_fault(computation, output, seen);
  const bool faulty = fit.fault >= 0 && fit.explained >= kExplainedEnough;
  if (faulty) {
    const StageFault& fault = computation.faults()[static_cast<std::size_t>(fit.fault)];
    record.fault_stage = computation.stages()[static_cast<std::size_t>(fault.stage)].name;
    record.fault = fault.words;
    record.fault_explains = fit.explained;
  }
  StagedEvaluations promised(computation);
  StagedEvaluations evaluations(computation, faulty ? fit.fault : -1);
  AttributionOptions whole{.target = &seen, .orders = options.orders, .seed = options.seed};
  AttributionOptions own = whole;
  own.base = quantized;
  const Attribution total = attribute(evaluations, output, whole);
  const Attribution kernel = attribute(evaluations, output, own);
  const std::vector<double> exact = promised(0, output), given = promised(quantized, output),
                            modelled = promised(all, output);
  record.magnitude = total.magnitude;
  record.error = total.error;
  record.own_error = kernel.error;
  record.modelled = norm(exact) == 0 ? 0 : distance(modelled, given) / norm(exact);
  record.unexplained = total.unexplained;
  record.own_unexplained = kernel.unexplained;
  record.interaction = kernel.interaction;
  record.root_sum_square = kernel.root_sum_square;
  for (std::size_t i = 0; i < computation.stages().size(); ++i) {
    const StageShare &of_total = total.stages[i], &of_kernel = kernel.stages[i];
    StageRecord stage;
    stage.name = computation.stages()[i].name;
    stage.kind = name(computation.stages()[i].kind);
    stage.alone = of_total.alone;
    stage.without = of_total.without;
    stage.in_order = of_total.telescoped;
    stage.own_in_order = of_kernel.telescoped;
    stage.any_order = of_total.share;
    stage.any_order_error = of_total.standard_error;
    stage.own_any_order = of_kernel.share;
    stage.own_any_order_error = of_kernel.standard_error;
    record.stages.push_back(std::move(stage));
  }
  const ErrorSplit split = split_error(evaluations, output, seen);
  for (const auto& [part_name, part] :
       {std::pair{"quantization", split.quantization}, std::pair{"mandated", split.mandated},
        std::pair{"arithmetic", split.arithmetic}, std::pair{"output", split.output},
        std::pair{"unexplained", split.unexplained}}) {
    record.parts.push_back({part_name, part.relative, part.share});
  }
  record.condition = condition_record(given, difference(seen, given), difference(modelled, given),
                                      computation.condition(output));
  tell_sources(record);
  const double own_norm = distance(seen, given);
  tell_remainder(record, own_norm == 0 ? 0 : distance(seen, modelled) / own_norm,
                 failure_of(record.output, judged));
  tell_condition(record);
  return record;
}

}  // namespace

std::string failure_of(const std::string& output, const CaseRecord& judged) {
  if (judged.verdict != Verdict::fail) return "";
  const auto fails = [](const OutputRecord& one) { return one.verdict.failed > 0; };
  const auto first = std::ranges::find_if(judged.outputs, fails);
  if (first == judged.outputs.end() || !judged.findings.empty() || first->name == output)
    return "The case fails: " + judged.reason;  // of all outputs, or of this one
  for (const OutputRecord& one : judged.outputs) {
    if (one.name != output || !fails(one)) continue;
    return fmt::format("The case fails: {} of {} outputs of {} {} outside what the contract allows",
                       one.verdict.failed, one.verdict.elements, output,
                       one.verdict.failed == 1 ? "is" : "are");
  }
  return "";
}

Result<PropagatedCase> propagate_case(CaseRunner& runner, const Case& test_case,
                                      const Target& target, const PropagateOptions& options) {
  const Result<UnquantizedCase> begun = unquantized(test_case);
  if (!begun) return begun.error();
  const Result<std::unique_ptr<Examined>> examined = runner.examine(begun->stored, target);
  if (!examined) return examined.error();
  const CaseRecord& judged = (*examined)->record;
  if (!(*examined)->launch.completed) {
    return Error{ErrorKind::cannot_run, "the kernel did not finish: " + judged.reason,
                 test_case.text(), "plumbline replay shows its findings"};
  }
  const Manifest& kernel = *test_case.kernel;
  const std::unique_ptr<StagedComputation> computation = kernel.operation->staged(
      test_case.problem, kernel, target.sm, (*examined)->tensors, begun->sources);
  PLUMB_ASSERT(computation != nullptr);
  PropagatedCase out{judged, {}};
  out.judged.text = test_case.text();  // without the literals
  const std::vector<std::string> outputs = computation->outputs();
  for (int output = 0; output < static_cast<int>(outputs.size()); ++output) {
    const Tensor* seen = (*examined)->tensors.find(outputs[static_cast<std::size_t>(output)]);
    PLUMB_ASSERT(seen != nullptr);
    PropagationRecord record = analyze(*computation, output, values_of(*seen), judged, options);
    record.kernel = kernel.name;
    record.text = test_case.text();
    record.device = target.name();
    out.outputs.push_back(std::move(record));
  }
  return out;
}

}  // namespace plumbline
