// SPDX-License-Identifier: MIT
#include "harness/population_envelope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fuzz/gemm_shapes.h"
#include "oracles/base/hash.h"
#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/gemm_model.h"

namespace plumbline {
namespace {

constexpr std::int64_t kRows = 64, kColumns = 128;

// `count` of the numbers below `size`, in increasing order. Not evenly spaced: what a kernel does
// wrong may be.
std::vector<std::int64_t> drawn(std::int64_t size, std::int64_t count, Random random) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t other = random.between(i, size - 1);
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(other)]);
  }
  all.resize(static_cast<std::size_t>(count));
  std::sort(all.begin(), all.end());
  return all;
}

struct Extent {
  std::int64_t rows, columns;
};

Extent extent_of(std::int64_t m, std::int64_t n) {
  const std::int64_t columns = std::min(n, kColumns);
  return {std::min(m, kRows * kColumns / std::max<std::int64_t>(columns, 1)), columns};
}

// Tiles as the kernel has them: what it promotes at once, or a step of its main loop.
std::int64_t tile_depth(const GemmCase& gemm, const Manifest& kernel) {
  if (gemm.contract.schedule == Schedule::promote) return gemm.contract.interval;
  return std::max<std::int64_t>(gemm_tile(kernel).k, 1);
}

std::string words_of(const EnvelopeResult& result, const EnvelopeSample& sample) {
  std::string words =
      fmt::format("beside the contract's model, on {} outputs: errors {:.0f} times as large, ",
                  sample.rows * sample.columns, kSuspectRatio);
  if (std::isfinite(result.detectable_bias))
    words += fmt::format("a lean of {:.0f} % of their size, ", 100 * result.detectable_bias);
  if (result.detectable_flips >= 0)
    words += fmt::format("{} outputs off their rounding (the model has {}), ",
                         result.detectable_flips, sample.model_flips);
  return words + fmt::format("{} of k counted {:.1e} times too much would be suspect",
                             std::min(sample.k, sample.tile_depth), result.detectable_factor);
}

}  // namespace

bool envelope_applies(const Case& test_case) {
  const Extent extent = extent_of(test_case.problem.integer("m"), test_case.problem.integer("n"));
  return test_case.problem.integer("k") > 0 && extent.rows >= kFewestEnvelopeRows &&
         extent.rows * extent.columns >= kFewestEnvelopeOutputs;
}

std::optional<EnvelopeVerdict> compare_with_model(const Case& test_case, const Tensor& got,
                                                  const GemmOracle& oracle,
                                                  const std::vector<double>& exact, int threads) {
  const GemmCase& gemm = oracle.gemm();
  if (const auto reason = no_model_because(gemm.contract))
    return EnvelopeVerdict{
        false, {}, fmt::format("errors are not compared with a model's: {}", *reason)};
  const std::int64_t m = gemm.problem.m, n = gemm.problem.n;
  const Extent extent = extent_of(m, n);
  const Random random(fingerprint(test_case.text()));
  const GemmModel model(
      gemm, {drawn(m, extent.rows, random.fork(1)), drawn(n, extent.columns, random.fork(2))});
  const std::vector<std::uint64_t> modelled = model.outputs(threads);
  const Format& output = format(got.layout.format);
  EnvelopeSample sample;
  sample.rows = static_cast<std::int64_t>(model.rectangle().rows.size());
  sample.columns = static_cast<std::int64_t>(model.rectangle().columns.size());
  const bool counts_flips = output.storage_bits <= 16;
  if (counts_flips) sample.flips = sample.model_flips = 0;
  std::size_t at = 0;
  for (const std::int64_t i : model.rectangle().rows) {
    for (const std::int64_t j : model.rectangle().columns) {
      const double y = exact[static_cast<std::size_t>(i * n + j)];
      const double stored = to_double(output, got.bits(i * n + j));
      const double expected = to_double(output, modelled[at++]);
      if (!std::isfinite(y) || !std::isfinite(stored) || !std::isfinite(expected))
        return std::nullopt;
      sample.exact.push_back(y);
      sample.errors.push_back(stored - y);
      sample.model_errors.push_back(expected - y);
      if (!counts_flips) continue;
      const double rounded = to_double(output, encode(output, y, gemm.contract.output));
      sample.flips += stored != rounded;
      sample.model_flips += expected != rounded;
    }
  }
  sample.k = gemm.problem.k;
  sample.tile_depth = tile_depth(gemm, *test_case.kernel);
  sample.tile = [&](std::int64_t tile) {
    const std::int64_t begin = tile * sample.tile_depth;
    return model.contributions(begin, std::min(sample.k, begin + sample.tile_depth), threads);
  };
  EnvelopeResult result = test_envelope(sample);
  return EnvelopeVerdict{true, std::move(result.suspicions), words_of(result, sample)};
}

}  // namespace plumbline
