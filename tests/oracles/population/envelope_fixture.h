// SPDX-License-Identifier: MIT
// A GEMM, its contract's model, and a kernel's outputs made from the model's: what tests of many
// errors are given.
#pragma once

#include <functional>
#include <memory>
#include <numeric>

#include "oracles/population/envelope.h"
#include "oracles/population/gemm_model.h"
#include "oracles/population/population.h"
#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline::testing {

struct EnvelopeFixture {
  Gemm gemm;
  GemmOracle oracle;
  GemmModel model;
  std::vector<double> exact;

  EnvelopeFixture(const NamedContract& named, GemmSetup setup)
      : gemm(with_formats(setup, named)),
        oracle(gemm.problem, named.contract, named.sm),
        model(oracle.gemm(), {all(setup.m), all(setup.n)}),
        exact(oracle.reference_values(0, Reference::contract, 1)) {}

  static GemmSetup with_formats(GemmSetup setup, const NamedContract& named) {
    setup.a = named.a;
    setup.b = named.b;
    return setup;
  }

  static std::vector<std::int64_t> all(std::int64_t size) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(size));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }

  const Format& output() const { return format(gemm.problem.output); }

  double stored(std::size_t at) const {
    return to_double(output(), gemm.d.bits(static_cast<std::int64_t>(at)));
  }

  double rounded(double x) const { return to_double(output(), encode(output(), x)); }

  // The kernel stores what `kernel` makes of (index, the model's output, the exact value).
  void store(const std::function<double(std::size_t, double, double)>& kernel) {
    const std::vector<std::uint64_t> outputs = model.outputs(1);
    for (std::size_t at = 0; at < outputs.size(); ++at) {
      gemm.d.set_bits(static_cast<std::int64_t>(at),
                      encode(output(), kernel(at, to_double(output(), outputs[at]), exact[at])));
    }
  }

  std::int64_t failed() const { return oracle.judge(0, gemm.d, {}).failed; }

  ErrorMatrix errors() const {
    ErrorMatrix matrix{gemm.problem.m, gemm.problem.n, {}};
    for (std::size_t at = 0; at < exact.size(); ++at)
      matrix.errors.push_back(stored(at) - exact[at]);
    return matrix;
  }

  EnvelopeResult envelope(std::int64_t tile_depth) const {
    EnvelopeSample sample;
    sample.rows = gemm.problem.m;
    sample.columns = gemm.problem.n;
    sample.exact = exact;
    sample.errors = errors().errors;
    sample.k = gemm.problem.k;
    sample.tile_depth = tile_depth;
    sample.tile = [&, tile_depth](std::int64_t tile) {
      const std::int64_t begin = tile * tile_depth;
      return model.contributions(begin, std::min(gemm.problem.k, begin + tile_depth), 1);
    };
    const std::vector<std::uint64_t> outputs = model.outputs(1);
    sample.flips = sample.model_flips = 0;
    for (std::size_t at = 0; at < exact.size(); ++at) {
      const double expected = to_double(output(), outputs[at]);
      sample.model_errors.push_back(expected - exact[at]);
      sample.model_flips += expected != rounded(exact[at]);
      sample.flips += stored(at) != rounded(exact[at]);
    }
    if (output().storage_bits > 16) sample.flips = sample.model_flips = -1;
    return test_envelope(sample);
  }
};

}  // namespace plumbline::testing
