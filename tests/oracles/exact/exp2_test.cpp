// SPDX-License-Identifier: MIT
// The proof of kExp2Error is in exp2.h; here it meets MPFR, densely where the argument is weakest
// (|f| near 1/2) and over the whole range, and the proof's own numbers are checked.
#include "oracles/exact/exp2.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/base/random.h"
#include "oracles/exact/real.h"

namespace plumbline {
namespace {

using Number = RealOf<128>;

double relative_error(double x) {
  const Number exact = exp2(Number(x));
  return static_cast<double>(abs(Number(Number(exp2_of(x)) / exact - 1)));
}

TEST(Exp2, StaysWithinItsProvedError) {
  Random random(1);
  double worst = 0;
  for (int n = 0; n < 60000; ++n) {
    const double whole = -static_cast<double>(random.below(900));
    const double x = n % 3 == 0   ? -900 * random.unit()
                     : n % 3 == 1 ? whole + 0.5 - 0x1p-8 * random.unit()
                                  : whole - random.unit();
    worst = std::max(worst, relative_error(x));
  }
  EXPECT_LE(worst, 6 * 0x1p-53);  // what the proof gives
  EXPECT_GT(worst, 0x1p-54);
}

TEST(Exp2, IsExactAtWholeNumbersAndZeroFarBelow) {
  for (int n = -999; n <= 100; ++n) EXPECT_EQ(exp2_of(n), std::ldexp(1.0, n));
  EXPECT_EQ(exp2_of(-1000), 0);
  EXPECT_EQ(exp2_of(-1e300), 0);
  EXPECT_EQ(exp2_of(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(exp2_of(-0x1p-1074), 1);
}

TEST(Exp2, TheProofsTruncationErrorHolds) {
  // t^14 / 14! * e^t at |t| = ln 2 / 2, relative to e^-|t|.
  Number t = log(Number(2)) / 2, term = 1;
  for (int k = 1; k <= 14; ++k) term *= t / k;
  EXPECT_LT(static_cast<double>(term * exp(t) / exp(Number(-t))), 0.1 * 0x1p-53);
}

}  // namespace
}  // namespace plumbline
