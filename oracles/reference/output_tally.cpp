// SPDX-License-Identifier: MIT
#include "oracles/reference/output_tally.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

double known_or_negative(double x) { return std::isnan(x) ? -1 : std::fabs(x); }

double median(std::vector<float> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

// The cell of OutputVerdict::magnitudes; an infinite error is in the last one.
std::size_t magnitude_cell(double error_ulp) {
  if (error_ulp == 0) return 0;
  if (std::isinf(error_ulp)) return OutputTally::kBinades - 1;
  return static_cast<std::size_t>(std::clamp(std::ilogb(error_ulp) + 1 + OutputTally::kFirstBinade,
                                             1, OutputTally::kBinades - 1));
}

}  // namespace

bool is_worse(const ElementVerdict& a, const ElementVerdict& b) {
  const double a_share = known_or_negative(a.share), b_share = known_or_negative(b.share);
  if (a_share != b_share) return a_share > b_share;
  const double a_error = known_or_negative(a.error_ulp), b_error = known_or_negative(b.error_ulp);
  if (a_error != b_error) return a_error > b_error;
  return a.index < b.index;
}

const ElementVerdict& furthest(const std::vector<ElementVerdict>& failures, bool of_wrong_class) {
  return *std::ranges::max_element(failures, {}, [&](const ElementVerdict& failure) {
    return std::pair(failure.class_mismatch == of_wrong_class,
                     known_or_negative(failure.error_ulp));
  });
}

void OutputTally::add_error(double error_ulp) {
  if (std::isnan(error_ulp)) return;
  worst_ulp = std::max(worst_ulp, std::fabs(error_ulp));
  const double cell = std::floor((error_ulp + 4) * (kCells / 8));
  ++histogram[static_cast<std::size_t>(std::clamp(cell, 0.0, static_cast<double>(kCells - 1)))];
  ++magnitudes[magnitude_cell(error_ulp)];
}

void OutputTally::add_element(const Format& f, const ElementVerdict& element,
                              bool has_to_be_exact) {
  ++compared;
  ++bounded;
  exact_required += has_to_be_exact;
  nonzero += to_double(f, element.got) != 0;
  add_error(element.error_ulp);
  if (!element.pass) {
    ++failed;
    class_mismatches += element.class_mismatch;
    add_failure(element);
  }
  add_figures(element);
}

void OutputTally::add_failure(const ElementVerdict& failure) {
  const auto at = std::lower_bound(
      failures.begin(), failures.end(), failure,
      [](const ElementVerdict& x, const ElementVerdict& y) { return x.index < y.index; });
  failures.insert(at, failure);
  if (failures.size() > kFailures) failures.pop_back();
}

void OutputTally::add_figures(const ElementVerdict& element) {
  if (!std::isnan(element.bound_ulp)) bound_ulps.push_back(static_cast<float>(element.bound_ulp));
  if (element.pass && std::isfinite(element.relative))
    worst_relative = std::max(worst_relative, element.relative);
  if (!std::isnan(element.share)) worst_share = std::max(worst_share, element.share);
  if (!worst || is_worse(element, *worst)) worst = element;
}

void OutputTally::add(const OutputTally& other) {
  compared += other.compared;
  open += other.open;
  bounded += other.bounded;
  failed += other.failed;
  class_mismatches += other.class_mismatches;
  nonzero += other.nonzero;
  exact_required += other.exact_required;
  disagreements += other.disagreements;
  unresolved += other.unresolved;
  worst_ulp = std::max(worst_ulp, other.worst_ulp);
  worst_share = std::max(worst_share, other.worst_share);
  worst_relative = std::max(worst_relative, other.worst_relative);
  if (other.worst && (!worst || is_worse(*other.worst, *worst))) worst = other.worst;
  for (const ElementVerdict& failure : other.failures) add_failure(failure);
  for (std::size_t cell = 0; cell < histogram.size(); ++cell)
    histogram[cell] += other.histogram[cell];
  for (std::size_t cell = 0; cell < magnitudes.size(); ++cell)
    magnitudes[cell] += other.magnitudes[cell];
  bound_ulps.insert(bound_ulps.end(), other.bound_ulps.begin(), other.bound_ulps.end());
  undecided.insert(undecided.end(), other.undecided.begin(), other.undecided.end());
}

OutputVerdict OutputTally::verdict(std::int64_t elements) const {
  OutputVerdict out;
  out.elements = elements;
  out.compared = compared;
  out.open = open;
  out.bounded = bounded;
  out.failed = failed;
  out.class_mismatches = class_mismatches;
  out.nonzero = nonzero;
  out.exact_required = exact_required;
  out.undecided = static_cast<std::int64_t>(undecided.size());
  out.unresolved = unresolved;
  out.disagreements = disagreements;
  out.worst_ulp = worst_ulp;
  out.worst_share =
      static_cast<float>(worst_share);  // bounds differ in their last bits by the processor
  out.worst_relative = worst_relative;
  out.median_bound_ulp = median(bound_ulps);
  if (!failures.empty()) {
    out.worst = furthest(failures, class_mismatches > 0);
  } else if (worst) {
    out.worst = *worst;
  }
  out.failures = failures;
  out.histogram.assign(histogram.begin(), histogram.end());
  out.magnitudes.assign(magnitudes.begin(), magnitudes.end());
  return out;
}

}  // namespace plumbline
