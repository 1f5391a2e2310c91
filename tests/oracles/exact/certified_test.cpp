// SPDX-License-Identifier: MIT
// A certified double never lies further from the exact value than it says, which MPFR confirms.
#include "oracles/exact/certified.h"

#include <gtest/gtest.h>

#include "oracles/base/random.h"
#include "oracles/exact/real.h"

namespace plumbline {
namespace {

using Number = RealOf<512>;

struct Both {
  Certified fast;
  Number exact;
};

void expect_close(const Both& both, const char* what) {
  const Number distance = abs(Number(both.fast.value) - both.exact);
  ASSERT_LE(distance, Number(both.fast.error)) << what << " " << both.fast.value;
}

TEST(Certified, ErrorsHoldAlongRandomChains) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const auto drawn = [&] {
      const double x = std::ldexp(random.unit() - 0.5, static_cast<int>(random.between(-20, 20)));
      return Both{Certified(x), Number(x)};
    };
    Both chain = drawn();
    for (int step = 0; step < 12; ++step) {
      const Both other = drawn();
      switch (random.below(6)) {
        case 0:
          chain = {chain.fast + other.fast, chain.exact + other.exact};
          break;
        case 1:
          chain = {chain.fast - other.fast, chain.exact - other.exact};
          break;
        case 2:
          chain = {chain.fast * other.fast, chain.exact * other.exact};
          break;
        case 3:
          chain = {chain.fast / other.fast, chain.exact / other.exact};
          break;
        case 4:
          chain = {sqrt(chain.fast * chain.fast), sqrt(chain.exact * chain.exact)};
          break;
        default:
          if (std::fabs(chain.fast.value) > 100) break;
          chain = {exp(chain.fast), exp(chain.exact)};
          break;
      }
      if (!std::isfinite(chain.fast.error)) break;
      expect_close(chain, "a chain");
    }
  }
}

// Cancellation leaves the error of what went in.
TEST(Certified, ExactSumsHaveNoError) {
  const Certified sum = (Certified(0x1p60) + Certified(3.0)) - Certified(0x1p60);
  EXPECT_EQ((Certified(3.0) + Certified(0.25)).error, 0);
  EXPECT_EQ((Certified(7.0) - Certified(7.0)).error, 0);
  EXPECT_GE(sum.error, std::fabs(sum.value - 3));
}

TEST(Certified, SmallErrorsStaySmall) {
  Certified sum = 0.0;
  for (int i = 1; i <= 1000; ++i) sum += Certified(1.0) / Certified(static_cast<double>(i));
  EXPECT_LT(sum.error, 1e-12);
  EXPECT_GT(sum.error, 0);
}

}  // namespace
}  // namespace plumbline
