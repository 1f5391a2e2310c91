// SPDX-License-Identifier: MIT
#include "harness/population/envelope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fuzz/gemm/shapes.h"
#include "oracles/base/hash.h"
#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/population/gemm_model.h"

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

Extent extent_of(std::int64_t rows, std::int64_t columns) {
  columns = std::min(columns, kColumns);
  return {std::min(rows, kRows * kColumns / std::max<std::int64_t>(columns, 1)), columns};
}

// Rows of the matrices whose operands are not another one's: where matrices share A, there are no
// more of them than A has rows.
std::int64_t own_rows(const std::vector<ProductMatrix>& matrices) {
  if (matrices.empty()) return 0;
  if (matrices.front().shares_a()) return matrices.front().gemm->problem.m;
  return matrices.back().first_row + matrices.back().gemm->problem.m;
}

// Which rows of which matrices are compared: `count` of them, by matrix.
std::vector<std::vector<std::int64_t>> drawn_rows(const std::vector<ProductMatrix>& matrices,
                                                  std::int64_t count, Random random) {
  std::vector<std::vector<std::int64_t>> rows(matrices.size());
  std::size_t matrix = 0;
  for (const std::int64_t row : drawn(own_rows(matrices), count, random.fork(0))) {
    if (matrices.front().shares_a()) {
      rows[random.below(matrices.size())].push_back(row);
      continue;
    }
    while (matrix + 1 < matrices.size() && row >= matrices[matrix + 1].first_row) ++matrix;
    rows[matrix].push_back(row - matrices[matrix].first_row);
  }
  return rows;
}

// Tiles as the kernel has them: what it promotes at once, or a step of its main loop.
std::int64_t tile_depth(const PreparedGemm& gemm, const Manifest& kernel) {
  if (gemm.contract.schedule == Schedule::promote) return gemm.contract.interval;
  return std::max<std::int64_t>(gemm_tile(kernel).k, 1);
}

// Whether an output, y exactly, may come of numbers that count as 0 or not.
bool may_flush(const PreparedGemm& gemm, const GemmPlace& at, double y) {
  constexpr double kLeast = 0x1p-126, kFar = 0x1p30;  // of the epilogue's factors
  return gemm.contract.subnormals_flushed &&
         (gemm.lattice(at) < kLeast || (y != 0 && std::fabs(y) < kFar * kLeast));
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

bool envelope_applies(const std::vector<ProductMatrix>& matrices) {
  if (matrices.empty()) return false;
  const GemmProblem& problem = matrices.front().gemm->problem;
  const Extent extent = extent_of(own_rows(matrices), problem.n);
  return problem.k > 0 && extent.rows >= kFewestEnvelopeRows &&
         extent.rows * extent.columns >= kFewestEnvelopeOutputs;
}

std::optional<EnvelopeVerdict> compare_with_model(const Case& test_case,
                                                  const std::vector<ProductMatrix>& matrices,
                                                  const Tensor& got,
                                                  const std::vector<double>& exact, int threads) {
  const PreparedGemm& first = *matrices.front().gemm;
  if (const auto reason = no_model_because(first.contract))
    return EnvelopeVerdict{
        false, {}, fmt::format("errors are not compared with a model's: {}", *reason)};
  const std::int64_t n = first.problem.n;
  const Extent extent = extent_of(own_rows(matrices), n);
  const Random random(fingerprint(test_case.text()));
  const std::vector<std::int64_t> columns = drawn(n, extent.columns, random.fork(2));
  const std::vector<std::vector<std::int64_t>> rows =
      drawn_rows(matrices, extent.rows, random.fork(1));
  const Format& output = format(got.layout.format);
  EnvelopeSample sample;
  sample.rows = extent.rows;
  sample.columns = extent.columns;
  const bool counts_flips = output.storage_bits <= 16;
  if (counts_flips) sample.flips = sample.model_flips = 0;
  std::vector<GemmModel> models;
  for (std::size_t matrix = 0; matrix < matrices.size(); ++matrix) {
    if (rows[matrix].empty()) continue;
    const GemmModel& model = models.emplace_back(
        *matrices[matrix].gemm, GemmRectangle{rows[matrix], columns, matrices[matrix].batch});
    const std::vector<std::uint64_t> modeled = model.outputs(threads);
    std::size_t next = 0;
    for (const std::int64_t i : rows[matrix]) {
      for (const std::int64_t j : columns) {
        const std::int64_t at = (matrices[matrix].first_row + i) * n + j;
        const double y = exact[static_cast<std::size_t>(at)];
        const double stored = to_double(output, got.bits(at));
        const double expected = to_double(output, modeled[next++]);
        if (!std::isfinite(y) || !std::isfinite(stored) || !std::isfinite(expected))
          return std::nullopt;
        if (may_flush(*matrices[matrix].gemm, {matrices[matrix].batch, i, j}, y))
          return EnvelopeVerdict{false,
                                 {},
                                 "errors are not compared with a model's: the contract leaves open "
                                 "whether its numbers below 2^-126 count as 0"};
        sample.exact.push_back(y);
        sample.errors.push_back(stored - y);
        sample.model_errors.push_back(expected - y);
        if (!counts_flips) continue;
        const double rounded = to_double(output, encode(output, y, first.contract.output));
        sample.flips += stored != rounded;
        sample.model_flips += expected != rounded;
      }
    }
  }
  sample.k = first.problem.k;
  sample.tile_depth = tile_depth(first, *test_case.kernel);
  sample.tile = [&](std::int64_t tile) {
    const std::int64_t begin = tile * sample.tile_depth,
                       end = std::min(sample.k, begin + sample.tile_depth);
    std::vector<double> contributions;
    for (const GemmModel& model : models) {
      const std::vector<double> own = model.contributions(begin, end, threads);
      contributions.insert(contributions.end(), own.begin(), own.end());
    }
    return contributions;
  };
  EnvelopeResult result = test_envelope(sample);
  return EnvelopeVerdict{true, std::move(result.suspicions), words_of(result, sample)};
}

}  // namespace plumbline
