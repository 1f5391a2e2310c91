// SPDX-License-Identifier: MIT
// From the error of a score to that of a logit: scale or softcap, then the bias, in f32.
#include <algorithm>
#include <cmath>

#include "oracles/bounds/contract/f32_errors.h"
#include "oracles/reference/attention/trace.h"

namespace plumbline {

using namespace bound;

double RowTrace::logit_error(std::int64_t j, double score_error) const {
  if (!head_.natural_units()) return score_error;
  const float own_scale = head_.scale_of(row_.query, j);
  const double score = detail_.scores[at(j)], scale = static_cast<double>(own_scale);
  if (std::isinf(score)) score_error = 0;
  const bool exact_score = score_error == 0 && is_f32(score);
  double capped = score * scale, error = 0;
  if (std::isinf(score)) {
    capped = std::copysign(static_cast<double>(head_.softcap), score);  // tanh is exactly 1
    if (cap_in_c_) error = std::fabs(capped) * 0x1p-50;  // but the logit here is not the kernel's
  } else if (head_.softcap == 0) {
    error = std::fabs(scale) * score_error;
    if (!exact_score || !is_f32(capped)) error += half_ulp(capped, error);
  } else if (!exact_score || score != 0) {
    const double cap = static_cast<double>(head_.softcap);
    const double factor = static_cast<double>(own_scale / head_.softcap);
    const double argument = std::fabs(score * scale / cap);
    double off =
        std::fabs(factor) * score_error + std::fabs(score) * std::fabs(factor - scale / cap);
    off += half_ulp(argument, off) + argument * 0x1p-50;
    // tanh' = 1 / cosh^2 is below 4 exp(-2 |x|).
    const double nearest = std::max(0.0, argument - off);
    const double slope = std::min(1.0, 4 * std::exp(-2 * nearest));
    capped = cap * std::tanh(score * scale / cap);
    if (cap_in_c_) {
      const double most = std::min(1.0, std::tanh(argument) + slope * off);
      error = std::fabs(cap) * (slope * off + kTanhApproxError * most);
    } else {
      error = std::fabs(cap) * (slope * off + kTanhAbsoluteError);
      error += half_ulp(capped, error);
    }
  }
  double logit = capped;
  if (!head_.bias.empty()) {
    const double bias =
        static_cast<double>(head_.bias[static_cast<std::size_t>(row_.query * head_.keys + j)]);
    logit = capped + bias;
    if (bias != 0 &&
        (error > 0 || !is_f32(logit) || logit - capped != bias || logit - bias != capped))
      error += half_ulp(logit, error);
  }
  if (error == 0) return 0;
  // What the logit itself lost in double.
  return (error + 0x1p-49 * (std::fabs(capped) + std::fabs(logit) +
                             4 * std::fabs(static_cast<double>(head_.softcap)))) *
         kSlack;
}

}  // namespace plumbline
