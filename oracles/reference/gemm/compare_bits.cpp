// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/compare_bits.h"

#include <algorithm>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/exact/parallel.h"
#include "oracles/reference/gemm/element.h"

namespace plumbline {
namespace {

constexpr std::size_t kKept = 16;

struct Tiles {
  std::int64_t down, across, all;

  explicit Tiles(const GemmProblem& problem)
      : down(ceil_div(problem.m, GemmTileModel::kRows)),
        across(ceil_div(problem.n, GemmTileModel::kColumns)),
        all(down * across * problem.batch) {}

  GemmPlace operator[](std::int64_t number) const {
    return {number / across / down, number / across % down * GemmTileModel::kRows,
            number % across * GemmTileModel::kColumns};
  }
};

BitsComparison compare_tile(const PreparedGemm& gemm, const GemmTileModel& model,
                            const GemmTensorReader& got, const GemmPlace& tile) {
  BitsComparison found;
  GemmTileModel::Accumulators sums;
  model.run(tile, sums);
  for (std::int64_t i = 0; i < std::min(GemmTileModel::kRows, gemm.problem.m - tile.i); ++i) {
    for (std::int64_t j = 0; j < std::min(GemmTileModel::kColumns, gemm.problem.n - tile.j); ++j) {
      const GemmPlace at{tile.batch, tile.i + i, tile.j + j};
      if (gemm.special(at)) continue;
      ++found.compared;
      const std::uint64_t due = model.code(at, sums[i][j]), code = got.bits(at);
      if (due == code || gemm.rule(at).same_result(due, code)) continue;
      ++found.different;
      if (found.first.size() == kKept) continue;
      ElementVerdict element = judge_element(gemm, at, code);
      element.expected = due;
      found.first.push_back(element);
    }
  }
  return found;
}

}  // namespace

std::int64_t most_tiles(const PreparedGemm& gemm) {
  constexpr double kTensorCoreWork = 0x1p22, kScalarWork = 0x1p18;  // multiply-adds
  const bool fast = gemm.contract.unit == Unit::tensor_core && !gemm.contract.block_scale;
  const double work = fast ? kTensorCoreWork : kScalarWork;
  const double tile = static_cast<double>(GemmTileModel::kRows * GemmTileModel::kColumns) *
                      static_cast<double>(std::max<std::int64_t>(gemm.problem.k, 1));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(work / tile));
}

BitsComparison compare_bits_with(const PreparedGemm& gemm, const GemmTileModel& model,
                                 const GemmTensorReader& got, std::int64_t tiles,
                                 std::uint64_t seed, int threads) {
  const Tiles all(gemm.problem);
  const std::int64_t count = std::min(tiles, all.all);
  std::vector<BitsComparison> found(static_cast<std::size_t>(count));
  Random random(seed);
  std::vector<std::int64_t> numbers;
  for (std::int64_t t = 0; t < count; ++t) {
    // One of each of `count` ranges of equal length.
    const std::int64_t begin = all.all * t / count, end = all.all * (t + 1) / count;
    numbers.push_back(
        begin + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(end - begin))));
  }
  for_each_piece(count, threads, [&](std::int64_t t) {
    const auto at = static_cast<std::size_t>(t);
    found[at] = compare_tile(gemm, model, got, all[numbers[at]]);
  });
  BitsComparison total;
  for (const BitsComparison& one : found) {
    total.compared += one.compared;
    total.different += one.different;
    for (const ElementVerdict& element : one.first) {
      if (total.first.size() < kKept) total.first.push_back(element);
    }
  }
  return total;
}

std::vector<FittingSchedule> fitting_schedules(const PreparedGemm& gemm, const Tensor& got,
                                               const std::vector<SumSchedule>& candidates,
                                               std::size_t most, int threads) {
  std::vector<FittingSchedule> fitting;
  if (!gemm.model || !gemm.epilogue.certain() || gemm.contract.subnormals_flushed) return fitting;
  constexpr std::int64_t kFew = 4;
  const GemmTensorReader reader(got);
  const auto fits = [&](const GemmTileModel& model, std::int64_t tiles, std::uint64_t seed) {
    const BitsComparison found = compare_bits_with(gemm, model, reader, tiles, seed, threads);
    return found.compared > 0 && found.different == 0;
  };
  std::optional<GemmTileModel> last;
  for (const SumSchedule& candidate : candidates) {
    std::optional<GemmTileModel> model =
        GemmTileModel::make(gemm, candidate, last ? &*last : nullptr);
    if (!model) continue;
    last = std::move(model);
    if (!fits(*last, kFew, 1) || !fits(*last, most_tiles(gemm), 2)) continue;
    fitting.push_back({candidate, *last});
    if (fitting.size() == most) break;
  }
  return fitting;
}

}  // namespace plumbline
