// SPDX-License-Identifier: MIT
#include "harness/propagation/gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/unquantized.h"
#include "harness/launch/interrupt.h"
#include "oracles/base/assert.h"
#include "oracles/stages/gradient_measures.h"
#include "oracles/stages/output_vectors.h"
#include "oracles/stages/staged.h"

namespace plumbline {
namespace {

// Alerts: a bias beyond this (docs/propagation.md) and five standard deviations of chance; a
// difference beyond this many times what the contract's model has.
constexpr double kBiased = 0.05, kDeviations = 5, kUnexpected = 1.5;

// What is gathered over the draws, per output.
struct Gathered {
  GradientDifference sum;  // of every measure
  double expected = 0;
  double source_relative = 0, source_cosine_gap = 0;
  double parallel_squares = 0;
  std::vector<double> rows, heads, channels;
  DrawSpread spread;
  BiasStatistic bias, expected_bias;
  AdamComparison adam;
  double stagnation_rate = 0;  // by the last draw
};

// The weights that a gradient is by, where they are stored in 16 bits; else nothing.
const Tensor* weights_of(const std::string& gradient, const CaseTensors& tensors) {
  if (gradient != "dw" && gradient != "dgamma") return nullptr;
  const Tensor* weights = tensors.find(gradient.substr(1));
  return weights && format(weights->layout.format).storage_bits == 16 ? weights : nullptr;
}

void gather(Gathered& all, const std::vector<double>& source, const std::vector<double>& exact,
            const std::vector<double>& got, const std::vector<double>& modelled,
            const std::vector<std::int64_t>& shape) {
  const GradientDifference one = compare_gradients(exact, got);
  all.sum.relative += one.relative;
  all.sum.cosine_gap += one.cosine_gap;
  all.sum.parallel += one.parallel;
  all.sum.orthogonal += one.orthogonal;
  all.sum.descent += one.descent;
  all.sum.lost += one.lost;
  all.sum.not_finite += one.not_finite;
  all.expected += compare_gradients(exact, modelled).relative;
  const GradientDifference with_quantization = compare_gradients(source, got);
  all.source_relative += with_quantization.relative;
  all.source_cosine_gap += with_quantization.cosine_gap;
  all.parallel_squares += one.parallel * one.parallel;
  const auto append = [](std::vector<double>& to, const std::vector<double>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  const std::int64_t width = shape.back();
  append(all.rows, row_differences(exact, got, width));
  // [batch, heads, tokens, width]: a channel is one of a head. A vector has neither.
  const std::int64_t height =
      shape.size() > 2 ? shape[shape.size() - 2] : std::ssize(exact) / width;
  if (shape.size() > 2) append(all.heads, row_differences(exact, got, height * width));
  if (shape.size() > 1) append(all.channels, column_differences(exact, got, height, width));
  all.spread.add(exact, got);
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
  const auto quantiles = [](std::vector<double> of, double& median, double& high, double& largest) {
    std::sort(of.begin(), of.end());
    median = quantile(of, 0.5);
    high = quantile(of, 0.99);
    largest = quantile(of, 1);
  };
  GradientRecord record;
  record.draws = draws;
  record.relative = all.sum.relative / count;
  record.cosine_gap = all.sum.cosine_gap / count;
  record.source_relative = all.source_relative / count;
  record.source_cosine_gap = all.source_cosine_gap / count;
  record.parallel = all.sum.parallel / count;
  record.orthogonal = all.sum.orthogonal / count;
  // The standard error of the mean over draws.
  record.parallel_error =
      std::sqrt(std::max(0.0, all.parallel_squares / count - record.parallel * record.parallel) /
                (count - 1));
  quantiles(all.rows, record.row_median, record.row_99, record.row_largest);
  quantiles(all.heads, record.head_median, record.head_99, record.head_largest);
  quantiles(all.channels, record.channel_median, record.channel_99, record.channel_largest);
  record.of_spread = all.spread.value();
  record.bias = all.bias.value();
  record.bias_noise = all.bias.noise();
  record.expected = all.expected / count;
  record.descent = all.sum.descent / count;
  record.adam_difference = all.adam.difference();
  record.adam_flips = all.adam.flips();
  record.stagnation_rate = all.stagnation_rate;
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
    if (interrupted()) break;  // the draws before are whole
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
    const StagedValues source = computation->evaluate(StageSet{0}),
                       exact =
                           computation->evaluate(computation->stages_of(StageKind::quantization)),
                       modelled = computation->evaluate(computation->all_stages());
    for (std::size_t output = 0; output < names.size(); ++output) {
      const Tensor& got = *tensors.find(names[output]);
      gather(gathered[output], source[output], exact[output], values_of(got), modelled[output],
             got.layout.shape);
      if (const Tensor* weights = weights_of(names[output], tensors)) {
        gathered[output].stagnation_rate = gathered[output].adam.stagnation_rate(
            values_of(*weights), format(weights->layout.format));
      }
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
