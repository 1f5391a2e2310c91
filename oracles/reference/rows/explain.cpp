// SPDX-License-Identifier: MIT
// One output of a row operation in words: its row, what is exact and what is admissible, and the
// simple faults that would give it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "oracles/formats/decode.h"
#include "oracles/reference/describe_errors.h"
#include "oracles/reference/rows/faults.h"
#include "oracles/reference/rows/oracle.h"

namespace plumbline {
namespace {

std::vector<double> values(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  std::vector<double> out;
  for (std::int64_t index = first; index < first + count; ++index)
    out.push_back(to_double(format(tensor.layout.format), tensor.bits(index)));
  return out;
}

// "64 columns from -3 to 2.5, 1 of them NaN"
std::string words_of(const std::vector<float>& row) {
  float least = std::numeric_limits<float>::infinity(), most = -least;
  std::int64_t nans = 0;
  for (const float x : row) {
    nans += std::isnan(x);
    if (x < least) least = x;
    if (x > most) most = x;
  }
  std::string text = fmt::format("{} columns from {:.6g} to {:.6g}", row.size(), least, most);
  if (nans > 0) text += fmt::format(", {} of them NaN", nans);
  return text;
}

// A kernel makes its rows of the mean and rstd that it stores beside them. They are of the same run
// where `got` is the problem's own tensor; of others nothing is known.
void drop_refuted(const RowProblem& problem, std::int64_t i, int output, const Tensor& got,
                  NamedFaults& faults) {
  if (problem.outputs[static_cast<std::size_t>(output)] != &got) return;
  for (std::size_t other = 0; other < problem.outputs.size(); ++other) {
    const std::string_view name = problem.output_names[other];
    const Tensor& statistic = *problem.outputs[other];
    if ((name != "mean" && name != "rstd") || statistic.layout.format != FormatId::f32) continue;
    const std::vector<std::string_view> refuted =
        refuted_faults(problem, i, name == "mean", values(statistic, i, 1).front());
    faults.keep_if(
        [&](const std::string& fault) { return std::ranges::count(refuted, fault) == 0; });
  }
}

// Of other rows, of which those that nothing is known of say nothing: what fits most of them stays.
template <typename FaultsOf>
NamedFaults ranked_by_other_rows(NamedFaults faults, std::int64_t rows, std::int64_t i,
                                 const FaultsOf& faults_of) {
  constexpr std::int64_t kLookedAt = 8;
  if (faults.names.size() < 2) return faults;
  std::vector<std::int64_t> fitting(faults.names.size());
  const std::int64_t looked_at = std::min(kLookedAt, rows);
  for (std::int64_t n = 0; n < looked_at; ++n) {
    const std::int64_t row = n * rows / looked_at;
    if (row == i) continue;
    const std::vector<std::string> others = faults_of(row).names;
    for (std::size_t f = 0; f < fitting.size(); ++f)
      fitting[f] += std::ranges::count(others, faults.names[f]) > 0;
  }
  FaultRanking ranking;
  for (std::size_t f = 0; f < fitting.size(); ++f)
    ranking.add({.words = faults.names[f], .agreement = {fitting[f]}});
  return std::move(ranking).named(1);
}

}  // namespace

Explanation RowOracle::explain(int output, std::int64_t index, const Tensor& got) const {
  Explanation out;
  const Format& f = output_format(output);
  const Part which = part(output);
  const RangedElement known = at(output, index);
  const double stored = to_double(f, got.bits(index));
  NamedFaults faults;
  if (which == Part::gamma || which == Part::beta) {
    out.lines.push_back(fmt::format(
        "{}[{}] is a sum over {} rows; a term passes through at most {} additions",
        output_name(output), index, problem_.m, problem_.contract.column_additions(problem_.m)));
    faults = column_faults(problem_, which == Part::gamma, values(got, 0, problem_.n));
  } else {
    const std::int64_t i = which == Part::elements ? index / problem_.n : index;
    out.lines.push_back(
        fmt::format("row {} has {}; in its sums a term passes through at most {} additions", i,
                    words_of(problem_.row(i).x), problem_.contract.row_additions(problem_.n)));
    const auto faults_of = [&](std::int64_t row) {
      if (which == Part::elements)
        return row_faults(problem_, row, values(got, row * problem_.n, problem_.n), f);
      return statistic_faults(problem_, row, which == Part::mean, values(got, row, 1).front());
    };
    faults = faults_of(i);
    if (which == Part::elements) drop_refuted(problem_, i, output, got, faults);
    faults = ranked_by_other_rows(std::move(faults), problem_.m, i, faults_of);
  }
  out.lines.push_back(fmt::format(
      "exact {}; before it is stored, f32 values {} are admissible; the kernel stored {}",
      number_text(known.exact.value, 12), describe_range(known.range), number_text(stored, 9)));
  if (which == Part::elements && problem_.contract.normalized != FormatId::f32) {
    const std::int64_t i = index / problem_.n, j = index % problem_.n;
    out.lines.push_back(fmt::format(
        "what meets gamma is rounded to {} first; without that the exact result would be {}",
        format(problem_.contract.normalized).name,
        number_text(
            of_row(which, i, Reference::mathematics)[static_cast<std::size_t>(j)].exact.value,
            12)));
  }
  // Another class is not close, however close the exact value is.
  if (range_verdict(f, index, known, got.bits(index)).class_mismatch) faults.unnamed = kNoFaultFits;
  out.faults = std::move(faults);
  return out;
}

}  // namespace plumbline
