// SPDX-License-Identifier: MIT
// ProbabilityRounding is encode(), for every format a probability may have.
#include "oracles/reference/attention/probability_rounding.h"

#include <gtest/gtest.h>

#include "oracles/base/random.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

TEST(ProbabilityRounding, IsEncodeWithSaturation) {
  Random random(3);
  for (const FormatId id :
       {FormatId::bf16, FormatId::f16, FormatId::e4m3, FormatId::e5m2, FormatId::f32}) {
    for (const int shift : {0, 8}) {
      const ProbabilityRounding rounding(id, shift);
      const auto specified = [&](double p) {
        const std::uint64_t code =
            encode(format(id), std::ldexp(p, shift), {.overflow = Overflow::saturate});
        return std::ldexp(to_double(format(id), code), -shift);
      };
      for (int n = 0; n < 20000; ++n) {
        const double p = std::ldexp(0.5 + random.unit(), -static_cast<int>(random.below(150)));
        ASSERT_EQ(rounding(p), specified(p)) << format(id).name << " " << p;
      }
      // Ties, and both ends.
      for (std::uint64_t code = 0;
           code + 1 < std::min<std::uint64_t>(format(id).max_finite(), 4000); ++code) {
        const double low = to_double(format(id), code), high = to_double(format(id), code + 1);
        const double p = std::ldexp((low + high) / 2, -shift);
        ASSERT_EQ(rounding(p), specified(p)) << format(id).name << " " << p;
      }
      EXPECT_EQ(rounding(0), 0);
      EXPECT_EQ(rounding(1e9), specified(1e9));
    }
  }
}

}  // namespace
}  // namespace plumbline
