// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/element.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/numbers.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/ulp.h"

namespace plumbline {
namespace {

EpilogueScalars scalars_of(float factor) {
  EpilogueScalars scalars;
  scalars.alpha = factor;
  return scalars;
}

}  // namespace

GradientRule::GradientRule(float factor, FormatId stored, const BoundModel& model)
    : epilogue_(Contract{}, scalars_of(factor), stored),
      grid_(model.accumulator_precision()),
      rule_(epilogue_, grid_, {}) {}

bool GradientRule::surely_wrong(const SumEnclosure& sum, double error, std::uint64_t got) const {
  if (!std::isfinite(error)) return false;
  const GridRange range = accumulator_range(grid_, sum, error).outer;
  return !rule_.lies_between(range, got) && !rule_.judge(range, ResultClass::finite, got).inside;
}

GradientDecision GradientRule::by_class(Due due, std::uint64_t got) const {
  GradientDecision out;
  const bool nan = epilogue_.is_nan(got), finite = epilogue_.is_finite(got);
  out.judgement.inside =
      due == Due::anything || (due == Due::nan && nan) || (due == Due::not_finite && !finite);
  out.judgement.class_mismatch = !out.judgement.inside;
  out.judgement.low = out.judgement.high = epilogue_.output().canonical_nan;
  return out;
}

GradientDecision GradientRule::decide(const GradientKnowledge& known, std::uint64_t got) const {
  if (known.due >= Due::anything) return by_class(known.due, got);
  if (known.due == Due::regular_or_nan && is_nan(got)) return by_class(Due::nan, got);
  if (!std::isfinite(known.error)) return by_class(Due::anything, got);
  const AccumulatorRange range = accumulator_range(grid_, known.sum, known.error);
  GradientDecision out{true, rule_.judge(range.outer, known.classes, got), range.outer};
  if (range.inner != range.outer)
    out.decided = rule_.judge(range.inner, known.classes, got).inside == out.judgement.inside;
  return out;
}

GradientDecision GradientRule::decide(const GradientKnowledge& known, const Dyadic& exact,
                                      std::uint64_t got) const {
  if (known.due >= Due::anything || !std::isfinite(known.error) ||
      (known.due == Due::regular_or_nan && is_nan(got))) {
    return decide(known, got);
  }
  const AccumulatorRange range = accumulator_range(grid_, exact, known.error);
  return {true, rule_.judge(range.outer, known.classes, got), range.outer};
}

double GradientRule::value(const SumEnclosure& sum) const {
  const TwoDoubles real = epilogue_.real({sum.hi, sum.lo}, {});
  return real.hi + real.lo;
}

double GradientRule::error_ulp(const SumEnclosure& sum, std::uint64_t got) const {
  const double value = to_double(epilogue_.output(), got);
  if (!std::isfinite(value)) return kNan;
  const TwoDoubles real = epilogue_.real({sum.hi, sum.lo}, {});
  return ((value - real.hi) - real.lo) / ulp(epilogue_.output(), real.hi + real.lo);
}

double GradientRule::share(const GradientKnowledge& known, const GradientDecision& decision,
                           std::uint64_t got) const {
  if (!known.bounded || !known.classes.has(ResultClass::finite)) return kNan;
  const bool inside = decision.judgement.inside;
  const double smallest =
      rule_.smallest_error(known.sum, inside ? decision.range : rule_.whole_grid(), got);
  if (inside) {
    if (smallest == kInfinity) return kNan;
    return known.error > 0 ? std::min(1.0, smallest / known.error) : 0.0;
  }
  if (known.error == 0) return kInfinity;
  return std::max(smallest / known.error, std::nextafter(1.0, 2.0));
}

ElementVerdict GradientRule::describe(std::int64_t index, const GradientKnowledge& known,
                                      const GradientDecision& decision, std::uint64_t got) const {
  ElementVerdict verdict;
  verdict.index = index;
  verdict.got = got;
  verdict.pass = decision.judgement.inside || !decision.decided;
  verdict.class_mismatch = decision.judgement.class_mismatch && !verdict.pass;
  verdict.low = decision.judgement.low;
  verdict.high = decision.judgement.high;
  verdict.error_ulp = verdict.bound_ulp = verdict.share = kNan;
  const bool by_number =
      known.due == Due::regular || (known.due == Due::regular_or_nan && !is_nan(got));
  if (!by_number || !std::isfinite(known.error)) {
    verdict.exact = kNan;
    verdict.expected = verdict.low;
    if (!verdict.pass) verdict.share = kInfinity;
    return verdict;
  }
  verdict.exact = value(known.sum);
  verdict.error_ulp = error_ulp(known.sum, got);
  verdict.expected = rule_.expected(known.sum);
  const double low = std::fabs(error_ulp(known.sum, verdict.low));
  const double high = std::fabs(error_ulp(known.sum, verdict.high));
  verdict.bound_ulp = std::isnan(low) || std::isnan(high) ? kNan : std::max(low, high);
  verdict.share = share(known, decision, got);
  return verdict;
}

}  // namespace plumbline
