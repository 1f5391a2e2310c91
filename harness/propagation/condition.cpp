// SPDX-License-Identifier: MIT
// Ill-conditioned inputs told apart from bad kernels: an error over its condition number is how far
// the inputs would have to be off to explain it.
#include <algorithm>
#include <array>
#include <cmath>

#include "harness/propagation/propagate.h"
#include "oracles/base/assert.h"

namespace plumbline {
namespace {

// The middle of some values, 0 for none.
double median_of(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

ConditionRecord condition_record(const std::vector<double>& exact, const std::vector<double>& error,
                                 const std::vector<double>& expected,
                                 const std::vector<double>& condition) {
  constexpr std::array kEdges = {0.0, 10.0, 1e2, 1e3, 1e4, 1e6, HUGE_VAL};
  ConditionRecord out;
  if (condition.empty()) return out;
  PLUMB_ASSERT(condition.size() == exact.size() && error.size() == exact.size() &&
               expected.size() == exact.size());
  std::vector<double> conditions;
  std::array<std::vector<double>, kEdges.size() - 1> forward, backward;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double kappa = condition[i], size = std::fabs(exact[i]);
    if (!std::isfinite(kappa) || !std::isfinite(size) || kappa == 0 || size == 0) continue;
    const double relative = std::fabs(error[i]) / size;
    conditions.push_back(kappa);
    if (relative > out.worst_forward) {
      out.worst_forward = relative;
      out.worst_condition = kappa;
    }
    out.worst_backward = std::max(out.worst_backward, relative / kappa);
    out.expected_backward = std::max(out.expected_backward, std::fabs(expected[i]) / size / kappa);
    out.largest = std::max(out.largest, kappa);
    const auto edge = std::upper_bound(kEdges.begin(), kEdges.end(), kappa);
    const auto band = static_cast<std::size_t>(edge - kEdges.begin()) - 1;
    forward[band].push_back(relative);
    backward[band].push_back(relative / kappa);
  }
  out.median = median_of(conditions);
  for (std::size_t band = 0; band < forward.size(); ++band) {
    if (forward[band].empty()) continue;
    const auto count = static_cast<std::int64_t>(forward[band].size());
    out.bands.push_back({kEdges[band], kEdges[band + 1], count, median_of(forward[band]),
                         median_of(backward[band])});
  }
  return out;
}

}  // namespace plumbline
