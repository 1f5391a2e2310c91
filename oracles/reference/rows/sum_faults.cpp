// SPDX-License-Identifier: MIT
// Faults of outputs that are sums: the mean and rstd of a row, dgamma and dbeta over the rows.
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "oracles/reference/rows/definition.h"
#include "oracles/reference/rows/faults.h"
#include "oracles/reference/rows/ranges.h"
#include "oracles/reference/rows/variance.h"

namespace plumbline {
namespace {

using namespace row_fault_words;
using Row = RowOf<Certified>;

// dgamma or dbeta of some of the rows.
std::vector<double> column_sums(const RowProblem& problem, bool gamma,
                                const std::function<bool(std::int64_t)>& counts) {
  std::vector<double> sums(static_cast<std::size_t>(problem.n));
  for (std::int64_t i = 0; i < problem.m; ++i) {
    if (!counts(i)) continue;
    const RowOf<double> row = converted<double>(problem.row(i));
    for (std::size_t j = 0; j < sums.size(); ++j)
      sums[j] += gamma ? row.dy[j] * ((row.x[j] - row.mean) * row.rstd) : row.dy[j];
  }
  return sums;
}

bool fits(const std::vector<double>& faulty, std::span<const double> got) {
  double largest = 0;
  for (const double one : faulty) {
    if (std::isfinite(one)) largest = std::max(largest, std::fabs(one));
  }
  for (std::size_t j = 0; j < faulty.size(); ++j) {
    if (got[j] == faulty[j] || (std::isnan(got[j]) && std::isnan(faulty[j]))) continue;
    if (!std::isfinite(got[j]) || !std::isfinite(faulty[j])) return false;
    if (std::fabs(got[j] - faulty[j]) > 0x1p-14 * largest) return false;
  }
  return true;
}

}  // namespace

NamedFaults column_faults(const RowProblem& problem, bool gamma, std::span<const double> got) {
  const std::int64_t m = problem.m, stripes = problem.contract.stripes;
  const auto among = [&](const std::function<bool(std::int64_t)>& counts) {
    return fits(column_sums(problem, gamma, counts), got);
  };
  const auto all = [](std::int64_t) { return true; };
  if (among(all)) return NamedFaults::none(kCloseToRight);
  NamedFaults out = NamedFaults::none(kNoFaultFits);
  std::vector<std::string>& named = out.names;
  if (problem.kind == RowKind::layernorm_backward && fits(column_sums(problem, !gamma, all), got))
    named.emplace_back(gamma ? "it is dbeta" : "it is dgamma");
  if (m < 2) return out;
  if (among([&](std::int64_t i) { return i != m - 1; }))
    named.emplace_back("the last row is missing");
  if (among([](std::int64_t i) { return i == 0; })) named.emplace_back("only the first row counts");
  if (m > stripes) {
    if (among([&](std::int64_t i) { return i < stripes; }))
      named.emplace_back("only the first row of each stripe counts");
    if (among([&](std::int64_t i) { return i < m / stripes * stripes; }))
      named.emplace_back("the last rows, fewer than there are stripes, are missing");
  }
  for (std::int64_t stripe = 0; stripe < std::min(m, stripes); ++stripe) {
    if (among([&](std::int64_t i) { return i % stripes == stripe; }))
      named.push_back("only the rows of one stripe count: stripe " + std::to_string(stripe));
    if (among([&](std::int64_t i) { return i % stripes != stripe; }))
      named.push_back("the rows of a stripe are missing: stripe " + std::to_string(stripe));
  }
  return out;
}

RowContract fused_eps(const RowProblem& problem) {
  RowContract out = problem.contract;
  const bool norm = problem.kind == RowKind::rmsnorm || problem.kind == RowKind::layernorm;
  if (norm && out.mean == RowMean::reciprocal) out.mean = RowMean::reciprocal_either;
  return out;
}

RowResult<Certified> norm_statistics(const RowOf<Certified>& row, bool centered,
                                     std::int64_t columns, std::int64_t divisor) {
  const std::span<const Certified> summed =
      std::span(row.x).first(static_cast<std::size_t>(columns));
  RowResult<Certified> out;
  for (const Certified& x : summed) out.mean += x;
  out.mean = centered ? out.mean / Certified(static_cast<double>(row.n())) : Certified(0.0);
  Certified squares;
  for (const Certified& x : summed) squares += (x - out.mean) * (x - out.mean);
  out.rstd = Certified(1.0) / sqrt(squares / Certified(static_cast<double>(divisor)) + row.eps);
  return out;
}

namespace {

// What the stored mean or rstd of a row says of the simple faults.
struct StatisticTrial {
  bool right = false;  // it is what mathematics gives, up to roundings of f32
  // A fault that gives it where the contract does not, by their ranges, which tell the two apart
  // however near they are.
  const char* by_ranges = nullptr;
  std::vector<std::pair<const char*, bool>> faults;  // and whether each gives it; some come twice

