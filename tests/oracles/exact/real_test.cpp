// SPDX-License-Identifier: MIT
#include "oracles/exact/real.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "oracles/base/random.h"

namespace plumbline {
namespace {

using boost::multiprecision::cpp_int;

TEST(Real, EveryTierHasAtLeastTheBitsItPromises) {
  for (const int bits : {1, 53, 64, 65, 128, 200, 256, 257, 512, 600, kExactBits}) {
    EXPECT_GE(at_precision(bits, []<typename Number>() { return precision_bits<Number>(); }), bits);
  }
  EXPECT_LT(precision_bits<RealOf<128>>(), 140);
}

TEST(Real, HoldsEveryDyadicOfTheCatalogExactly) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    cpp_int integer = 1;
    for (std::uint64_t words = random.below(18); words > 0; --words)
      integer = (integer << 64) + random.next();
    if (random.below(2) == 0) integer = -integer;
    const Dyadic x(integer, static_cast<int>(random.between(-1000, 1000)));
    ASSERT_EQ(dyadic_value(real_value(x)), x);
  }
  EXPECT_TRUE(dyadic_value(real_value(Dyadic())).is_zero());
}

TEST(Real, AgreesWithDyadicOnSumsAndProducts) {
  Random random(2);
  for (int round = 0; round < 3000; ++round) {
    const double a = std::ldexp(random.unit() - 0.5, static_cast<int>(random.between(-140, 120)));
    const double b = std::ldexp(random.unit() - 0.5, static_cast<int>(random.between(-140, 120)));
    ASSERT_EQ(dyadic_value(Real(a) * Real(b) + Real(a) - Real(b)),
              Dyadic(a) * Dyadic(b) + Dyadic(a) - Dyadic(b));
  }
}

TEST(Real, StoredElementsKeepTheirClassAndSign) {
  const Format& bf16 = format(FormatId::bf16);
  for (std::uint64_t bits = 0; bits < 65536; ++bits) {
    const double value = to_double(bf16, bits);
    const Real real = real_value<Real>(bf16, bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(isnan(real));
      continue;
    }
    ASSERT_EQ(static_cast<double>(real), value);
    ASSERT_EQ(encode(bf16, real), bits);  // the sign of zero and infinities too
  }
  EXPECT_EQ(unrounded_value(Real(std::numeric_limits<double>::quiet_NaN())).value.cls,
            ValueClass::nan);
  EXPECT_TRUE(unrounded_value(-Real(std::numeric_limits<double>::infinity())).value.negative);
}

TEST(Real, EncodesAsTheSameDoubleDoes) {
  Random random(3);
  for (const FormatId id :
       {FormatId::e4m3, FormatId::e5m2, FormatId::f16, FormatId::bf16, FormatId::f32}) {
    for (int round = 0; round < 2000; ++round) {
      const double x = std::ldexp(random.unit() - 0.5, static_cast<int>(random.between(-30, 20)));
      ASSERT_EQ(encode(format(id), Real(x)), encode(format(id), x));
    }
  }
}

TEST(Real, PrecisionIsNotSharedBetweenThreads) {
  // With Boost 1.74's variable-precision numbers this loses bits.
  const auto exact = [] {
    for (int round = 0; round < 20000; ++round) {
      const Real x = Real(1) + Real(0x1p-1000);
      if (x - Real(1) != Real(0x1p-1000)) return false;
    }
    return true;
  };
  std::jthread other([] {
    RealOf<64> x = 1;
    for (int round = 0; round < 20000; ++round) x = x * x;
  });
  EXPECT_TRUE(exact());
}

}  // namespace
}  // namespace plumbline
