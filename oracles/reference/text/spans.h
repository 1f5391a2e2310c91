// SPDX-License-Identifier: MIT
// Ranges of f32 values that a kernel's result is from, where a bound on its error is not enough: it
// may be infinite, or NaN.
#pragma once

namespace plumbline::text {

inline constexpr double kLargest = 0x1.fffffep127;  // of f32

// Values from `low` to `high`, and NaN if `nan` says so; low > high: nothing but NaN.
struct Span {
  double low = 0, high = 0;
  bool nan = false;

  bool numbers() const { return low <= high; }

  bool has(double x) const { return low <= x && x <= high; }
};

Span nothing_but_nan();
Span hull(const Span& a, const Span& b);
Span minus(const Span& a);
Span times(const Span& a, const Span& b);
Span divided(const Span& a, const Span& b);

// Both ends moved outwards, and beyond f32 to infinity. 0 and infinity that are certain stay so.
Span widened(Span a, double relative, double absolute);

// What f32 additions make of values from ranges, in an order that is not known.
class SpanSum {
 public:
  void add(const Span& one);

  // Where each term's roundings are by `relative` together, and `lost` is what all additions lose
  // below the smallest normal number.
  Span total(double relative, double lost) const;

 private:
  double low_ = 0, high_ = 0;
  double low_magnitude_ = 0, high_magnitude_ = 0;  // the sums of |low| and of |high|
  double positive_ = 0, negative_ = 0;  // what the terms of one sign can reach without the others
  bool nan_ = false, only_nan_ = false;
  bool surely_plus_ = false, surely_minus_ = false;  // infinite terms
};

}  // namespace plumbline::text
