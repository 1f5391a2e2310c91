// SPDX-License-Identifier: MIT
// 2^x in FP64 with a proved error, by additions and multiplications alone, so that a vector version
// gives the same bits on every machine.
//
// x = n + f with n an integer and |f| <= 1/2, exactly. 2^f = e^t with t = f ln 2, |t| <= 0.34658,
// by the Taylor polynomial of degree 13 in Horner's form.
//   Truncation: t^14 / 14! * (1 + t / 15 + ...) < 4.2e-18 = 0.038 * 2^-53... relative to at least
//   2^-1/2: below 0.06 * 2^-53.
//   Rounding: with u = 2^-53, t carries a relative error of 2u (the constant and the product),
//   which is |t| * 2u <= 0.7u in e^t. The coefficients 1/k! carry u each, and each Horner step two
//   roundings: a step's errors are multiplied by |t| in every later one, so that the step from
//   which s steps remain contributes at most 3u |t|^s e^|t|, but the last addition just u * e^t: (1
//   + (2 + 3 (|t| + |t|^2 + ...)) |t|)u e^|t| / e^t <= (1 + 3.6 * 0.3466) * 2u < 4.5u.
// All in all below 6u; kExp2Error is 8u = 2^-50. tests/oracles/exact/exp2_test.cpp compares with
// MPFR.
#pragma once

#include <bit>
#include <cstdint>

namespace plumbline {

// Relative error of exp2_of() where the result is not 0.
inline constexpr double kExp2Error = 0x1p-50;
// At and below this the result is 0 (it is less than 2^-1000).
inline constexpr double kExp2Lowest = -1000;

namespace exp2_parts {

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;
// 1 / k!, k = 13 ... 0.
inline constexpr double kTaylor[14] = {1.0 / 6227020800,
                                       1.0 / 479001600,
                                       1.0 / 39916800,
                                       1.0 / 3628800,
                                       1.0 / 362880,
                                       1.0 / 40320,
                                       1.0 / 5040,
                                       1.0 / 720,
                                       1.0 / 120,
                                       1.0 / 24,
                                       1.0 / 6,
                                       1.0 / 2,
                                       1.0,
                                       1.0};
// Adding and taking away 1.5 * 2^52 rounds to an integer.
inline constexpr double kInteger = 0x1.8p52;

}  // namespace exp2_parts

// For x <= 1000.
inline double exp2_of(double x) {
  using namespace exp2_parts;
  if (!(x > kExp2Lowest)) return 0;
  const double shifted = x + kInteger, n = shifted - kInteger;
  const double t = (x - n) * kLn2;
  double sum = kTaylor[0];
  for (int k = 1; k < 14; ++k) sum = sum * t + kTaylor[k];
  // The low bits of `shifted` are n.
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) +
                               (std::bit_cast<std::uint64_t>(shifted) << 52));
}

}  // namespace plumbline
