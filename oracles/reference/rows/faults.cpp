// SPDX-License-Identifier: MIT
#include "oracles/reference/rows/faults.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/ulp.h"
#include "oracles/reference/rows/definition.h"
#include "oracles/reference/rows/oracle.h"
#include "oracles/reference/rows/ranges.h"
#include "oracles/reference/rows/variance.h"

namespace plumbline {
namespace {

using namespace row_fault_words;

using Row = RowOf<Certified>;
using Outcome = RowResult<Certified>;

struct Spot {
  const RowProblem& problem;
  std::int64_t i;
  Row row;
  const Format& f;  // of the output

  Outcome of(const Row& changed) const { return defined_row(problem.kind, changed); }

  bool is(RowKind kind) const { return problem.kind == kind; }

  bool is_norm() const { return is(RowKind::rmsnorm) || is(RowKind::layernorm); }

  bool is_norm_backward() const { return problem.has_column_sums(); }

  bool is_softmax() const { return is(RowKind::softmax) || is(RowKind::softmax_backward); }
};

// Empty where the fault is not one of this operation's.
using Faulty = std::vector<Certified>;

Faulty with_scale(const Spot& at, const Certified& scale) {
  if (!at.is_softmax() || at.problem.scale == 1) return {};
  Row row = at.row;
  row.scale = scale;
  return at.of(row).out;
}

Faulty with_parameter(const Spot& at, std::vector<Certified> Row::* of,
                      const std::function<Certified(std::size_t)>& value) {
  Row row = at.row;
  if ((row.*of).empty()) return {};
  for (std::size_t j = 0; j < (row.*of).size(); ++j) (row.*of)[j] = value(j);
  return at.of(row).out;
}

// As if the row had fewer columns; what was left out of sums has an output all the same.
Faulty with_columns(const Spot& at, std::size_t n) {
  Row row = at.row;
  for (auto* values : {&row.x, &row.dy, &row.gamma, &row.beta}) {
    if (!values->empty()) values->resize(n, Certified(0.0));
  }
  Faulty out = at.of(row).out;
  out.resize(std::min(n, at.row.x.size()));
  return out;
}

// Exponentials of what they are: they overflow, and sums of them.
Faulty without_maximum(const Spot& at) {
  if (!at.is(RowKind::softmax)) return {};
  std::vector<float> p;
  float sum = 0;
  for (const Certified& x : at.row.x) {
    p.push_back(static_cast<float>(std::exp(x.value * at.row.scale.value)));
    sum += p.back();
  }
  Faulty out;
  for (const float one : p) out.emplace_back(static_cast<double>(one * (1 / sum)));
  return out;
}

// Element j of a norm, before beta.
Certified with_gamma(const Spot& at, std::size_t j, const Certified& mean, const Certified& rstd) {
  const Certified normal = row_definition::normalized(at.row, (at.row.x[j] - mean) * rstd);
  return normal * (at.row.gamma[j] + at.row.gamma_plus);
}

// Of all elements of a row.
struct RangesVerdict {
  bool pass = true, class_mismatch = false;
};

RangesVerdict judged(const std::vector<F32Range>& ranges, std::span<const double> got,
                     const Format& f) {
  RangesVerdict out;
  for (std::size_t j = 0; j < got.size(); ++j) {
    const ElementVerdict one =
        range_verdict(f, 0, {ranges[j], Certified(got[j], 0.0)}, encode(f, got[j]));
    out.pass &= one.pass;
    out.class_mismatch |= one.class_mismatch;
  }
  return out;
}

bool fused_eps_fits(const RowProblem& problem, std::int64_t i, std::span<const double> got,
                    const Format& f) {
  const RowContract fused = fused_eps(problem);
  return fused.mean != problem.contract.mean &&
         judged(row_ranges(problem.kind, fused, problem.row(i)).out, got, f).pass;
}

bool one_pass_fits(const RowProblem& problem, std::int64_t i, std::span<const double> got,
                   const Format& f) {
  return problem.kind == RowKind::layernorm &&
         judged(one_pass_layernorm(problem.contract, problem.row(i)).out, got, f).pass;
}

// A norm whose product with rstd is cut, not rounded, in f32.
bool cut_product_fits(const RowProblem& problem, std::int64_t i, std::span<const double> got,
                      const Format& f) {
  const bool centered = problem.kind == RowKind::layernorm;
  if ((!centered && problem.kind != RowKind::rmsnorm) || problem.gamma_plus != 0 ||
      problem.contract.normalized != FormatId::f32)
    return false;
  const RowOf<float> row = problem.row(i);
  const RowResult<F32Range> right = row_ranges(problem.kind, problem.contract, row);
  const auto cut = [](float x, float y) {
    const double product = static_cast<double>(x) * static_cast<double>(y);
    const auto nearest = static_cast<float>(product);
    return std::fabs(static_cast<double>(nearest)) > std::fabs(product)
               ? std::nextafter(nearest, 0.0f)
               : nearest;
  };
  std::vector<F32Range> out;
  for (std::size_t j = 0; j < row.x.size(); ++j) {
    const F32Range x = F32Range::of(row.x[j]), d = centered ? x - right.mean : x;
    const float ends[] = {cut(d.low, right.rstd.low), cut(d.low, right.rstd.high),
                          cut(d.high, right.rstd.low), cut(d.high, right.rstd.high)};
    const F32Range normal{*std::ranges::min_element(ends), *std::ranges::max_element(ends),
                          d.nan || right.rstd.nan};
    const F32Range gamma = F32Range::of(row.gamma[j]);
    out.push_back(centered ? fma(normal, gamma, F32Range::of(row.beta[j])) : normal * gamma);
  }
  return judged(out, got, f).pass;
}

Faulty without_mean(const Spot& at) {
  if (at.is(RowKind::layernorm)) {
    Faulty out = row_definition::norm(at.row, false).out;
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += at.row.beta[j];
    return out;
  }
  if (!at.is(RowKind::layernorm_backward)) return {};
  Row row = at.row;
  row.mean = 0.0;
  return at.of(row).out;
}

Faulty without_projection(const Spot& at) {
  Faulty out;
  if (at.is(RowKind::softmax_backward)) {
    for (std::size_t j = 0; j < at.row.x.size(); ++j)
      out.push_back(at.row.scale * (at.row.x[j] * at.row.dy[j]));
  }
  if (at.is_norm_backward()) {
    for (std::size_t j = 0; j < at.row.x.size(); ++j)
      out.push_back(at.row.rstd * (at.row.dy[j] * at.row.gamma[j]));
  }
  return out;
}

Faulty with_statistics(const Spot& at, const Certified& mean, const Certified& rstd) {
  Faulty out;
  for (std::size_t j = 0; j < at.row.x.size(); ++j) {
    out.push_back(with_gamma(at, j, mean, rstd));
    if (at.is(RowKind::layernorm)) out.back() += at.row.beta[j];
  }
  return out;
}

// A norm whose mean is right and whose rstd is this.
Faulty with_rstd(const Spot& at, const Certified& rstd) {
  return with_statistics(at, row_definition::norm(at.row, at.is(RowKind::layernorm)).mean, rstd);
}

// A norm that divides by n what it sums over fewer columns.
Faulty with_columns_summed(const Spot& at, std::int64_t columns) {
  if (!at.is_norm() || columns == at.row.n()) return {};
  const Outcome of = norm_statistics(at.row, at.is(RowKind::layernorm), columns, at.row.n());
  return with_statistics(at, of.mean, of.rstd);
}

Certified rstd_with(const Spot& at, const Certified& eps) {
  Row row = at.row;
  row.eps = eps;
  return row_definition::norm(row, at.is(RowKind::layernorm)).rstd;
}

Certified columns(const Spot& at) { return static_cast<double>(at.row.n()); }

Faulty with_eps_in_sum(const Spot& at) {
  if (!at.is_norm() || at.problem.eps == 0 || at.row.n() < 2) return {};
  return with_rstd(at, rstd_with(at, at.row.eps / columns(at)));
}

Faulty with_eps_outside(const Spot& at) {
  if (!at.is_norm() || at.problem.eps == 0) return {};
  const Certified one(1.0);
  return with_rstd(at, one / (one / rstd_with(at, 0.0) + at.row.eps));
}

Faulty with_padding_in_variance(const Spot& at) {
  if (!at.is(RowKind::layernorm) || at.row.n() % 8 == 0) return {};
  return with_rstd(at, Certified(1.0) / sqrt(padded_variance(at.row) + at.row.eps));
}

Faulty without_division(const Spot& at) {
  if (!at.is_norm() || at.row.n() < 2) return {};
  return with_rstd(at, rstd_with(at, at.row.eps / columns(at)) / sqrt(columns(at)));
}

// Bessel's correction.
Faulty with_divisor_less_one(const Spot& at) {
  if (!at.is(RowKind::layernorm)) return {};
  return with_rstd(at, norm_statistics(at.row, true, at.row.n(), at.row.n() - 1).rstd);
}

// The means of a gradient are sums.
Faulty without_means(const Spot& at) {
  if (!at.is_norm_backward() || at.row.n() < 2) return {};
  const Faulty right = at.of(at.row).out;
  Faulty out;
  for (std::size_t j = 0; j < right.size(); ++j) {
    const Certified whole = at.row.rstd * (at.row.dy[j] * at.row.gamma[j]);
    out.push_back(whole - columns(at) * (whole - right[j]));
  }
  return out;
}

Faulty with_rounded_product(const Spot& at) {
  if (!at.is_norm() || at.f.id == FormatId::f32 || at.row.normalized != FormatId::f32) return {};
  const bool centered = at.is(RowKind::layernorm);
  const Outcome right = row_definition::norm(at.row, centered);
  Faulty out;
  for (std::size_t j = 0; j < at.row.x.size(); ++j) {
    const Certified normal = (at.row.x[j] - right.mean) * right.rstd;
    const Certified rounded(to_double(at.f, encode(at.f, normal.value)));
    out.push_back(rounded * (at.row.gamma[j] + at.row.gamma_plus));
    if (centered) out.back() += at.row.beta[j];
  }
  return out;
}

Faulty without_rounded_product(const Spot& at) {
  if (at.row.normalized == FormatId::f32) return {};
  Row row = at.row;
  row.normalized = FormatId::f32;
  return at.of(row).out;
}

Faulty with_truncated_product(const Spot& at) {
  if (at.row.normalized == FormatId::f32) return {};
  const Format& to = format(at.row.normalized);
  const bool centered = at.is(RowKind::layernorm);
  const Outcome right = row_definition::norm(at.row, centered);
  Faulty out;
  for (std::size_t j = 0; j < at.row.x.size(); ++j) {
    const Certified normal = (at.row.x[j] - right.mean) * right.rstd;
    const Certified cut(
        to_double(to, encode(to, normal.value, {.rounding = Rounding::toward_zero})));
    out.push_back(cut * (at.row.gamma[j] + at.row.gamma_plus));
    if (centered) out.back() += at.row.beta[j];
  }
  return out;
}

// LayerNorm's gradient with one of its two means.
Faulty as_rmsnorm_backward(const Spot& at) {
  if (!at.is(RowKind::layernorm_backward)) return {};
  Row row = at.row;
  for (Certified& x : row.x) x = x - row.mean;
  return row_definition::norm_backward(row, false).out;
}

Faulty of_row(const Spot& at, std::int64_t i) {
  if (i < 0 || i >= at.problem.m) return {};
  return at.of(converted<Certified>(at.problem.row(i))).out;
}

struct Fault {
  const char* words;
  Faulty (*row)(const Spot&);
};

constexpr Fault kFaults[] = {
    {kNoEps,
     [](const Spot& at) {
       if (!at.is_norm() || at.problem.eps == 0) return Faulty();
       Row row = at.row;
       row.eps = 0.0;
       return at.of(row).out;
     }},
    {kEpsInSum, with_eps_in_sum},
    {kEpsOutside, with_eps_outside},
    {kNoDivision, without_division},
    {kBessel, with_divisor_less_one},
    {"the sums are not divided by n", without_means},
    {"x rstd is rounded to the output's format before gamma", with_rounded_product},
    {"x rstd is not rounded before gamma", without_rounded_product},
    {kCutProduct, with_truncated_product},
    {"the scale is missing", [](const Spot& at) { return with_scale(at, 1.0); }},
    {"the scale is applied twice",
     [](const Spot& at) { return with_scale(at, at.row.scale * at.row.scale); }},
    {kNoMean, without_mean},
    {"gamma is missing",
     [](const Spot& at) {
       return with_parameter(at, &Row::gamma, [&](std::size_t) {
         return Certified(1.0 - static_cast<double>(at.problem.gamma_plus));
       });
     }},
    {"nothing is added to gamma",
     [](const Spot& at) {
       if (at.problem.gamma_plus == 0) return Faulty();
       Row row = at.row;
       row.gamma_plus = 0.0;
       return at.of(row).out;
     }},
    {"beta is missing",
     [](const Spot& at) {
       return with_parameter(at, &Row::beta, [](std::size_t) { return Certified(0.0); });
     }},
    {"gamma is indexed by row",
     [](const Spot& at) {
       if (at.i >= at.problem.n) return Faulty();
       return with_parameter(at, &Row::gamma, [&](std::size_t) {
         return at.row.gamma[static_cast<std::size_t>(at.i)];
       });
     }},
    {kLastColumn,
     [](const Spot& at) {
       return at.row.n() < 2 ? Faulty() : with_columns(at, at.row.x.size() - 1);
     }},
    {kLastColumn, [](const Spot& at) { return with_columns_summed(at, at.row.n() - 1); }},
    {kTail,
     [](const Spot& at) {
       const std::size_t n = at.row.x.size();
       return n < 8 || n % 8 == 0 ? Faulty() : with_columns(at, n / 8 * 8);
     }},
    {kTail, [](const Spot& at) { return with_columns_summed(at, at.row.n() / 8 * 8); }},
    {"the maximum is not subtracted", without_maximum},
    {kPaddingInVariance, with_padding_in_variance},
    {kZeros,
     [](const Spot& at) {
       const std::size_t n = at.row.x.size();
       return n % 8 == 0 ? Faulty() : with_columns(at, n / 8 * 8 + 8);
     }},
    {"dX is without the projection: the sums are missing", without_projection},
    {"the mean of dY gamma is missing", as_rmsnorm_backward},
    {"it is the row above", [](const Spot& at) { return of_row(at, at.i - 1); }},
    {"it is the row below", [](const Spot& at) { return of_row(at, at.i + 1); }},
};

// How far what was stored is from the faulty row, beyond one rounding to the output, where it is
// farthest; infinite where classes differ.
double farthest(const Faulty& faulty, std::span<const double> got, const Format& f) {
  double most = 0;
  for (std::size_t j = 0; j < faulty.size(); ++j) {
    const double due = faulty[j].value;
    if (due == got[j] || (std::isnan(due) && std::isnan(got[j]))) continue;
    if (!std::isfinite(due) || !std::isfinite(got[j]))
      return std::numeric_limits<double>::infinity();
    most = std::max(most, std::fabs(got[j] - due) - 0.51 * ulp(f, due));
  }
  return most;
}

// Up to what f32 arithmetic may have lost on the way.
bool fits(const Faulty& faulty, double far) {
  double largest = 0;
  for (const Certified& one : faulty) {
    if (std::isfinite(one.value)) largest = std::max(largest, std::fabs(one.value));
  }
  return far <= 0x1p-14 * largest;
}

// Whether all of the row is predicted, bit for bit.
bool gives_codes(const Faulty& faulty, std::span<const double> got, const Format& f) {
  const auto same = [&](const Certified& due, double stored) {
    return (std::isnan(due.value) && std::isnan(stored)) ||
           encode(f, due.value) == encode(f, stored);
  };
  return std::equal(faulty.begin(), faulty.end(), got.begin(), got.end(), same);
}

}  // namespace

NamedFaults row_faults(const RowProblem& problem, std::int64_t i, std::span<const double> got,
                       const Format& f) {
  const Spot spot{problem, i, converted<Certified>(problem.row(i)), f};
  const Faulty right = spot.of(spot.row).out;
  const double far_from_right = farthest(right, got, f);
  const RangesVerdict verdict =
      judged(row_ranges(problem.kind, problem.contract, problem.row(i)).out, got, f);
  // What errs by less than a rounding of the output is told from the right row by its codes alone.
  const bool codes_tell = !verdict.pass && !gives_codes(right, got, f);
  FaultRanking fitting;
  for (const Fault& fault : kFaults) {
    const Faulty faulty = fault.row(spot);
    if (faulty.empty()) continue;
    // What is hardly nearer than the right row tells nothing.
    const double far = farthest(faulty, got, f);
    if ((fits(faulty, far) && 2 * far < far_from_right) ||
        (codes_tell && gives_codes(faulty, got, f)))
      fitting.add({.words = fault.words});
  }
  // By ranges, which tell them from the right row however near they are.
  if (!verdict.pass && one_pass_fits(problem, i, got, f)) fitting.add({.words = kOnePass});
  if (!verdict.pass && fused_eps_fits(problem, i, got, f)) fitting.add({.words = kFusedEps});
  if (!verdict.pass && cut_product_fits(problem, i, got, f)) fitting.add({.words = kCutProduct});
  NamedFaults named = std::move(fitting).named(0);
  if (far_from_right == 0 && !verdict.class_mismatch) named.unnamed = kCloseToRight;
  return named;
}

}  // namespace plumbline
