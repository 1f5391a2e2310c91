// SPDX-License-Identifier: MIT
#include "harness/gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/unquantized.h"
#include "harness/interrupt.h"
#include "oracles/base/assert.h"
#include "oracles/reference/gradient_measures.h"
#include "oracles/reference/output_vectors.h"
#include "oracles/reference/staged.h"

namespace plumbline {
namespace {

// Alerts: a bias beyond this (docs/propagation.md) and five standard deviations of chance; a
// difference beyond this many times what the contract's model has.
constexpr double kBiased = 0.05, kDeviations = 5, kUnexpected = 1.5;

// What is gathered over the draws, per output.
struct Gathered {
  GradientDifference sum;  // of every measure
  double expected = 0;
  std::vector<double> rows;
  BiasStatistic bias, expected_bias;
  AdamComparison adam;
};

void gather(Gathered& all, const std::vector<double>& exact, const std::vector<double>& got,
            const std::vector<double>& modelled, std::int64_t width) {
  const GradientDifference one = compare_gradients(exact, got);
  all.sum.relative += one.relative;
  all.sum.cosine_gap += one.cosine_gap;
  all.sum.parallel += one.parallel;
  all.sum.orthogonal += one.orthogonal;
  all.sum.descent += one.descent;
  all.sum.lost += one.lost;
  all.sum.not_finite += one.not_finite;
  all.expected += compare_gradients(exact, modelled).relative;
  const std::vector<double> rows = row_differences(exact, got, width);
  all.rows.insert(all.rows.end(), rows.begin(), rows.end());
  all.bias.add(difference(got, exact));
  all.expected_bias.add(difference(modelled, exact));
  all.adam.step(exact, got);
}

void tell(GradientRecord& record, double expected_bias) {
  const bool biased = record.bias > kBiased && record.bias > kDeviations * record.bias_noise;
  if (biased && record.bias > 2 * expected_bias) {
    record.findings.push_back(
        fmt::format("Biased: {:.0f} % of the error is the same in every draw, where chance leaves "
                    "{:.1f} %; it adds up over steps.",
                    100 * record.bias, 100 * record.bias_noise));
  } else if (biased) {
    record.findings.push_back(
        fmt::format("{:.0f} % of the error is the same in every draw, as the contract's arithmetic "
                    "has it too ({:.0f} %).",
                    100 * record.bias, 100 * expected_bias));
  }
  if (record.relative > kUnexpected * record.expected) {
    record.findings.push_back(
        fmt::format("The gradient is off by {:.1e}, {:.1f} times what the contract's arithmetic "
                    "makes ({:.1e}).",
                    record.relative, record.relative / record.expected, record.expected));
  }
  if (record.not_finite > 0) {
    record.findings.push_back(
        fmt::format("{:.2g} % of the elements are NaN or infinite.", 100 * record.not_finite));
  }
  if (record.lost > 0) {
    record.findings.push_back(fmt::format(
        "{:.2g} % of the elements underflow to 0: scale the loss up.", 100 * record.lost));
  }
  if (record.findings.empty())
    record.findings.push_back("Unbiased, and no further off than the contract's arithmetic.");
}

GradientRecord record_of(const Gathered& all, std::int64_t draws) {
  const auto count = static_cast<double>(draws);
  std::vector<double> rows = all.rows;
  std::sort(rows.begin(), rows.end());
  GradientRecord record;
  record.draws = draws;
  record.relative = all.sum.relative / count;
  record.cosine_gap = all.sum.cosine_gap / count;
  record.parallel = all.sum.parallel / count;
  record.orthogonal = all.sum.orthogonal / count;
  record.row_median = quantile(rows, 0.5);
  record.row_99 = quantile(rows, 0.99);
  record.row_largest = quantile(rows, 1);
  record.bias = all.bias.value();
  record.bias_noise = all.bias.noise();
  record.expected = all.expected / count;
  record.descent = all.sum.descent / count;
  record.adam_difference = all.adam.difference();
  record.adam_flips = all.adam.flips();
  record.lost = all.sum.lost / count;
  record.not_finite = all.sum.not_finite / count;
  tell(record, all.expected_bias.value());
  return record;
}

}  // namespace

bool has_gradients(const Operation& operation) {
  return operation.name().ends_with("_backward") && !operation.quantized().empty();
}

Result<ComparedGradients> compare_gradients_of(CaseRunner& runner, const Case& test_case,
                                               const Target& target,
                                               const GradientOptions& options) {
  const Manifest& kernel = *test_case.kernel;
  ComparedGradients out;
  std::vector<Gathered> gathered;
  std::vector<std::string> names;
  for (int draw = 0; draw < options.draws && !interrupted(); ++draw) {
    const Result<UnquantizedCase> begun = unquantized(test_case, draw);
    if (!begun) return begun.error();
    const Result<std::unique_ptr<Examined>> examined = runner.examine(begun->stored, target);
    if (!examined) return examined.error();
    out.judged.push_back((*examined)->record);
    out.judged.back().text = test_case.text();
    if (!(*examined)->launch.completed) {
      return Error{ErrorKind::cannot_run, "the kernel did not finish: " + out.judged.back().reason,
                   test_case.text(), "plumbline replay shows its findings"};
    }
    const CaseTensors& tensors = (*examined)->tensors;
    const auto computation =
        kernel.operation->staged(test_case.problem, kernel, target.sm, tensors, begun->sources);
    PLUMB_ASSERT(computation != nullptr);
    names = computation->outputs();
    gathered.resize(names.size());
    const StagedValues exact =
                           computation->evaluate(computation->stages_of(StageKind::quantization)),
                       modelled = computation->evaluate(computation->all_stages());
    for (std::size_t output = 0; output < names.size(); ++output) {
      const Tensor& got = *tensors.find(names[output]);
      gather(gathered[output], exact[output], values_of(got), modelled[output],
             got.layout.shape.back());
    }
  }
  if (out.judged.size() < 2) return out;
  for (std::size_t output = 0; output < names.size(); ++output) {
    out.outputs.push_back(record_of(gathered[output], std::ssize(out.judged)));
    GradientRecord& record = out.outputs.back();
    record.kernel = kernel.name;
    record.text = test_case.text();
    record.device = target.name();
    record.output = names[output];
  }
  return out;
}

}  // namespace plumbline
