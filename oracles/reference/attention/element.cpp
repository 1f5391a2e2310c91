// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/element.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/numbers.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/ulp.h"

namespace plumbline {
namespace {

struct Ends {
  double low, high;
};

// y - E and y + E, outward or inward by what is not known of y.
Ends ends(const AttentionKnowledge& known, double sign) {
  // Covers the two roundings of each end.
  const double slack = known.error + 0x1p-51 * (std::fabs(known.exact) + known.bound);
  const double reach = known.bound + sign * slack;
  return {known.exact - reach, known.exact + reach};
}

ResultClass class_of(double x) {
  if (std::isnan(x)) return ResultClass::nan;
  if (!std::isinf(x)) return ResultClass::finite;
  return x > 0 ? ResultClass::plus_infinity : ResultClass::minus_infinity;
}

AttentionDecision decide_between(const AttentionKnowledge& known, double low, double high,
                                 double got) {
  AttentionDecision out;
  out.low = low;
  out.high = high;
  const bool finite = known.classes.has(ResultClass::finite);
  if (std::isnan(got)) {
    out.inside = known.classes.has(ResultClass::nan);
  } else {
    out.inside = (finite && got >= low && got <= high) ||
                 (std::isinf(got) && known.classes.has(class_of(got)));
  }
  if (!finite) out.low = out.high = special_value(known.classes);
  const bool same_class =
      known.classes.has(class_of(got)) ||
      (finite && (class_of(low) == class_of(got) || class_of(high) == class_of(got)));
  out.class_mismatch = !out.inside && !same_class;
  return out;
}

std::uint64_t code_of(const Format& format, double value) { return encode(format, value); }

// How far from y a number must be to become `got`; 0 where y itself does.
double smallest_error(const Format& format, double exact, double got) {
  if (stored_value(format, exact) == got) return 0;
  // Between got and its neighbor toward y; both roundings are to nearest.
  const double unit = ulp(format, got);
  double boundary = exact > got ? got + unit / 2 : got - unit / 2;
  int exponent = 0;
  if (std::fabs(exact) < std::fabs(got) && std::frexp(std::fabs(got), &exponent) == 0.5)
    boundary = exact > got ? got + unit / 4 : got - unit / 4;
  const double distance = exact > got ? exact - boundary : boundary - exact;
  return std::max(distance, 0.0);
}

}  // namespace

double stored_value(const Format& format, double x) {
  const float rounded = static_cast<float>(x);
  if (format.id == FormatId::f32) return static_cast<double>(rounded);
  return to_double(format, encode(format, static_cast<double>(rounded)));
}

bool surely_admissible(const Format& format, const AttentionKnowledge& known, std::uint64_t got) {
  if (!known.classes.is_only(ResultClass::finite)) return false;
  const double slack = known.error + 0x1p-52 * std::fabs(known.exact);
  const double value = to_double(format, got);
  return stored_value(format, known.exact - slack) == value &&
         stored_value(format, known.exact + slack) == value;
}

AttentionDecision decide(const Format& format, const AttentionKnowledge& known,
                         std::uint64_t code) {
  const double got = to_double(format, code);
  if (!known.classes.has(ResultClass::finite)) return decide_between(known, kNan, kNan, got);
  if (known.bound == kInfinity) {
    AttentionDecision anything;
    anything.inside = true;
    anything.low = -kInfinity;
    anything.high = kInfinity;
    return anything;
  }
  const Ends outer = ends(known, 1), inner = ends(known, -1);
  AttentionDecision out =
      decide_between(known, stored_value(format, outer.low), stored_value(format, outer.high), got);
  if (!out.inside) return out;
  const double low = stored_value(format, inner.low), high = stored_value(format, inner.high);
  if (low == out.low && high == out.high) return out;
  out.decided = decide_between(known, low, high, got).inside;
  return out;
}

AttentionDecision decide_exactly(const Format& format, const Real& exact, AttentionKnowledge& known,
                                 std::uint64_t code) {
  known.exact = static_cast<double>(exact);
  known.error = std::fabs(known.exact) * 0x1p-53 + 0x1p-1074;
  const auto stored = [&](const Real& x) {
    const double rounded =
        to_double(plumbline::format(FormatId::f32), encode(plumbline::format(FormatId::f32), x));
    return stored_value(format, rounded);
  };
  return decide_between(known, stored(exact - Real(known.bound)), stored(exact + Real(known.bound)),
                        to_double(format, code));
}

double error_in_ulp(const Format& format, const AttentionKnowledge& known, std::uint64_t got) {
  const double value = to_double(format, got);
  if (!known.classes.is_only(ResultClass::finite) || !std::isfinite(value) ||
      !std::isfinite(known.exact))
    return kNan;
  return (value - known.exact) / ulp(format, known.exact);
}

ElementVerdict describe(const Format& format, const AttentionKnowledge& known,
                        const AttentionDecision& decision, std::int64_t index, std::uint64_t code) {
  ElementVerdict verdict;
  const double got = to_double(format, code);
  const bool finite = known.classes.has(ResultClass::finite);
  verdict.index = index;
  verdict.got = code;
  verdict.pass = decision.inside || !decision.decided;
  verdict.class_mismatch = decision.class_mismatch && !verdict.pass;
  verdict.exact = finite ? known.exact : special_value(known.classes);
  verdict.expected = code_of(format, finite ? stored_value(format, known.exact) : verdict.exact);
  verdict.low = code_of(format, decision.low);
  verdict.high = code_of(format, decision.high);
  verdict.error_ulp = error_in_ulp(format, known, code);
  verdict.bound_ulp = kNan;
  verdict.share = kNan;
  if (!finite) {
    verdict.low = verdict.high = verdict.expected;
    return verdict;
  }
  if (!std::isfinite(known.exact)) return verdict;
  const double unit = ulp(format, known.exact);
  if (known.bounded() && std::isfinite(decision.low) && std::isfinite(decision.high)) {
    verdict.bound_ulp =
        std::max(std::fabs(decision.low - known.exact), std::fabs(decision.high - known.exact)) /
        unit;
  }
  if (known.magnitude <= 2 * std::fabs(known.exact) && !std::isnan(verdict.error_ulp)) {
    const double beyond = std::max(0.0, std::fabs(verdict.error_ulp) - 0.5) * unit;
    verdict.relative = beyond / std::fabs(known.exact);
  }
  if (!known.bounded() || !std::isfinite(got) || !std::isfinite(known.bound)) return verdict;
  const double smallest = smallest_error(format, known.exact, got);
  if (verdict.pass) {
    verdict.share = known.bound > 0 ? std::min(1.0, smallest / known.bound) : 0;
  } else {
    verdict.share =
        known.bound > 0 ? std::max(smallest / known.bound, std::nextafter(1.0, 2.0)) : kInfinity;
  }
  return verdict;
}

}  // namespace plumbline
