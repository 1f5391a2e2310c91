// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/f32_range.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/bounds/contract/attention.h"
#include "oracles/bounds/contract/f32_errors.h"
#include "oracles/bounds/contract/rows.h"

namespace plumbline {
namespace {

using bound::kF32Largest, bound::kF32Unit;

constexpr double kTwoSmallest = 0x1p-148;                    // 2 ulp of what is below 2^-126
constexpr double kQuotientError = kDivFullError + kF32Unit;  // off a quotient that was rounded

// The smallest range with these values. Comparisons with NaN are false: it only sets the flag.
template <typename... Values>
F32Range hull(bool nan, Values... values) {
  F32Range out{kFloatInfinity, -kFloatInfinity, nan};
  [[maybe_unused]] const auto take = [&out](float value) {
    out.nan |= value != value;
    if (value < out.low) out.low = value;
    if (value > out.high) out.high = value;
  };
  (take(values), ...);
  return out;
}

bool all_points(const F32Range& a, const F32Range& b) { return a.is_point() && b.is_point(); }

bool has_infinity(const F32Range& a) {
  return a.has_numbers() && (a.low == -kFloatInfinity || a.high == kFloatInfinity);
}

bool has_zero(const F32Range& a) { return a.has_numbers() && a.low <= 0 && a.high >= 0; }

bool has_finite(const F32Range& a) { return a.low < kFloatInfinity && a.high > -kFloatInfinity; }

// Where ends say NaN, 0 times a number may be a value all the same.
bool makes_zero(const F32Range& a, const F32Range& b) {
  return (has_zero(a) && has_finite(b)) || (has_zero(b) && has_finite(a));
}

// 0 times infinity.
bool makes_nan(const F32Range& a, const F32Range& b) {
  return a.nan || b.nan || (has_zero(a) && has_infinity(b)) || (has_zero(b) && has_infinity(a));
}

// The exponent of the lowest set bit of a number that is not 0.
int lowest_bit(double x) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);  // in [1/2, 1): 53 bits
  const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  return exponent - 53 + std::countr_zero(significand);
}

float float_above(double x) {  // the least float that is at least x
  const auto nearest = static_cast<float>(x);
  return static_cast<double>(nearest) < x ? std::nextafterf(nearest, kFloatInfinity) : nearest;
}

float float_below(double x) {
  const auto nearest = static_cast<float>(x);
  return static_cast<double>(nearest) > x ? std::nextafterf(nearest, -kFloatInfinity) : nearest;
}

}  // namespace

F32Range F32Range::anything() { return {-kFloatInfinity, kFloatInfinity, true}; }

F32Range either(const F32Range& a, const F32Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan};
}

F32Range f32_within(double low, double high) {
  const F32Range out{float_above(low), float_below(high), false};
  return out.has_numbers() ? out : F32Range{out.high, out.low, false};
}

F32Range operator+(const F32Range& a, const F32Range& b) {
  if (all_points(a, b)) return F32Range::of(a.low + b.low);
  if (!a.has_numbers() || !b.has_numbers()) return F32Range::only_nan();
  const bool opposite = (a.high == kFloatInfinity && b.low == -kFloatInfinity) ||
                        (a.low == -kFloatInfinity && b.high == kFloatInfinity);
  if (opposite && !(a.is_point() && b.is_point())) return F32Range::anything();
  return hull(a.nan || b.nan, a.low + b.low, a.high + b.high);
}

F32Range operator-(const F32Range& a) { return {-a.high, -a.low, a.nan}; }

F32Range operator-(const F32Range& a, const F32Range& b) { return a + -b; }

F32Range operator*(const F32Range& a, const F32Range& b) {
  if (all_points(a, b)) return F32Range::of(a.low * b.low);
  if (!a.has_numbers() || !b.has_numbers()) return F32Range::only_nan();
  const F32Range ends =
      hull(makes_nan(a, b), a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high);
  return makes_zero(a, b) ? either(ends, F32Range::of(0)) : ends;
}

