// SPDX-License-Identifier: MIT
#include "oracles/reference/rows/oracle.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "oracles/base/assert.h"
#include "oracles/base/random.h"
#include "oracles/exact/real.h"
#include "oracles/formats/decode.h"
#include "oracles/reference/rows/definition.h"
#include "oracles/reference/rows/ranges.h"

namespace plumbline {
namespace {

// Bits of the numbers that stand in where double does not do, and of the referee.
constexpr int kRefereeBits = 128;

// Columns of a row that stands for one sample of the referee.
constexpr std::int64_t kLongRow = 256;

bool is_finite(const RowOf<float>& row) {
  const auto finite = [](float x) { return std::isfinite(x); };
  return std::all_of(row.x.begin(), row.x.end(), finite) &&
         std::all_of(row.dy.begin(), row.dy.end(), finite) &&
         std::all_of(row.gamma.begin(), row.gamma.end(), finite) &&
         std::all_of(row.beta.begin(), row.beta.end(), finite) && finite(row.mean) &&
         finite(row.rstd);
}

Certified without_error(double value) { return {value, 0.0}; }

// Of the definition in MPFR: right in every class, and slow.
RowResult<Certified> by_mpfr(RowKind kind, const RowOf<float>& row) {
  using Number = RealOf<kRefereeBits>;
  const RowResult<Number> wide = defined_row(kind, converted<Number>(row));
  const auto narrow = [](const Number& x) {
    return Certified(static_cast<double>(x), std::fabs(static_cast<double>(x)) * 0x1p-52);
  };
  RowResult<Certified> out;
  for (const Number& x : wide.out) out.out.push_back(narrow(x));
  for (const Number& x : wide.xhat) out.xhat.push_back(narrow(x));
  out.mean = narrow(wide.mean);
  out.rstd = narrow(wide.rstd);
  return out;
}

Certified known(const Certified& x) { return std::isfinite(x.value) ? x : without_error(x.value); }

bool well_known(const Certified& x) { return std::isfinite(x.value) && std::isfinite(x.error); }

RowResult<Certified> exact_row(RowKind kind, const RowOf<float>& row) {
  if (is_finite(row)) {
    RowResult<Certified> out = defined_row(kind, converted<Certified>(row));
    if (well_known(out.rstd) && std::all_of(out.out.begin(), out.out.end(), well_known)) return out;
  }
  return by_mpfr(kind, row);
}

// One term of dgamma or dbeta.
template <typename Number>
Number column_term(const RowOf<Number>& row, std::size_t j, bool gamma) {
  return gamma ? Number(row.dy[j] * ((row.x[j] - row.mean) * row.rstd)) : row.dy[j];
}

}  // namespace

RowOracle::Part RowOracle::part(int output) const {
  const std::string_view name = problem_.output_names[static_cast<std::size_t>(output)];
  if (name == "mean") return Part::mean;
  if (name == "rstd") return Part::rstd;
  if (name == "dgamma") return Part::gamma;
  if (name == "dbeta") return Part::beta;
  return Part::elements;
}

const Format& RowOracle::output_format(int output) const {
  return format(problem_.outputs[static_cast<std::size_t>(output)]->layout.format);
}

std::vector<RangedElement> RowOracle::of_row(Part part, std::int64_t i, Reference reference) const {
  RowOf<float> row = problem_.row(i);
  if (reference == Reference::mathematics) row.normalized = FormatId::f32;
  if (part != Part::elements) row.gamma.clear();
  const RowResult<F32Range> ranges = row_ranges(problem_.kind, problem_.contract, row);
  const RowResult<Certified> exact = exact_row(problem_.kind, row);
  if (part == Part::mean) return {{ranges.mean, known(exact.mean)}};
  if (part == Part::rstd) return {{ranges.rstd, known(exact.rstd)}};
  std::vector<RangedElement> out;
  out.reserve(ranges.out.size());
  for (std::size_t j = 0; j < ranges.out.size(); ++j)
    out.push_back({ranges.out[j], known(exact.out[j])});
  return out;
}

std::vector<RangedElement> RowOracle::of_columns(Part part) const {
  const bool gamma = part == Part::gamma;
  ColumnRanges ranges(problem_.n);
  std::vector<Certified> sums(static_cast<std::size_t>(problem_.n));
  for (std::int64_t i = 0; i < problem_.m; ++i) {
    const RowOf<float> row = problem_.row(i);
    ranges.add(row, row_ranges(problem_.kind, problem_.contract, row).xhat);
    const RowOf<Certified> terms = converted<Certified>(row);
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += column_term(terms, j, gamma);
  }
  const std::int64_t additions = problem_.contract.column_additions(problem_.m);
  std::vector<RangedElement> out;
  for (std::int64_t j = 0; j < problem_.n; ++j) {
    const F32Range range = gamma ? ranges.gamma(j, additions) : ranges.beta(j, additions);
    out.push_back({range, known(sums[static_cast<std::size_t>(j)])});
  }
  return out;
}

RangedElement RowOracle::at(int output, std::int64_t index) const {
  switch (const Part which = part(output)) {
    case Part::elements:
      return of_row(which, index / problem_.n)[static_cast<std::size_t>(index % problem_.n)];
    case Part::mean:
    case Part::rstd:
      return of_row(which, index).front();
    case Part::gamma:
    case Part::beta:
      return of_columns(which)[static_cast<std::size_t>(index)];
  }
  return {};
}

std::vector<double> RowOracle::refereed_row(Part part, std::int64_t i, int bits) const {
  RowOf<float> row = problem_.row(i);
  if (part != Part::elements) row.gamma.clear();
  return at_precision(bits, [&]<typename Number>() {
    const RowResult<Number> defined = defined_row(problem_.kind, converted<Number>(row));
    std::vector<double> out;
    if (part == Part::mean) out.push_back(static_cast<double>(defined.mean));
    if (part == Part::rstd) out.push_back(static_cast<double>(defined.rstd));
    if (part != Part::elements) return out;
    for (const Number& one : defined.out) out.push_back(static_cast<double>(one));
    return out;
  });
}

std::vector<double> RowOracle::reference_values(int output, Reference reference, int) const {
  const Part which = part(output);
  std::vector<double> values;
  const auto append = [&](const std::vector<RangedElement>& elements) {
    for (const RangedElement& element : elements) values.push_back(element.exact.value);
  };
  if (which == Part::gamma || which == Part::beta) {
    append(of_columns(which));
  } else {
    for (std::int64_t i = 0; i < problem_.m; ++i) append(of_row(which, i, reference));
  }
  return values;
}

double RowOracle::refereed_column(Part part, std::int64_t j, int bits) const {
  return at_precision(bits, [&]<typename Number>() {
    Number sum = 0;
    for (std::int64_t i = 0; i < problem_.m; ++i)
      sum += column_term(converted<Number>(problem_.row(i, j, 1)), 0, part == Part::gamma);
    return static_cast<double>(sum);
  });
}

ElementVerdict RowOracle::element(int output, std::int64_t index, std::uint64_t got) const {
  return range_verdict(output_format(output), index, at(output, index), got);
}

namespace {

// What judging one output adds up.
class Judge {
 public:
  Judge(const Format& f, const Tensor& got) : format_(f), got_(got) {}

