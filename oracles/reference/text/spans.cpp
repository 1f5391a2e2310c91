// SPDX-License-Identifier: MIT
#include "oracles/reference/text/spans.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/numbers.h"
#include "oracles/bounds/contract/f32_errors.h"

namespace plumbline::text {

using bound::kSlack;

Span nothing_but_nan() { return {kInfinity, -kInfinity, true}; }

Span times(const Span& a, const Span& b) {
  if (!a.numbers() || !b.numbers()) return nothing_but_nan();
  const auto infinite = [](const Span& x) { return std::isinf(x.low) || std::isinf(x.high); };
  Span out{kInfinity, -kInfinity, a.nan || b.nan};
  for (const double x : {a.low, a.high}) {
    for (const double y : {b.low, b.high}) {
      const double product = x * y;
      if (std::isnan(product)) {
        out.nan = true;
        out.low = std::min(out.low, 0.0);  // 0 times large numbers
        out.high = std::max(out.high, 0.0);
        continue;
      }
      out.low = std::min(out.low, product);
      out.high = std::max(out.high, product);
    }
  }
  out.nan = out.nan || (infinite(a) && b.has(0)) || (infinite(b) && a.has(0));
  // Certainly 0 times certainly infinity is nothing but NaN.
  const auto only = [](const Span& x, double y) { return x.low == y && x.high == y; };
  const auto surely_infinite = [&](const Span& x) {
    return only(x, kInfinity) || only(x, -kInfinity);
  };
  if ((only(a, 0) && surely_infinite(b)) || (only(b, 0) && surely_infinite(a)))
    return nothing_but_nan();
  return out;
}

Span divided(const Span& a, const Span& b) {
  if (!a.numbers() || !b.numbers()) return nothing_but_nan();
  Span out{kInfinity, -kInfinity, a.nan || b.nan};
  const auto take = [&](double x) {
    out.low = std::min(out.low, x);
    out.high = std::max(out.high, x);
  };
  const auto infinite = [](const Span& x) { return std::isinf(x.low) || std::isinf(x.high); };
  if (b.has(0)) {  // of either sign
    if (a.has(0)) out.nan = true;
    if (a.low < 0 || a.high > 0) {
      take(kInfinity);
      take(-kInfinity);
    }
    if (b.low == 0 && b.high == 0) return out;
  }
  if (infinite(a) && infinite(b)) out.nan = true;
  for (const double x : {a.low, a.high}) {
    for (const double y : {b.low, b.high}) {
      if (y == 0) continue;
      const double quotient = x / y;
      if (!std::isnan(quotient)) take(quotient);
    }
  }
  if (a.has(0) && (b.low != 0 || b.high != 0)) take(0);
  return out;
}

Span hull(const Span& a, const Span& b) {
  if (!a.numbers()) return {b.low, b.high, a.nan || b.nan};
  if (!b.numbers()) return {a.low, a.high, a.nan || b.nan};
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan};
}

Span minus(const Span& a) { return a.numbers() ? Span{-a.high, -a.low, a.nan} : a; }

// Both ends moved outwards, and beyond f32 to infinity. 0 and infinity that are certain stay so.
Span widened(Span a, double relative, double absolute) {
  if (!a.numbers()) return a;
  const auto move = [&](double end, double sign) {
    if (end == 0 || std::isinf(end)) return end;
    return end + sign * (std::fabs(end) * relative + absolute) * kSlack;
  };
  a.low = move(a.low, -1);
  a.high = move(a.high, 1);
  if (a.low < -kLargest) a.low = -kInfinity;
  if (a.high > kLargest) a.high = kInfinity;
  if (a.low > kLargest) a.low = kLargest;
  if (a.high < -kLargest) a.high = -kLargest;
  return a;
}

void SpanSum::add(const Span& one) {
  nan_ |= one.nan;
  if (!one.numbers()) {
    only_nan_ = true;
    return;
  }
  surely_plus_ |= one.low == kInfinity;
  surely_minus_ |= one.high == -kInfinity;
  low_ += one.low;
  high_ += one.high;
  low_magnitude_ += std::fabs(one.low);
  high_magnitude_ += std::fabs(one.high);
  positive_ += std::max(one.high, 0.0);
  negative_ += std::max(-one.low, 0.0);
}

Span SpanSum::total(double relative, double lost) const {
  if (only_nan_ || (surely_plus_ && surely_minus_)) return nothing_but_nan();
  // A sum with infinities of both signs is NaN in double.
  Span out{std::isnan(low_) ? -kInfinity : low_, std::isnan(high_) ? kInfinity : high_, nan_};
  const auto slack = [&](double magnitude) {
    return magnitude == 0 ? lost : magnitude * relative * kSlack + lost;
  };
  if (std::isfinite(out.low)) out.low -= slack(low_magnitude_);
  if (std::isfinite(out.high)) out.high += slack(high_magnitude_);
  // Terms of one sign that come first may overflow.
  const bool plus = !(positive_ * (1 + relative) <= kLargest),
             minus_infinity = !(negative_ * (1 + relative) <= kLargest);
  if (plus) out.high = kInfinity;
  if (minus_infinity) out.low = -kInfinity;
  out.nan = out.nan || (plus && minus_infinity);
  return widened(out, 0, 0);
}

}  // namespace plumbline::text