F32Range operator/(const F32Range& a, const F32Range& b) {
  if (!a.has_numbers() || !b.has_numbers()) return F32Range::only_nan();
  if (b.low < 0 && b.high >= 0) return F32Range::anything();
  const bool nan =
      a.nan || b.nan || (has_zero(a) && has_zero(b)) || (has_infinity(a) && has_infinity(b));
  const float low = b.low == 0 ? 0.0f : b.low, high = b.high == 0 ? 0.0f : b.high;  // not -0
  const F32Range ends = hull(nan, a.low / low, a.low / high, a.high / low, a.high / high);
  return has_infinity(b) && has_finite(a) ? either(ends, F32Range::of(0)) : ends;
}

F32Range fma(const F32Range& a, const F32Range& b, const F32Range& c) {
  if (!a.has_numbers() || !b.has_numbers() || !c.has_numbers()) return F32Range::only_nan();
  const bool nan = makes_nan(a, b) || c.nan;
  const bool uncertain = !all_points(a, b) || !c.is_point();
  if (!uncertain) return F32Range::of(std::fmaf(a.low, b.low, c.low));
  const bool may_cancel = (has_infinity(a) || has_infinity(b)) && has_infinity(c);
  if (may_cancel) return F32Range::anything();
  F32Range out = hull(nan);
  for (const float x : {a.low, a.high}) {
    for (const float y : {b.low, b.high})
      out = either(out, hull(false, std::fmaf(x, y, c.low), std::fmaf(x, y, c.high)));
  }
  if (makes_zero(a, b)) out = either(out, c);
  return out;
}

F32Range sqrt(const F32Range& a) {
  if (!a.has_numbers() || a.high < 0) return F32Range::only_nan();
  return {std::sqrt(a.low < 0 ? 0.0f : a.low), std::sqrt(a.high), a.nan || a.low < 0};
}

F32Range ex2_approx(const F32Range& a, bool flushes) {
  if (!a.has_numbers()) return F32Range::only_nan();
  if (a.low == 0 && a.high == 0) return {1, 1, a.nan};
  // The library's exp2 is off by less than 2^-50 of its value.
  constexpr double kError = kEx2Error + 0x1p-50;
  double least = std::exp2(static_cast<double>(a.low)) * (1 - kError),
         most = std::exp2(static_cast<double>(a.high)) * (1 + kError);
  if (!flushes) {  // 2 ulp, also where they are those of the smallest numbers
    if (least < 0x1p-125) least = std::max(0.0, least - kTwoSmallest);
    if (most < 0x1p-125 && most > 0) most += kTwoSmallest;
  }
  if (least > kF32Largest) return {kFloatInfinity, kFloatInfinity, a.nan};
  F32Range out = f32_within(least, std::min(most, kF32Largest));
  if (most > kF32Largest) out.high = kFloatInfinity;
  if (flushes && out.low < 0x1p-126f) out.low = 0;
  if (flushes && out.high < 0x1p-126f) out.high = 0;  // nothing above can be less
  out.nan = a.nan;
  return out;
}

F32Range div_full(const F32Range& a, const F32Range& b) {
  const F32Range out = a / b;
  if (!out.has_numbers()) return out;
  // An end moved outward, not across 0: the sign is the exact quotient's.
  const auto moved = [](float end, double direction) {
    const auto x = static_cast<double>(end);
    if (x == 0 || std::isinf(x)) return x;
    const double beyond = x + direction * (std::fabs(x) * kQuotientError + kTwoSmallest);
    return x > 0 ? std::clamp(beyond, 0.0, kF32Largest) : std::clamp(beyond, -kF32Largest, 0.0);
  };
  const double low = moved(out.low, -1), high = moved(out.high, 1);
  const F32Range finite = f32_within(std::clamp(low, -kF32Largest, kF32Largest),
                                     std::clamp(high, -kF32Largest, kF32Largest));
  return {std::isinf(low) ? out.low : finite.low, std::isinf(high) ? out.high : finite.high,
          out.nan};
}

