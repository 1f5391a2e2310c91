// SPDX-License-Identifier: MIT
// Faults of outputs that are sums: the mean and rstd of a row, dgamma and dbeta over the rows.
#include <algorithm>
#include <cmath>
#include <functional>

#include "oracles/reference/row_definition.h"
#include "oracles/reference/row_faults.h"
#include "oracles/reference/row_variance.h"

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
  for (const double one : faulty) largest = std::max(largest, std::fabs(one));
  for (std::size_t j = 0; j < faulty.size(); ++j) {
    if (!(std::fabs(got[j] - faulty[j]) <= 0x1p-14 * largest)) return false;
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
  if (among(all)) return {.names = {}, .close_to_right = true};
  std::vector<std::string> named;
  if (problem.kind == RowKind::layernorm_backward && fits(column_sums(problem, !gamma, all), got))
    named.emplace_back(gamma ? "it is dbeta" : "it is dgamma");
  if (m < 2) return {named};
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
  return {named};
}

NamedFaults statistic_faults(const RowProblem& problem, std::int64_t i, bool mean, double got) {
  const bool centered = problem.kind == RowKind::layernorm;
  const Row in = converted<Certified>(problem.row(i));
  std::vector<std::string> named;
  const auto is_close = [&](const Certified& value) {
    return got == value.value || (std::isfinite(value.value) &&
                                  std::fabs(got - value.value) <= 0x1p-18 * std::fabs(value.value));
  };
  const auto consider = [&](const char* words, const Certified& value) {
    if (is_close(value)) named.emplace_back(words);
  };
  const auto of = [&](Row row, bool about_mean) {
    row.gamma.clear();  // statistics alone
    const RowResult<Certified> out = row_definition::norm(row, about_mean);
    return mean ? out.mean : out.rstd;
  };
  const auto of_columns = [&](std::int64_t n) {
    Row row = in;
    row.x.resize(static_cast<std::size_t>(n), Certified(0.0));
    return of(row, centered);
  };
  if (is_close(of(in, centered))) return {.names = {}, .close_to_right = true};
  const std::int64_t n = problem.n;
  if (n > 1) consider(kLastColumn, of_columns(n - 1));
  if (n > 8 && n % 8 != 0) consider(kTail, of_columns(n / 8 * 8));
  if (n % 8 != 0) consider(kZeros, of_columns(n / 8 * 8 + 8));
  if (mean) return {named};
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
  if (!centered) return {named};
  consider(kNoMean, of(in, false));
  if (n % 8 != 0) consider(kPaddingInVariance, Certified(1.0) / sqrt(padded_variance(in) + in.eps));
  if (one_pass_layernorm(problem.contract, problem.row(i)).rstd.contains(static_cast<float>(got)))
    named.emplace_back(kOnePass);
  return {named};
}

}  // namespace plumbline
