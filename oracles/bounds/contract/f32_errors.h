// SPDX-License-Identifier: MIT
// Errors of single f32 operations and of exponentials, from above, in double.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "oracles/exact/bound_arithmetic.h"

namespace plumbline::bound {

inline constexpr double kF32Unit = 0x1p-24;  // u
inline constexpr double kF32Largest = std::numeric_limits<float>::max();
// A bound that is a sum or product of a few doubles, times this, covers its own roundings.
inline constexpr double kSlack = 1 + 0x1p-30;

inline bool is_f32(double x) { return static_cast<double>(static_cast<float>(x)) == x; }

// Half an ulp of any f32 within `error` of x.
inline double half_ulp(double x, double error = 0) {
  return ulp_of(std::fabs(x) + error, 0x1p-23) / 2;
}

// e^t - 1 and 2^t - 1 for t >= 0.
inline double exp_growth(double t) { return (t < 0x1p-8 ? t * (1 + t) : std::expm1(t)) * kSlack; }

inline double exp2_growth(double t) { return exp_growth(t * std::numbers::ln2); }

}  // namespace plumbline::bound