  bool fits(std::string_view words) const {
    return std::ranges::any_of(
        faults, [&](const auto& fault) { return fault.second && fault.first == words; });
  }
};

StatisticTrial tried_statistic(const RowProblem& problem, std::int64_t i, bool mean, double got) {
  const bool centered = problem.kind == RowKind::layernorm;
  const Row in = converted<Certified>(problem.row(i));
  StatisticTrial out;
  const auto is_close = [&](const Certified& value) {
    return got == value.value || (std::isnan(got) && std::isnan(value.value)) ||
           (std::isfinite(value.value) &&
            std::fabs(got - value.value) <= 0x1p-18 * std::fabs(value.value));
  };
  const auto consider = [&](const char* words, const Certified& value) {
    out.faults.emplace_back(words, is_close(value));
  };
  const auto which = [&](const RowResult<Certified>& of) { return mean ? of.mean : of.rstd; };
  const auto of = [&](Row row, bool about_mean) {
    row.gamma.clear();  // statistics alone
    return which(row_definition::norm(row, about_mean));
  };
  const auto of_columns = [&](std::int64_t n) {
    Row row = in;
    row.x.resize(static_cast<std::size_t>(n), Certified(0.0));
    return of(row, centered);
  };
  out.right = is_close(of(in, centered));
  const std::int64_t n = problem.n, whole = n / 8 * 8;
  // Sums without some columns are divided by n, or by how many are left.
  if (n > 1) consider(kLastColumn, of_columns(n - 1));
  consider(kLastColumn, which(norm_statistics(in, centered, n - 1, n)));
  if (n > 8 && n % 8 != 0) consider(kTail, of_columns(whole));
  if (n % 8 != 0) {
    consider(kTail, which(norm_statistics(in, centered, whole, n)));
    consider(kZeros, of_columns(whole + 8));
  }
  if (mean) return out;
  const Certified columns(static_cast<double>(n));
  const auto with_eps = [&](const Certified& eps) {
    Row row = in;
    row.eps = eps;
    return of(row, centered);
  };
  if (problem.eps != 0) {
    const Certified without = with_eps(0.0);
    consider(kNoEps, without);
    if (n > 1) consider(kEpsInSum, with_eps(in.eps / columns));
    consider(kEpsOutside, Certified(1.0) / (Certified(1.0) / without + in.eps));
  }
  if (n > 1) consider(kNoDivision, with_eps(in.eps / columns) / sqrt(columns));
  const auto stored = static_cast<float>(got);
  const RowOf<float> row = problem.row(i);
  const auto allows = [&](const RowContract& contract) {
    return row_ranges(problem.kind, contract, row).rstd.contains(stored);
  };
  const bool kept = allows(problem.contract);
  const auto consider_range = [&](const char* words, bool gives) {
    out.faults.emplace_back(words, gives);
    if (gives && !kept) out.by_ranges = words;
  };
  if (const RowContract fused = fused_eps(problem); fused.mean != problem.contract.mean)
    consider_range(kFusedEps, allows(fused));
  if (!centered) return out;
  consider(kBessel, norm_statistics(in, true, n, n - 1).rstd);
  consider(kNoMean, of(in, false));
  if (n % 8 != 0) consider(kPaddingInVariance, Certified(1.0) / sqrt(padded_variance(in) + in.eps));
  consider_range(kOnePass, one_pass_layernorm(problem.contract, row).rstd.contains(stored));
  return out;
}

}  // namespace

NamedFaults statistic_faults(const RowProblem& problem, std::int64_t i, bool mean, double got) {
  const StatisticTrial tried = tried_statistic(problem, i, mean, got);
  FaultRanking fitting;
  if (tried.right && tried.by_ranges != nullptr) fitting.add({.words = tried.by_ranges});
  for (const auto& [words, gives] : tried.faults) {
    if (gives && !tried.right) fitting.add({.words = words});
  }
  NamedFaults named = std::move(fitting).named(0);
  if (tried.right) named.unnamed = kCloseToRight;
  return named;
}

std::vector<std::string_view> refuted_faults(const RowProblem& problem, std::int64_t i, bool mean,
                                             double got) {
  const StatisticTrial tried = tried_statistic(problem, i, mean, got);
  const bool is_known =
      tried.right || std::ranges::any_of(tried.faults, [](const auto& one) { return one.second; });
  std::vector<std::string_view> refuted;
  for (const auto& [words, gives] : tried.faults) {
    if (is_known && !tried.fits(words)) refuted.emplace_back(words);
  }
  return refuted;
}

}  // namespace plumbline
