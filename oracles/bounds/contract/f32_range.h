// SPDX-License-Identifier: MIT
// F32Range: the f32 values that a step of a conforming kernel can have. Rounding to nearest is
// monotone, so an f32 operation on ranges is the same f32 operation on their ends, and the result
// holds every conforming value: a running error analysis without a formula to get wrong. Where
// nothing is uncertain a range is a single number, and the step is predicted bit for bit.
//
// NaN is outside the order: a range says whether it may occur. Infinities are ends like others.
#pragma once

#include <cstdint>

#include "oracles/base/numbers.h"

namespace plumbline {

struct F32Range {
  float low = 0, high = 0;  // no number at all: low > high
  bool nan = false;

  // That one value, NaN included.
  static F32Range of(float x) { return x != x ? only_nan() : F32Range{x, x, false}; }

  static F32Range only_nan() { return {kFloatInfinity, -kFloatInfinity, true}; }

  static F32Range anything();

  bool has_numbers() const { return low <= high; }

  bool is_point() const { return !nan && low == high; }

  bool contains(float x) const { return x != x ? nan : low <= x && x <= high; }

  bool operator==(const F32Range&) const = default;
};

// What either of two ways may give.
F32Range either(const F32Range& a, const F32Range& b);

// One rounded operation each.
F32Range operator+(const F32Range& a, const F32Range& b);
F32Range operator-(const F32Range& a, const F32Range& b);
F32Range operator*(const F32Range& a, const F32Range& b);
F32Range operator/(const F32Range& a, const F32Range& b);
F32Range operator-(const F32Range& a);
F32Range fma(const F32Range& a, const F32Range& b, const F32Range& c);
F32Range sqrt(const F32Range& a);

// The instructions of the hardware whose results are known up to an error: ex2.approx.ftz.f32
// (without .ftz unless it flushes), div.full.f32, which div.approx.f32 by numbers from 1 to 2^126
// is as well, and rsqrt.approx.f32.
F32Range ex2_approx(const F32Range& a, bool flushes = true);
F32Range div_full(const F32Range& a, const F32Range& b);
F32Range rsqrt_approx(const F32Range& a);

// A result of an operation on numbers below 2^-126 as if they were 0 (.ftz), signs aside: a result
// of 2^-126 may have been rounded up to it, and be 0 too.
F32Range flushed(const F32Range& a);

// The f32 values within [low, high]; empty ranges do not happen: the nearest one is taken.
F32Range f32_within(double low, double high);

// A sum in f32 whose terms pass through a known number of additions, in any order. Terms are
// exact: products enter by fma.
class F32Sum {
 public:
  void add(double term) { add(term, term); }

  void add(double low, double high);  // one term, anywhere in between

  void add(const F32Range& term);

  // Each term t of n is multiplied by at most `additions` factors 1 + d, |d| <= 2^-24, which is
  // gamma = additions u / (1 - additions u) of |t| (Higham, Accuracy and Stability, lemma 3.1). The
  // sum is exact in any order where all partial sums are: multiples of what all terms are multiples
  // of, no more than 2^24 of it.
  // With `flushes` partial sums below 2^-126 count as 0.
  F32Range range(std::int64_t additions, bool flushes = false) const;

 private:
  F32Range special() const;

  double low_ = 0, high_ = 0, magnitude_ = 0;
  std::int64_t count_ = 0;
  int lattice_ = 1 << 20;  // 2^lattice divides all terms
  bool points_ = true, negative_ = false;
  bool may_special_ = false;                         // a term may be NaN or infinite, or not
  bool nan_ = false, plus_ = false, minus_ = false;  // some term certainly is
};

}  // namespace plumbline