  void take(std::int64_t index, const RangedElement& element) {
    tally_ranged(format_, index, element, got_.bits(index), tally_);
  }

  // `elements`: known already; `referee`: the same by MPFR.
  void compare(const RangedElement& element, double referee) {
    ++refereed_;
    tally_.disagreements += !agrees(referee, element.exact);
  }

  OutputVerdict verdict() const {
    OutputVerdict out = tally_.verdict(got_.layout.count());
    out.refereed = refereed_;
    return out;
  }

 private:
  const Format& format_;
  const Tensor& got_;
  OutputTally tally_;
  std::int64_t refereed_ = 0;
};

}  // namespace

OutputVerdict RowOracle::judge(int output, const Tensor& got, const JudgeOptions& options) const {
  const Part which = part(output);
  const bool all = options.mpfr_bits > 0;
  const int bits = std::max(options.mpfr_bits, kRefereeBits);
  Judge judge(output_format(output), got);
  Random random(options.seed);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
  };
  if (which == Part::gamma || which == Part::beta) {
    const std::vector<RangedElement> sums = of_columns(which);
    for (std::int64_t j = 0; j < problem_.n; ++j) judge.take(j, sums[static_cast<std::size_t>(j)]);
    const std::int64_t samples = all ? problem_.n : options.referee_samples;
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      const std::int64_t j = all ? sample : below(problem_.n);
      judge.compare(sums[static_cast<std::size_t>(j)], refereed_column(which, j, bits));
    }
    return judge.verdict();
  }
  // Every sample takes the definition of a whole row: long ones give several.
  const std::int64_t per_row = std::max<std::int64_t>(1, problem_.n / kLongRow);
  std::set<std::int64_t> sampled;
  for (std::int64_t left = options.referee_samples; left > 0 && problem_.m > 0; left -= per_row)
    sampled.insert(below(problem_.m));
  for (std::int64_t i = 0; i < problem_.m; ++i) {
    const std::vector<RangedElement> row = of_row(which, i);
    const auto width = static_cast<std::int64_t>(row.size());
    for (std::int64_t j = 0; j < width; ++j)
      judge.take(i * width + j, row[static_cast<std::size_t>(j)]);
    if (!all && !sampled.contains(i)) continue;
    const std::vector<double> referee = refereed_row(which, i, bits);
    for (std::size_t j = 0; j < row.size(); ++j) judge.compare(row[j], referee[j]);
  }
  return judge.verdict();
}

}  // namespace plumbline
