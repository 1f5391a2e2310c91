// SPDX-License-Identifier: MIT
#include "oracles/population/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace plumbline {
namespace {

// Sets of columns: those of one lane, fragment or tile of the sizes that kernels use.
struct Division {
  std::int64_t width, count;  // column j belongs to set j / width % count

  std::int64_t set_of(std::int64_t j) const { return j / width % count; }

  std::string name(std::string_view columns, std::int64_t set) const {
    if (count == 1) return fmt::format("all {}", columns);
    return width == 1 ? fmt::format("{} j with j mod {} = {}", columns, count, set)
                      : fmt::format("{} j with j / {} mod {} = {}", columns, width, count, set);
  }
};

constexpr std::array<Division, 14> kDivisions = {{{1, 1},
                                                  {1, 2},
                                                  {1, 4},
                                                  {1, 8},
                                                  {1, 16},
                                                  {1, 32},
                                                  {1, 64},
                                                  {2, 4},
                                                  {8, 2},
                                                  {8, 4},
                                                  {8, 8},
                                                  {8, 16},
                                                  {64, 2},
                                                  {128, 2}}};

constexpr Division kEighths{1, 8};  // for the detectable effect

std::int64_t sets_in_all() {
  std::int64_t sets = 0;
  for (const Division& division : kDivisions) sets += division.count;
  return sets;
}

// The most unlikely set by a chance that is given for each.
PopulationResult most_unlikely(const ErrorMatrix& errors,
                               const std::function<double(const Division&, std::int64_t)>& chance) {
  PopulationResult result;
  const auto sets = static_cast<double>(sets_in_all());
  for (const Division& division : kDivisions) {
    for (std::int64_t set = 0; set < division.count; ++set) {
      const double own = std::min(1.0, sets * chance(division, set));
      if (own >= result.chance) continue;
      result.chance = own;
      result.columns = division.name(errors.column_words, set);
    }
  }
  return result;
}

// Sums of each row over each set of a division: [set][row].
std::vector<std::vector<double>> row_sums(const ErrorMatrix& errors, const Division& division) {
  std::vector<std::vector<double>> sums(static_cast<std::size_t>(division.count),
                                        std::vector<double>(static_cast<std::size_t>(errors.rows)));
  for (std::int64_t i = 0; i < errors.rows; ++i) {
    for (std::int64_t j = 0; j < errors.columns; ++j) {
      sums[static_cast<std::size_t>(division.set_of(j))][static_cast<std::size_t>(i)] +=
          errors.at(i, j);
    }
  }
  return sums;
}

double hoeffding(const std::vector<double>& sums) {
  const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
  const double squares = std::inner_product(sums.begin(), sums.end(), sums.begin(), 0.0);
  return squares == 0 ? 1.0 : std::min(1.0, 2 * std::exp(-total * total / squares / 2));
}

// For each column the mean over rows of its error's rank within the row: 0 the smallest, 1 the
// largest; equal errors share their ranks.
std::vector<double> mean_ranks(const ErrorMatrix& errors) {
  const auto columns = static_cast<std::size_t>(errors.columns);
  std::vector<double> means(columns);
  std::vector<std::size_t> order(columns);
  for (std::int64_t i = 0; i < errors.rows; ++i) {
    const double* row = errors.errors.data() + i * errors.columns;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return std::fabs(row[a]) < std::fabs(row[b]); });
    for (std::size_t begin = 0, end = 0; begin < columns; begin = end) {
      while (end < columns && std::fabs(row[order[end]]) == std::fabs(row[order[begin]])) ++end;
      const double shared = static_cast<double>(begin + end - 1) / 2;
      for (std::size_t at = begin; at < end; ++at) means[order[at]] += shared;
    }
  }
  const double scale = static_cast<double>(errors.rows) * static_cast<double>(columns - 1);
  for (double& mean : means) mean /= scale;
  return means;
}

}  // namespace

PopulationResult sign_symmetry(const ErrorMatrix& errors) {
  if (errors.rows == 0 || errors.columns == 0) return {};
  std::array<std::vector<std::vector<double>>, kDivisions.size()> sums;
  for (std::size_t d = 0; d < kDivisions.size(); ++d) sums[d] = row_sums(errors, kDivisions[d]);
  PopulationResult result = most_unlikely(errors, [&](const Division& division, std::int64_t set) {
    return hoeffding(sums[static_cast<std::size_t>(&division - kDivisions.data())]
                         [static_cast<std::size_t>(set)]);
  });
  // A bias b in n columns adds n b to every X_i: T passes t from b = t sigma / (n sqrt(M - t^2))
  // on.
  const double t = std::sqrt(2 * std::log(2 * static_cast<double>(sets_in_all()) / kUnbelievable));
  const auto rows = static_cast<double>(errors.rows);
  double squares = 0;
  const std::vector<std::vector<double>> eighths = row_sums(errors, kEighths);
  for (const double x : eighths.front()) squares += x * x;
  const double columns = std::max(1.0, static_cast<double>(errors.columns) / 8);
  result.detectable = rows <= t * t
                          ? INFINITY
                          : t * std::sqrt(squares / rows) / (columns * std::sqrt(rows - t * t));
  return result;
}

PopulationResult rank_position(std::span<const ErrorMatrix> matrices) {
  if (matrices.empty() || matrices[0].rows == 0 || matrices[0].columns < 2) return {};
  const auto width = static_cast<std::size_t>(matrices[0].columns);
  std::vector<double> ranks;  // less the mean of their matrix
  for (const ErrorMatrix& matrix : matrices) {
    const std::vector<double> own = mean_ranks(matrix);
    const double mean = std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(width);
    for (const double rank : own) ranks.push_back(rank - mean);
  }
  const auto columns = static_cast<double>(ranks.size());
  double variance = 0, largest = 0;
  for (const double rank : ranks) {
    variance += rank * rank / columns;
    largest = std::max(largest, std::fabs(rank));
  }
  const auto bernstein = [&](double count, double off) {
    if (off == 0) return 1.0;
    return std::min(1.0, 2 * std::exp(-count * off * off / (2 * variance + 2 * largest * off / 3)));
  };
  PopulationResult result =
      most_unlikely(matrices[0], [&](const Division& division, std::int64_t set) {
        double sum = 0, count = 0;
        for (std::size_t j = 0; j < ranks.size(); ++j) {
          if (division.set_of(static_cast<std::int64_t>(j % width)) != set) continue;
          sum += ranks[j];
          ++count;
        }
        return count == 0 ? 1.0 : bernstein(count, std::fabs(sum / count));
      });
  // A set of a share f of all columns that is off by d adds d^2 f / (1 - f) to v, and d to R: n d^2
  // = needed (2 (v + d^2 f / (1 - f)) + 2 (R + d) d / 3), for d.
  constexpr double kShare = 1.0 / 8;
  const double needed = std::log(2 * static_cast<double>(sets_in_all()) / kUnbelievable);
  const double square = columns * kShare - needed * (2 * kShare / (1 - kShare) + 2.0 / 3),
               half = needed * largest / 3;
  result.detectable =
      square <= 0 ? INFINITY
                  : (half + std::sqrt(half * half + 2 * square * needed * variance)) / square;
  return result;
}

}  // namespace plumbline
