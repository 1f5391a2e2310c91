// SPDX-License-Identifier: MIT
// Our conversions against the host code of the CUDA headers: a sample of floats with every exponent
// and many ties here, all 2^32 floats in formats/cuda_conversions_exhaustive_test.cpp; doubles, and
// the way back for all codes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "oracles/base/random.h"
#include "tests/oracles/formats/cuda_conversions.h"

namespace plumbline {
namespace {

#if !PLUMBLINE_HAVE_CUDA_HEADERS

TEST(CudaHeaders, AgreeOnEveryConversion) { GTEST_SKIP() << test::kNoCudaHeaders; }

#else

using test::IndependentConversion;
using test::kIndependentConversions;

// Every sign and exponent; mantissas at random, and with a tail that makes a tie, nearly one, or a
// member, wherever a format may cut. 512 exponents and signs x 24 cuts x 3 tails x 60 + as many at
// random: 4.4 million.
const std::vector<float>& floats_of_every_kind() {
  static const std::vector<float> sample = [] {
    Random random(17);
    std::vector<float> floats;
    for (std::uint32_t top = 0; top < 512; ++top) {
      for (int cut = 0; cut < 24; ++cut) {
        for (int repeat = 0; repeat < 60; ++repeat) {
          const auto word = static_cast<std::uint32_t>(random.next());
          const std::uint32_t mantissa = word & 0x7fffffu;
          const std::uint32_t tail = (1u << cut) - 1;
          const std::uint32_t half = cut > 0 ? 1u << (cut - 1) : 0;
          for (const std::uint32_t near : {0u, 1u, ~0u}) {
            const std::uint32_t tie = ((mantissa & ~tail) | half) + near;
            floats.push_back(std::bit_cast<float>(top << 23 | (tie & 0x7fffffu)));
          }
          floats.push_back(std::bit_cast<float>(top << 23 | mantissa));
        }
      }
    }
    return floats;
  }();
  return sample;
}

class CudaHeaders : public testing::TestWithParam<IndependentConversion> {};

TEST_P(CudaHeaders, AgreeOnFloatsOfEveryKind) {
  const IndependentConversion& independent = GetParam();
  const Format& f = format(independent.id);
  const EncodeOptions options{independent.rounding, independent.overflow, 0};
  for (const float x : floats_of_every_kind()) {
    const std::uint64_t ours = encode(f, static_cast<double>(x), options);
    const std::uint64_t theirs = independent.convert(x);
    ASSERT_TRUE(test::same_result(f, ours, theirs))
        << std::hex << std::bit_cast<std::uint32_t>(x) << " ours " << ours << " theirs " << theirs;
  }
}

INSTANTIATE_TEST_SUITE_P(Conversions, CudaHeaders, testing::ValuesIn(kIndependentConversions),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(CudaHeadersFromDouble, AgreeNearEveryTie) {
  Random random(19);
  for (int i = 0; i < 400000; ++i) {
    const auto field = static_cast<std::uint64_t>(random.between(1023 - 160, 1023 + 135));
    const int cut = static_cast<int>(random.between(40, 52));
    const std::uint64_t word = random.next();
    const std::uint64_t tail = (std::uint64_t{1} << cut) - 1;
    const std::uint64_t tie = (word & ~tail) | (tail + 1) >> 1;
    const std::uint64_t mantissa = (tie + random.below(3) - 1) & 0xfffffffffffffu;
    const double x =
        std::bit_cast<double>((word & std::uint64_t{1} << 63) | field << 52 | mantissa);
    SCOPED_TRACE(x);
    ASSERT_EQ(encode(format(FormatId::f16), x), test::half_bits(__double2half(x)));
    ASSERT_EQ(encode(format(FormatId::bf16), x), test::bfloat_bits(__double2bfloat16(x)));
    const EncodeOptions saturate{Rounding::nearest_even, Overflow::saturate, 0};
    ASSERT_EQ(encode(format(FormatId::e4m3), x, saturate),
              __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3));
    ASSERT_EQ(encode(format(FormatId::e5m2), x, saturate),
              __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E5M2));
    ASSERT_EQ(encode(format(FormatId::e2m1), x),
              __nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundNearest));
    ASSERT_EQ(encode(format(FormatId::e2m1), x, {Rounding::toward_zero}),
              __nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundZero));
  }
}

void expect_same_value(const Format& f, std::uint64_t code, float theirs) {
  const double ours = to_double(f, code);
  if (std::isnan(ours)) {
    EXPECT_TRUE(std::isnan(theirs)) << f.name << " " << code;
    return;
  }
  EXPECT_EQ(ours, static_cast<double>(theirs)) << f.name << " " << code;
  EXPECT_EQ(std::signbit(ours), std::signbit(theirs)) << f.name << " " << code;
}

TEST(CudaHeadersToFloat, AgreeOnEveryCode) {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    expect_same_value(format(FormatId::f16), code, __half2float(__half_raw{bits}));
    expect_same_value(format(FormatId::bf16), code, __bfloat162float(__nv_bfloat16_raw{bits}));
  }
  for (std::uint32_t code = 0; code < 256; ++code) {
    const auto bits = static_cast<std::uint8_t>(code);
    expect_same_value(format(FormatId::e4m3), code,
                      __half2float(__nv_cvt_fp8_to_halfraw(bits, __NV_E4M3)));
    expect_same_value(format(FormatId::e5m2), code,
                      __half2float(__nv_cvt_fp8_to_halfraw(bits, __NV_E5M2)));
    expect_same_value(format(FormatId::ue8m0), code,
                      __bfloat162float(__nv_cvt_e8m0_to_bf16raw(bits)));
  }
  for (std::uint32_t code = 0; code < 16; ++code) {
    const auto bits = static_cast<std::uint8_t>(code);
    expect_same_value(format(FormatId::e2m1), code,
                      __half2float(__nv_cvt_fp4_to_halfraw(bits, __NV_E2M1)));
  }
}

#endif  // PLUMBLINE_HAVE_CUDA_HEADERS

}  // namespace
}  // namespace plumbline
