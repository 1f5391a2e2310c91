// SPDX-License-Identifier: MIT
#include "harness/propagation/stochastic.h"

#include <algorithm>
#include <cmath>

#include "harness/emulator/emulator_device.h"
#include "harness/launch/interrupt.h"
#include "harness/launch/named_entries.h"
#include "harness/propagation/significance.h"
#include "oracles/base/assert.h"
#include "oracles/base/random.h"
#include "oracles/formats/ulp.h"

namespace plumbline {
namespace {

// Elements whose certified bound is asked for: enough for a median.
constexpr std::int64_t kBounded = 255;

constexpr int kFewestDraws = 2;  // that tell anything, where Ctrl-C ends them

// A case's kernel on an emulator that rounds at random.
class RandomRun {
 public:
  static Result<RandomRun> open(const Case& test_case, int sm, RandomRounding rounding,
                                int threads) {
    const Manifest& kernel = *test_case.kernel;
    const std::optional<int> build = best_build(kernel, sm);
    if (!build) {
      return Error{ErrorKind::cannot_run, kernel.name + " has no build the emulator could run",
                   kernel.path, "name a chip that it has with --sm"};
    }
    const Result<std::string> image = read_image(kernel, *build);
    if (!image) return image.error();
    RandomRun run;
    run.device_ = make_emulator({.sm = sm,
                                 .threads = threads,
                                 .check_shadow = false,
                                 .random_rounding = rounding,
                                 .give_up = &interrupt_flag()});
    Result<std::unique_ptr<Module>> module =
        run.device_->load(*image, kernel.ptx_path(*build), entries_of(kernel));
    if (!module) return module.error();
    run.module_ = *std::move(module);
    return run;
  }

  // Outputs are overwritten with what this draw gives.
  Status draw(const Case& test_case, CaseTensors& tensors, std::uint64_t seed) {
    const Result<LaunchResult> launch =
        launch_case(test_case, tensors, *device_, *module_, {.rounding_seed = seed});
    if (!launch) return launch.error();
    if (launch->completed) return {};
    return Error{ErrorKind::cannot_run, "the kernel did not finish with random rounding",
                 test_case.text(), "it may wait for a value that rounding decides"};
  }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Module> module_;
};

using Tallies = std::vector<DrawTally>;  // by output

Result<Tallies> tally_draws(const Case& test_case, const Examined& examined, int sm,
                            RandomRounding rounding, const StochasticOptions& options) {
  Result<RandomRun> run = RandomRun::open(test_case, sm, rounding, options.threads);
  if (!run) return run.error();
  const CaseOracle& oracle = *examined.oracle;
  Tallies tallies(static_cast<std::size_t>(oracle.outputs()));
  CaseTensors tensors = examined.tensors;
  const Random seeds(options.seed);
  for (int draw = 0; draw < options.draws && !interrupted(); ++draw) {
    const std::uint64_t seed = seeds.fork(static_cast<std::uint64_t>(draw)).next();
    const Status status = run->draw(test_case, tensors, seed);
    if (interrupted()) break;
    if (!status) return status.error();
    for (int output = 0; output < oracle.outputs(); ++output) {
      const Tensor* got = tensors.find(oracle.output_name(output));
      PLUMB_ASSERT(got != nullptr);
      tallies[static_cast<std::size_t>(output)].add(*got);
    }
  }
  if (interrupted() && (tallies.empty() || tallies.front().draws() < kFewestDraws))
    return interruption(test_case.text());
  return tallies;
}

// The most that the roundings which the contract asks for in the middle change any element.
double mandated_error(const std::vector<double>& contract, const std::vector<double>& exact) {
  double largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = std::fabs(contract[i] - exact[i]);
    if (std::isfinite(error)) largest = std::max(largest, error);
  }
  return largest;
}

// Elements evenly over the output, with how far the contract lets each be from the exact value.
// A moved rounding of the output goes half a unit farther than the one the bound is made for.
std::vector<ElementBound> certified_bounds(const CaseOracle& oracle, int output, const Tensor& got,
                                           const std::vector<double>& exact, int threads) {
  const double mandated =
      mandated_error(oracle.reference_values(output, Reference::contract, threads), exact);
  std::vector<ElementBound> bounds;
  const std::int64_t count = got.layout.count();
  const Format& stored = format(got.layout.format);
  for (std::int64_t i = 0; i < std::min(count, kBounded); ++i) {
    const std::int64_t element = count <= kBounded ? i : i * count / kBounded;
    const ElementVerdict verdict = oracle.element(output, element, got.bits(element));
    const double bound = (verdict.bound_ulp + 0.5) * ulp(stored, verdict.exact) + mandated;
    if (std::isfinite(bound)) bounds.push_back({static_cast<std::size_t>(element), bound});
  }
  return bounds;
}

}  // namespace

Result<StochasticCase> run_stochastically(CaseRunner& runner, const Case& test_case,
                                          const Target& target, const StochasticOptions& options) {
  const Result<std::unique_ptr<Examined>> examined = runner.examine(test_case, target);
  if (!examined) return examined.error();
  const Examined& seen = **examined;
  const Result<Tallies> tallies =
      tally_draws(test_case, seen, target.sm, RandomRounding::on, options);
  if (!tallies) return tallies.error();
  Target emulator = target;
  emulator.on_gpu = emulator.compare = false;
  StochasticCase out{seen.record, {}};
  std::vector<std::vector<double>> exact;
  bool biased = false;
  for (int output = 0; output < seen.oracle->outputs(); ++output) {
    const std::string name = seen.oracle->output_name(output);
    exact.push_back(seen.oracle->reference_values(output, Reference::mathematics, options.threads));
    StochasticRecord record =
        significance((*tallies)[static_cast<std::size_t>(output)], exact.back(),
                     certified_bounds(*seen.oracle, output, *seen.tensors.find(name), exact.back(),
                                      options.threads));
    record.kernel = test_case.kernel->name;
    record.text = test_case.text();
    record.device = emulator.name();
    record.output = name;
    biased = biased || is_biased(record.bias);
    out.outputs.push_back(std::move(record));
  }
  if (biased && !interrupted()) {  // by an experiment: whether tensor cores do it
    const Result<Tallies> unbiased =
        tally_draws(test_case, seen, target.sm, RandomRounding::unbiased_nodes, options);
    if (!unbiased && !interrupted()) return unbiased.error();
    for (std::size_t i = 0; unbiased && i < exact.size(); ++i) {
      if (is_biased(out.outputs[i].bias))
        out.outputs[i].unbiased_nodes_bias = mean_bias((*unbiased)[i], exact[i]).bias;
    }
  }
  for (StochasticRecord& record : out.outputs) record.findings = significance_findings(record);
  return out;
}

}  // namespace plumbline
