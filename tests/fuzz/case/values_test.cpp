// SPDX-License-Identifier: MIT
// A tensor's bits depend on (class, seed, problem) alone, and have not changed since these
// fingerprints were written.
#include "fuzz/case/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "fuzz/case/literal.h"
#include "oracles/base/hash.h"
#include "tests/fuzz/kernel_under_test.h"

namespace plumbline {
namespace {

std::uint64_t bits_of(const std::string& line) {
  const Result<Case> frozen = freeze(case_of(line));
  PLUMB_ASSERT(frozen.ok());
  return literal_fingerprint(frozen->literals);
}

std::string problem_with(std::string_view value_class, int seed) {
  return "m=19 n=23 k=41 batch=2 bias=row beta=1 value=" + std::string(value_class) +
         " seed=" + std::to_string(seed);
}

// Changing any of these changes what every seed in every report and corpus means. Do it only on
// purpose.
const std::map<std::string_view, std::uint64_t> kFingerprints = {
    {"normal", 0xb81c66675d2dfe05},       {"positive", 0xec28cc6c0612602b},
    {"ones", 0xab890310706085c6},         {"outliers", 0x61dacba340e53d04},
    {"cancelling", 0xb3544afc48f53c0b},   {"wide", 0xe3226a384596d687},
    {"early_large", 0x58d262b290d79d54},  {"width_ladder", 0x49c2b72b256f5ab1},
    {"subnormal", 0x70df2a8270d605e5},    {"large", 0x2690d74c66234046},
    {"specials", 0x65baa777b2c227c5},     {"integers", 0xc27089fe84e5e195},
    {"power_scaled", 0x1834b867b88ac00b}, {"one_hot", 0x340ad073bb98c395},
    {"index_code", 0x3c12a27cf35a0c31},   {"ties", 0x9d694f060b449f37},
    {"zero_slices", 0x9041b46b259bfd3},
};

TEST(Values, BitsAreTheSameEverywhereAndForever) {
  for (const ValueClassInfo& info : value_classes(*gemm_kernel().operation)) {
    const std::uint64_t bits = bits_of(problem_with(info.name, 1));
    const auto known = kFingerprints.find(info.name);
    EXPECT_TRUE(known != kFingerprints.end() && bits == known->second)
        << "{\"" << info.name << "\", 0x" << std::hex << bits << "},";
  }
}

// What is NaN or infinite in one operand meets zeros in a band of lines of the other.
TEST(Values, SpecialsStandAgainstSlicesOfZeros) {
  std::set<std::pair<bool, bool>> seen;  // in A, NaN
  for (int seed = 1; seed <= 40; ++seed) {
    const CaseTensors tensors =
        tensors_of(case_of("m=70 n=80 k=150 value=zero_slices seed=" + std::to_string(seed)));
    const Tensor &a = *tensors.find("a"), &b = *tensors.find("b");
    int specials = 0;
    const auto look = [&](bool in_a, std::int64_t line, std::int64_t k) {
      const double value = in_a ? value_at(a, 0, line, k) : value_at(b, 0, k, line);
      if (std::isfinite(value)) return;
      ++specials;
      seen.emplace(in_a, std::isnan(value));
      int zeros = 0;
      for (std::int64_t other = 0; other < (in_a ? 80 : 70); ++other)
        zeros += (in_a ? value_at(b, 0, k, other) : value_at(a, 0, other, k)) == 0;
      EXPECT_GE(zeros, in_a ? 16 : 6) << seed;
    };
    for (std::int64_t k = 0; k < 150; ++k) {
      for (std::int64_t i = 0; i < 70; ++i) look(true, i, k);
      for (std::int64_t j = 0; j < 80; ++j) look(false, j, k);
    }
    EXPECT_GE(specials, 1) << seed;
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(Values, OtherSeedsGiveOtherBits) {
  for (const ValueClassInfo& info : value_classes(*gemm_kernel().operation)) {
    if (info.name == "ones") continue;
    EXPECT_NE(bits_of(problem_with(info.name, 1)), bits_of(problem_with(info.name, 2)))
        << info.name;
  }
}

TEST(Values, LayoutAndEpilogueDoNotChangeLogicalBits) {
  for (const ValueClassInfo& info : value_classes(*gemm_kernel().operation)) {
    const std::string value = " value=" + std::string(info.name) + " seed=5";
    const std::uint64_t plain = bits_of("m=9 n=12 k=17" + value);
    EXPECT_EQ(plain,
              bits_of("m=9 n=12 k=17 layout=tt lda=20 ldb=40 ldd=13 alpha=2 act=relu" + value))
        << info.name;
  }
}

TEST(Values, PaddingHoldsNan) {
  const CaseTensors tensors =
      tensors_of(case_of("m=3 n=4 k=5 batch=2 lda=9 stride_a=40 value=ones"));
  const Tensor& a = *tensors.find("a");
  ASSERT_EQ(a.layout.storage_elements(), 40 + 2 * 9 + 5);
  std::int64_t nans = 0, ones = 0;
  for (std::int64_t i = 0; i < a.layout.storage_elements(); ++i) {
    nans += a.bits_at(i) == format(FormatId::bf16).canonical_nan;
    ones += a.bits_at(i) == 0x3f80;
  }
  EXPECT_EQ(ones, 2 * 3 * 5);
  EXPECT_EQ(nans, a.layout.storage_elements() - ones);
}

TEST(Values, UnreadCIsNan) {
  const CaseTensors tensors = tensors_of(case_of("m=3 n=4 k=5 c=always out=f32 value=specials"));
  const Tensor& c = *tensors.find("c");
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(c.bits(i), format(FormatId::f32).canonical_nan);
}

TEST(Values, BroadcastMatricesShareTheirBits) {
  for (const ValueClassInfo& info : value_classes(*gemm_kernel().operation)) {
    const CaseTensors tensors = tensors_of(
        case_of("m=3 n=4 k=5 batch=3 stride_a=0 value=" + std::string(info.name) + " seed=3"));
    const Tensor& a = *tensors.find("a");
    EXPECT_EQ(a.layout.storage_elements(), 15);
    for (std::int64_t i = 0; i < 15; ++i) EXPECT_EQ(a.bits(i), a.bits(i + 30));
  }
}

TEST(Values, EverySizeOfEveryClassCanBeFilled) {
  for (const ValueClassInfo& info : value_classes(*gemm_kernel().operation)) {
    for (const std::string_view sizes :
         {"m=0 n=3 k=2", "m=3 n=0 k=2", "m=3 n=2 k=0", "m=1 n=1 k=1", "m=1 n=1 k=2", "m=2 n=1 k=3",
          "m=0 n=0 k=0", "m=2 n=2 k=4 batch=0", "m=5 n=4 k=4"}) {
      for (int seed = 0; seed < 8; ++seed) {
        const std::string line = std::string(sizes) +
                                 " bias=column beta=1 value=" + std::string(info.name) +
                                 " seed=" + std::to_string(seed);
        EXPECT_TRUE(materialize(case_of(line)).ok()) << line;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