F32Range rsqrt_approx(const F32Range& a) {
  if (!a.has_numbers() || a.high < 0) return F32Range::only_nan();
  constexpr double kError = kRsqrtError + 0x1p-50;
  const double low = a.low <= 0 ? 0.0 : static_cast<double>(a.low);  // not -0
  const double high = a.high <= 0 ? 0.0 : static_cast<double>(a.high);
  F32Range out = f32_within(1 / std::sqrt(high) * (1 - kError), 1 / std::sqrt(low) * (1 + kError));
  out.nan = a.nan || a.low < 0;
  return out;
}

F32Range flushed(const F32Range& a) {
  constexpr float kSmallest = 0x1p-126f;
  F32Range out = a;
  if (out.low > 0 && out.low <= kSmallest) out.low = 0;
  if (out.low < 0 && out.low > -kSmallest) out.low = 0;
  if (out.high < 0 && out.high >= -kSmallest) out.high = 0;
  if (out.high > 0 && out.high < kSmallest) out.high = 0;
  return out;
}

void F32Sum::add(double low, double high) {
  PLUMB_ASSERT(low <= high);
  ++count_;
  low_ += low;
  high_ += high;
  magnitude_ += std::max(std::fabs(low), std::fabs(high));
  negative_ |= low < 0;
  points_ &= low == high;
  if (points_ && low != 0) lattice_ = std::min(lattice_, lowest_bit(low));
}

void F32Sum::add(const F32Range& term) {
  const bool point = term.low == term.high;
  if (!term.has_numbers()) {
    nan_ = true;
  } else if (!term.nan && !has_infinity(term)) {
    add(static_cast<double>(term.low), static_cast<double>(term.high));
  } else if (term.nan || !point) {
    may_special_ = true;
  } else {
    (term.low > 0 ? plus_ : minus_) = true;
  }
}

F32Range F32Sum::special() const {
  if (nan_ || (plus_ && minus_)) return F32Range::only_nan();
  if (may_special_) return F32Range::anything();
  // The other terms may overflow the other way.
  const float infinity = plus_ ? kFloatInfinity : -kFloatInfinity;
  return {infinity, infinity, magnitude_ >= kF32Largest / 2};
}

F32Range F32Sum::range(std::int64_t additions, bool flushes) const {
  if (nan_ || plus_ || minus_ || may_special_) return special();
  // Multiples of 2^-126 have no partial sums below it.
  const bool may_flush = flushes && !(points_ && lattice_ >= -126);
  const bool exact = points_ && !may_flush && lattice_ >= -149 && magnitude_ <= kF32Largest &&
                     magnitude_ <= std::ldexp(1.0, std::min(lattice_ + 24, 1000));
  if (exact) return F32Range::of(static_cast<float>(low_));  // in double too
  const double steps = static_cast<double>(additions) * kF32Unit;
  if (steps >= 0.5) return F32Range::anything();
  // In double, `count` additions were rounded here as well. Below 2^-126 f32 rounds to multiples of
  // 2^-149 instead.
  const double gamma = steps / (1 - steps) + static_cast<double>(count_) * 0x1.01p-53;
  // A term may be lost as it enters, and each join of two may lose what it gives.
  const double lost = static_cast<double>(count_) * (may_flush ? 0x1p-125 : 0x1p-149);
  const double slack = (magnitude_ * gamma + lost) * (1 + 0x1p-20);
  const double low = negative_ ? low_ - slack : std::max(0.0, low_ - slack);
  const double high = high_ + slack;
  if (magnitude_ + slack <= kF32Largest) return f32_within(low, high);
  if (negative_) return F32Range::anything();
  return {low >= 0x1p128 ? kFloatInfinity : float_below(std::min(low, kF32Largest)), kFloatInfinity,
          false};
}

}  // namespace plumbline
